//! `memory serve`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use memory_engine_server::Config;
use tokio::net::TcpListener;

use crate::{
    database::DatabaseArg,
    log::Log,
    server::{self, ConfigArgs},
    settings::Settings,
};

/// Serve the memory over HTTP: chat gateway, mem0's routes, MCP, web page.
///
/// The web page is at /ui/. Listens on this machine only, unless --listen sets another address. Requires a key if one
/// is configured:
/// `memory keys new` creates a key, and the variable MEMORY_TOKEN sets one for the default tenant. `memory config show`
/// prints the configuration. Ctrl-C or a TERM signal stops the server after the running requests.
#[derive(Debug, Args)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    config: ConfigArgs,
}

impl ServeCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let config = self.config.load()?.config;
        let _log = Log::write(&config.log)?;
        // Bind before the database is opened, which may take long.
        let listener = TcpListener::bind(config.listen).await;
        let listener =
            listener.with_context(|| format!("cannot listen on {} (--listen sets another address)", config.listen))?;
        serve(&config, listener, || Ok(())).await
    }
}

/// Serves until a signal stops it. `on_ready` is called once the database is open.
pub(super) async fn serve(
    config: &Config,
    listener: TcpListener,
    on_ready: impl FnOnce() -> Result<()>,
) -> Result<ExitCode> {
    let settings = Settings::load()?;
    let engine = server::open(config).await?;
    server::load_dictionaries(&engine);
    let database = config.db.parse::<DatabaseArg>()?.database()?;
    let server = config.server(&engine, |name| settings.get(name))?.database(&database);
    let open = if server.is_open() { ", without keys" } else { "" };
    tracing::info!(part = "serve", "listening on http://{}{open}", listener.local_addr()?);
    on_ready()?;
    server.serve(listener, stop_signal()).await?;
    tracing::info!(part = "serve", "stopped; queued jobs continue after the next start");
    Ok(ExitCode::SUCCESS)
}

/// Waits for the signal to stop.
async fn stop_signal() {
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
