//! A front end with a mem0 server, like an extension of a chat program.

mod bundled;
mod cases;
mod chat;

use std::{env, io::BufRead, path::PathBuf, sync::Arc};

use anyhow::{Context, Result};
use chat::{Chat, FrontEnd, apply_settings};
use clap::Parser;
use memory_engine::{
    Clock, Database, EnrichmentOptions, Forget, MemoryEngine, Scope, SystemClock,
    http_models::{HttpChatModel, HttpClient, HttpOptions, Mem0Client, Mem0Owner, Secret},
    llm::ChatModel,
    testing::ManualClock,
};
use memory_engine_server::Config;
use sillytavern_mem0::Mem0Chat;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// Long-term memory of a chat: written when the chat is saved, searched before a reply is generated.
///
/// Without arguments it starts a local mem0 server and runs the cases A, B and C of the document with a bundled model.
/// CHAT_SERVICE=deepseek (or openai, siliconflow, ollama …) uses a real model for replies and rewrites. Its key is read
/// from a variable such as DEEPSEEK_API_KEY; CHAT_MODEL names another model. MEM0_API_KEY is the key of another mem0
/// server.
#[derive(Parser)]
struct Args {
    /// Chat: each line of the input is a message
    #[arg(long)]
    chat: bool,
    /// URL of a running mem0 server, such as http://localhost:8888
    #[arg(long, value_name = "URL", env = "MEM0_URL")]
    mem0: Option<String>,
    /// Database of this example's server: a file, or postgres://…; default: in memory
    #[arg(long, env = "SILLYTAVERN_DB", hide_env_values = true, conflicts_with = "mem0")]
    db: Option<Database>,
    /// Settings file, read before each request; see settings.toml
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// File to which the chat is saved
    #[arg(long, value_name = "FILE", requires = "chat")]
    save: Option<PathBuf>,
    /// Name of the account, sent as user_id
    #[arg(long, default_value = "default-user")]
    user: String,
    /// Folder of the character, sent as agent_id
    #[arg(long, default_value = "Seraphina")]
    character: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).without_time().with_writer(std::io::stderr).init();
    let days = Arc::new(ManualClock::new("2025-12-28T20:00:00+08:00".parse()?));
    let clock: Arc<dyn Clock> = if args.chat { Arc::new(SystemClock) } else { days.clone() };
    let http = HttpClient::new(HttpOptions::default())?;
    // The cases use their own user, whose memories are deleted at the start.
    let user = if args.chat { &args.user } else { "sillytavern-cases" };
    let (url, key) = match &args.mem0 {
        Some(url) => (url.clone(), env::var("MEM0_API_KEY").ok().map(Secret::new)),
        None => {
            let builder = MemoryEngine::builder().clock(clock.clone()).enrichment(EnrichmentOptions::rules()?);
            let builder = match args.db {
                Some(database) => builder.database(database),
                None => builder.in_memory(),
            };
            let engine = builder.build().await?;
            if !args.chat {
                engine.forget(&Scope::user(user)?, Forget::Everything).await?;
            }
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let url = format!("http://{}", listener.local_addr()?);
            tokio::spawn(Config::default().server(&engine, |_| None)?.serve(listener, std::future::pending()));
            (url, None)
        }
    };
    let model = HttpChatModel::from_env(http.clone())?.map(|model| Arc::new(model) as Arc<dyn ChatModel>);
    let model = model.unwrap_or_else(|| Arc::new(bundled::model()));
    let owner = Mem0Owner::user(user).with_agent(&args.character);
    let memory = Mem0Chat::new(Mem0Client::new(http, &url, key.as_ref())?, owner).with_model(model.clone());
    if let Some(page) = &args.settings {
        apply_settings(page, &memory).context("the settings cannot be read")?;
    }
    let front = FrontEnd { memory, page: args.settings, model, clock };
    if !args.chat {
        return cases::run(&front, &days).await;
    }
    let mut chat = Chat::new(&front, "terminal", args.save);
    for line in std::io::stdin().lock().lines() {
        let line = line.context("the terminal cannot be read")?;
        if !line.trim().is_empty() {
            chat.say(line.trim()).await?;
        }
    }
    chat.wait_for_write().await
}
