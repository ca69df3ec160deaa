//! `memory health`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use clap::Args;
use tokio::time::timeout;

use crate::{
    plain_http::{PlainRequest, ServerAddress},
    server::ConfigArgs,
};

/// Check that a server answers.
///
/// The exit code is 0 if GET /health returns the status 200, otherwise 1. The check of a container or a service
/// manager. It speaks plain HTTP, uses no proxy and needs no key.
#[derive(Debug, Args)]
pub(crate) struct HealthCommand {
    /// Address of the server, such as http://127.0.0.1:8765
    ///
    /// Default: the address that its configuration listens on.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Configuration file of the server
    ///
    /// Default: memory.toml, if it exists.
    #[arg(long, env = "MEMORY_CONFIG", hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Time limit, in seconds
    #[arg(long, default_value_t = 3, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

impl HealthCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let address = match &self.url {
            Some(url) => ServerAddress::parse(url, "--url")?,
            None => ServerAddress::local(ConfigArgs::from_file(self.config).load()?.config.listen),
        };
        let limit = Duration::from_secs(self.timeout);
        let status = timeout(limit, request_status(&address))
            .await
            .with_context(|| format!("{} did not answer within {} s", address.authority, self.timeout))??;
        if status != 200 {
            bail!("{} answered /health with the status {status} instead of 200", address.authority);
        }
        print_line!("ok");
        Ok(ExitCode::SUCCESS)
    }
}

/// Requests `/health`, and returns the status of the response.
async fn request_status(address: &ServerAddress) -> Result<u16> {
    let request = PlainRequest { method: "GET", path: "/health", headers: Vec::new(), body: Vec::new() };
    Ok(address.send(address.connect().await?, request).await?.status)
}
