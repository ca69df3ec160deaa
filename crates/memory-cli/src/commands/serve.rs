//! `memory serve`.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use clap::Args;
use memory_engine::MemoryEngine;
use memory_server::{Config, Debugging, Mcp, Mem0, Metrics, Server};
use tokio::net::TcpListener;

use crate::{
    server::{self, ConfigArgs, TOKEN},
    settings::Settings,
};

/// Serve the memory over HTTP: a chat gateway, mem0's routes, MCP and a debug API.
///
/// It listens on this machine only, unless told otherwise, and asks for keys as soon as there are any: `memory keys new`
/// makes one, and the variable MEMORY_TOKEN holds one for everything. `memory config show` tells how it would be set up.
/// Ctrl-C, or a TERM signal, stops it once what is being served is done.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    config: ConfigArgs,
}

impl Serve {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let config = self.config.load()?.config;
        server::log(&config.log)?;
        let guard = config.guard(Settings::load()?.get(TOKEN).as_deref())?;
        let (open, engine) = (guard.is_open(), server::open(&config).await?);
        let server = assemble(&config, &engine, Server::new(engine.clone(), guard))?;
        let listener = TcpListener::bind(config.listen).await;
        let listener = listener.with_context(|| format!("nothing can listen on {}", config.listen))?;
        let address = listener.local_addr()?;
        tracing::info!(part = "serve", "listening on http://{address}{}", if open { ", for everybody" } else { "" });
        let grace = Duration::from_secs(config.limits.shutdown_seconds);
        memory_server::serve(listener, server.router(), stop(), grace).await?;
        tracing::info!(part = "serve", "stopped; what still waits is done after the next start");
        Ok(ExitCode::SUCCESS)
    }
}

/// The parts that the configuration asks for.
fn assemble(config: &Config, engine: &MemoryEngine, server: Server) -> Result<Server> {
    let mut server = server.limits(config.limits).cors_origins(config.cors_origins.iter().map(String::as_str))?;
    if config.metrics.enabled {
        server = server.metrics(Metrics::install()?);
    }
    if config.mem0.enabled {
        server = server.mem0(Mem0::new(engine.clone()));
    }
    if config.mcp.enabled {
        server = server.mcp(Mcp::new(engine.clone()));
    }
    if config.debug.enabled {
        server = server.debugging(Debugging::new(engine.clone()));
    }
    Ok(server)
}

/// Until somebody wants it to stop.
async fn stop() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    let _ = interrupted.await;
}
