//! `memory ui`.

use std::{
    io::ErrorKind,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::Database;
use tokio::net::TcpListener;

use super::{hook::KEY_VARIABLE, serve::serve};
use crate::{
    database::DatabaseArg,
    log::Log,
    plain_http::{DATABASE_HEADER, MISDIRECTED, PlainRequest, ServerAddress},
    server::ConfigArgs,
    settings::Settings,
};

/// Open the inspector, a web page that shows the memories of a database.
///
/// Serves the memory like `memory serve` until Ctrl-C, and opens the page in the browser. If a server of this database
/// already listens at the address, the page of that server is opened. Options and configuration are those of
/// `memory serve`.
#[derive(Debug, Args)]
pub(crate) struct UiCommand {
    #[command(flatten)]
    config: ConfigArgs,
    /// Print the address and do not open a browser
    #[arg(long)]
    no_open: bool,
}

impl UiCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let config = self.config.load()?.config;
        if !config.ui.enabled {
            bail!("the inspector is switched off; set ui.enabled = true in the configuration");
        }
        let _log = Log::write(&config.log)?;
        match TcpListener::bind(config.listen).await {
            Ok(listener) => {
                let address = ServerAddress::local(listener.local_addr()?);
                serve(&config, listener, || self.show(&address)).await
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let address = ServerAddress::local(config.listen);
                let database = config.db.parse::<DatabaseArg>()?.database()?;
                if serves_another(&address, &database).await? {
                    bail!(
                        "a server of another database listens on {}; choose another address, as in --listen \
                         127.0.0.1:8766",
                        config.listen
                    );
                }
                if !has_inspector(&address).await {
                    bail!(
                        "another program listens on {}; choose another address, as in --listen 127.0.0.1:8766",
                        config.listen
                    );
                }
                self.show(&address)?;
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => Err(error).with_context(|| format!("cannot listen on {}", config.listen)),
        }
    }

    /// Prints the address of the page, and opens it.
    fn show(&self, address: &ServerAddress) -> Result<()> {
        let url = format!("http://{}/ui/", address.authority);
        print_line!("the inspector is at {url}");
        if !self.no_open && !open_in_browser(&url) {
            print_line!("no browser could be started; open the address yourself");
        }
        Ok(())
    }
}

/// Returns true if the server at an address says that it serves another database.
async fn serves_another(address: &ServerAddress, database: &Database) -> Result<bool> {
    let mut headers = vec![(DATABASE_HEADER, database.location_hash())];
    // A server with keys does not say it without one.
    if let Some(key) = Settings::load()?.get(KEY_VARIABLE) {
        headers.push(("Authorization", format!("Bearer {}", key.trim())));
    }
    let request = PlainRequest { method: "GET", path: "/health", headers, body: Vec::new() };
    let Ok(stream) = address.connect().await else { return Ok(false) };
    Ok(address.send(stream, request).await.is_ok_and(|response| response.status == MISDIRECTED))
}

/// Returns true if a server with the inspector answers at an address.
async fn has_inspector(address: &ServerAddress) -> bool {
    let request = PlainRequest { method: "GET", path: "/ui/", headers: Vec::new(), body: Vec::new() };
    let Ok(stream) = address.connect().await else { return false };
    let response = address.send(stream, request).await;
    response.is_ok_and(|response| response.status == 200 && contains(&response.body, b"<title>memory-engine</title>"))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Starts the browser of the desktop. Returns false if there is none.
fn open_in_browser(url: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let quiet = || Stdio::null();
    let started = Command::new(program).args(arguments).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    started.is_ok()
}
