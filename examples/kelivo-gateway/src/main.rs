//! The gateway of Kelivo's plan, and a run through its test tables 5.1 to 5.4.

mod kelivo;
mod tables;
mod upstream;

use std::{env, path::PathBuf, sync::Arc};

use anyhow::Result;
use clap::Parser;
use memory_engine::{
    Clock, Database, EnrichmentOptions, Forget, MemoryEngine, Scope, SystemClock,
    synonyms::{SEED, groups_from_toml},
    testing::ManualClock,
};
use memory_engine_server::{Dialect, Sources, UpstreamConfig};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// The user of the tables. All memories of this user are deleted at the start.
const USER: &str = "kelivo-tables";

/// A chat gateway with memory.
///
/// Without arguments it runs the tables 5.1 to 5.4 of the plan with a scripted model. With --serve it runs the gateway;
/// OPENROUTER_API_KEY is the key of the service in kelivo.toml.
#[derive(Parser)]
struct Args {
    /// Serve the gateway until the process is stopped
    #[arg(long)]
    serve: bool,
    /// Configuration file; default: the kelivo.toml of the example
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database: a file, or postgres://USER:PASSWORD@HOST/DATABASE; default: in memory
    #[arg(long, env = "KELIVO_DB", hide_env_values = true)]
    db: Option<Database>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).without_time().with_writer(std::io::stderr).init();
    let file = args.config.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/kelivo.toml").into());
    let mut config = Sources::new().with_file(file).with_variables(env::vars()).load()?.config;
    // 七、同义词映射初始数据: the ten groups of the plan.
    let synonyms = groups_from_toml(SEED)?;
    if args.serve {
        let Ok(configured) = config.db.parse();
        let engine = open(args.db.or(Some(configured)), Arc::new(SystemClock), true).await?;
        engine.settings().synonyms().store().put(&Scope::user(&config.user)?, &synonyms).await?;
        let server = config.server(&engine, |name| env::var(name).ok())?;
        let listener = TcpListener::bind(config.listen).await?;
        println!("Kelivo: http://{0}/v1 · MCP: http://{0}/mcp", listener.local_addr()?);
        return Ok(server.serve(listener, std::future::pending()).await?);
    }
    // The clock is manual. Background jobs run explicitly between the days, never before a reply.
    let clock = Arc::new(ManualClock::new("2026-02-18T20:00:00+08:00".parse()?));
    let engine = open(args.db, clock.clone(), false).await?;
    let scope = Scope::user(USER)?;
    engine.forget(&scope, Forget::Everything).await?;
    engine.settings().synonyms().store().put(&scope, &synonyms).await?;

    let last_request = upstream::LastRequest::default();
    let name = "scripted".into();
    let base_url = upstream::listen(last_request.clone()).await?;
    config.gateway.upstreams =
        vec![UpstreamConfig { name, base_url, key_env: None, models: Vec::new(), dialects: vec![Dialect::Chat] }];
    let server = config.server(&engine, |_| None)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = kelivo::Kelivo::new(&format!("http://{}", listener.local_addr()?), USER)?;
    tokio::spawn(server.serve(listener, std::future::pending()));
    // The dictionary is loaded once, and is no part of the time of a message.
    engine.admin().warm_up().await?;
    tables::run(&tables::World { engine, scope, clock, last_request, client }).await
}

async fn open(db: Option<Database>, clock: Arc<dyn Clock>, background: bool) -> Result<MemoryEngine> {
    let builder = MemoryEngine::builder().clock(clock).enrichment(EnrichmentOptions::rules()?).background(background);
    let builder = match db {
        Some(database) => builder.database(database),
        None => builder.in_memory(),
    };
    Ok(builder.build().await?)
}
