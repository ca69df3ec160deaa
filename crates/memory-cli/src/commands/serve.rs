//! `memory serve`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::TcpListener;

use crate::{
    log::Log,
    server::{self, ConfigArgs},
    settings::Settings,
};

/// Serve the memory over HTTP: a chat gateway, mem0's routes, MCP and a debug API.
///
/// It listens on this machine only, unless told otherwise, and asks for keys as soon as there are any: `memory keys
/// new` makes one, and the variable MEMORY_TOKEN holds one for everything. `memory config show` tells how it would be
/// set up. Ctrl-C, or a TERM signal, stops it once what is being served is done.
#[derive(Debug, Args)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    config: ConfigArgs,
}

impl ServeCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let config = self.config.load()?.config;
        let _log = Log::write(&config.log)?;
        // Before the memory is opened: who may not listen has no use for it.
        let listener = TcpListener::bind(config.listen).await;
        let listener = listener.with_context(|| format!("nothing can listen on {}", config.listen))?;
        let settings = Settings::load()?;
        let engine = server::open(&config).await?;
        let server = config.server(&engine, |name| settings.get(name))?;
        let open = if server.is_open() { ", for everybody on it" } else { "" };
        tracing::info!(part = "serve", "listening on http://{}{open}", listener.local_addr()?);
        server.serve(listener, stop()).await?;
        tracing::info!(part = "serve", "stopped; what still waits is done after the next start");
        Ok(ExitCode::SUCCESS)
    }
}

/// Waits for the signal to stop.
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
