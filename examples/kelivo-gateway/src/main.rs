//! The gateway of Kelivo's plan, and its tables 5.1 to 5.4 gone through line by line.

mod kelivo;
mod story;
mod tables;
mod upstream;

use std::{env, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use clap::Parser;
use memory_engine::{
    Clock, Database, Digest, Forget, GatewayBlock, ManualClock, MemoryEngine, Scope, SystemClock,
    http_models::Endpoint,
    synonyms::{SEED, groups_from_toml},
};
use memory_server::{Config, Gateway, GatewayOptions, Sources, Upstream};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

/// Who talks in the tables; forgotten before they begin.
const USER: &str = "kelivo-tables";

/// A chat gateway with memory.
///
/// Without anything it goes through the tables 5.1 to 5.4 of the plan, with a model that follows a script. With --serve it is the
/// gateway itself: OPENROUTER_API_KEY holds the key of the service in kelivo.toml.
#[derive(Parser)]
struct Args {
    /// Serve until it is stopped
    #[arg(long)]
    serve: bool,
    /// Another configuration than the kelivo.toml that comes with the example
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where everything is kept: a file, or postgres://USER:PASSWORD@HOST/DATABASE; the tables need neither
    #[arg(long, env = "KELIVO_DB", hide_env_values = true)]
    db: Option<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).without_time().with_writer(std::io::stderr).init();
    let file = args.config.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/kelivo.toml").into());
    let mut config = Sources::new().with_file(file).with_variables(env::vars()).load()?.config;
    if args.serve {
        config.db = args.db.unwrap_or(config.db);
        return serve(&config).await;
    }
    let clock = Arc::new(ManualClock::new("2026-02-18T20:00:00+08:00".parse()?));
    // What belongs to the background is done at night, and so surely not before a reply.
    let engine = open(args.db.as_deref(), clock.clone(), false).await?;
    let scope = Scope::user(USER)?;
    engine.forget(&scope, Forget::Everything).await?;
    seed(&engine, &scope).await?;

    let seen = upstream::Seen::default();
    let model = upstream::listen(seen.clone()).await?;
    // As `Config::server` sets a gateway up; the days of the tables pass by a clock of their own.
    config.gateway.upstreams.clear();
    let options = GatewayOptions::default()
        .with_block(GatewayBlock::default().with_max_chars(config.gateway.max_chars))
        .with_deadlines(Duration::from_millis(config.gateway.deadline_ms), Duration::from_secs(5))
        .with_clock(clock.clone());
    let gateway = Gateway::new(engine.clone(), vec![Upstream::new("scripted", Endpoint::new(&model)?)], options)?;
    let server = config.server(&engine, |_| None)?.gateway(gateway);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(server.serve(listener, std::future::pending()));

    let client = kelivo::Kelivo::new(&url, USER)?;
    tables::run(&tables::World { engine, scope, clock, seen, client }).await
}

async fn serve(config: &Config) -> Result<()> {
    let engine = open(Some(&config.db), Arc::new(SystemClock), true).await?;
    seed(&engine, &Scope::user(&config.user)?).await?;
    let server = config.server(&engine, |name| env::var(name).ok())?;
    let listener = TcpListener::bind(config.listen).await?;
    println!("Kelivo: http://{0}/v1 · MCP: http://{0}/mcp", listener.local_addr()?);
    Ok(server.serve(listener, std::future::pending()).await?)
}

async fn open(db: Option<&str>, clock: Arc<dyn Clock>, background: bool) -> Result<MemoryEngine> {
    let builder = MemoryEngine::builder().clock(clock).digest(Digest::by_rules()?).background(background);
    let builder = match db {
        None => builder.in_memory(),
        Some(db) => builder.database(db.parse::<Database>()?),
    };
    Ok(builder.build().await?)
}

/// 七、同义词映射初始数据: the ten groups of the plan.
async fn seed(engine: &MemoryEngine, scope: &Scope) -> Result<()> {
    Ok(engine.synonyms().store().put(scope, &groups_from_toml(SEED)?).await?)
}
