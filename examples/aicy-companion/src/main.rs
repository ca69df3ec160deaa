//! A chat with Aicy in the terminal. It continues the previous conversation.

mod bundled;
mod display;

use std::{
    io::{BufRead, Write},
    sync::Arc,
};

use anyhow::{Context, Result};
use bundled::BundledModel;
use clap::Parser;
use futures::TryStreamExt;
use memory_engine::{
    Database, Forget, Kind, MemoryEngine, RecordId, ScanQuery, Scope,
    context::BpeTokens,
    http_models::{HttpChatModel, HttpClient, HttpOptions},
    llm::ChatModel,
};
use memory_engine_companion::{ChatProfiles, Companion, Pack, TurnPiece};

/// Talk with Aicy. Needs no key: by default, a bundled script replies.
///
/// CHAT_SERVICE=deepseek (or openai, siliconflow, ollama …) uses a real model. Its key is read from a variable such as
/// DEEPSEEK_API_KEY; CHAT_MODEL names another model.
#[derive(Parser)]
struct Args {
    /// Database: a file, or postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(long, env = "AICY_DB", hide_env_values = true, default_value = "aicy.db")]
    db: String,
    /// Name of the user
    #[arg(long, short, default_value = "me")]
    user: String,
    /// Folder of another companion, with a pack.toml
    #[arg(long, value_name = "FOLDER")]
    pack: Option<String>,
}

const HELP: &str = "/memory 她记得的 · /context [消息] 会传给模型的上下文 · /forget 词 忘掉说过这个词的话 · /forget all 全部忘掉 · /quit";

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let database = if Database::is_address(&args.db) { Database::postgres(&args.db) } else { Database::file(&args.db) };
    let engine = MemoryEngine::builder().database(database).build().await?;
    let pack = match &args.pack {
        Some(folder) => Pack::open(folder)?,
        None => Pack::example()?,
    };
    let name = pack.name.clone();
    let scope = Scope::user(&args.user)?;
    let http_model = HttpChatModel::from_env(HttpClient::new(HttpOptions::default())?)?;
    let http_model = http_model.map(|model| Arc::new(model) as Arc<dyn ChatModel>);
    let model =
        http_model.clone().map_or_else(|| Ok(Arc::new(BundledModel::new()?) as Arc<dyn ChatModel>), anyhow::Ok)?;
    let mut aicy = Companion::new(engine.clone(), model, pack).with_counter(Arc::new(BpeTokens));
    if let Some(model) = http_model {
        aicy = aicy.with_profiles(Arc::new(ChatProfiles::new(model)));
    }

    aicy.charge_idle_days(&scope).await?;
    let state = aicy.state(&scope).await?;
    match state.last_active_at {
        None => println!("{name} 还不认识 {}。\n{HELP}", args.user),
        Some(at) => {
            println!("{name} 还记得 {}：{} 条消息，上次是 {}。", args.user, state.total_messages, display::time(at))
        }
    }
    println!("{}", display::bar(&aicy, &state));
    for line in std::io::stdin().lock().lines() {
        let line = line.context("the terminal cannot be read")?;
        match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
            ("", _) => {}
            ("/quit", _) => break,
            ("/memory", _) => print!("{}", display::memory(&engine, &aicy, &scope).await?),
            ("/context", message) => print!("{}", display::context(&aicy.context(&scope, message).await?)),
            ("/forget", "") => println!("{HELP}"),
            ("/forget", "all") => {
                println!("忘掉了 {} 条，从头认识。", engine.forget(&scope, Forget::Everything).await?.records())
            }
            ("/forget", word) => println!("忘掉了 {} 条。", forget(&engine, &scope, word).await?),
            (command, _) if command.starts_with('/') => println!("{HELP}"),
            // A failed reply is reported and the chat continues. The message is stored.
            _ => match say(&aicy, &scope, line.trim(), &name).await {
                Ok(()) => {}
                Err(e) => println!("\n（{name} 没有回答：{e:#}）"),
            },
        }
    }
    // Computes the vectors that are still missing.
    engine.drain(&scope, |_| ()).await?;
    Ok(())
}

/// Sends a message and prints the reply while it is streamed.
async fn say(aicy: &Companion, scope: &Scope, message: &str, name: &str) -> Result<()> {
    print!("{name}：");
    let mut reply = aicy.stream(scope, message).await?;
    while let Some(piece) = reply.try_next().await? {
        match piece {
            TurnPiece::Text(text) => print!("{text}"),
            TurnPiece::Done(reply) => println!("\n{}", display::after(aicy, &reply)),
            _ => {}
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Forgets all turns that contain a word, with everything derived from them: key moments, profiles, vectors.
async fn forget(engine: &MemoryEngine, scope: &Scope, word: &str) -> Result<u64> {
    let mut ids: Vec<RecordId> = Vec::new();
    let mut query = ScanQuery::newest(500);
    let word = word.to_lowercase();
    loop {
        let page = engine.scan(scope, &query).await?;
        let matching = page.records.iter().filter(|r| r.kind == Kind::TURN && r.text.to_lowercase().contains(&word));
        ids.extend(matching.map(|record| record.id));
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    if ids.is_empty() { Ok(0) } else { Ok(engine.forget(scope, ids).await?.records()) }
}
