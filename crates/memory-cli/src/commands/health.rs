//! `memory health`.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use clap::Args;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::server::ConfigArgs;

/// Maximum number of bytes that are read of a response; the status is in its first line.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// Check that a server answers: exit code 0 if GET /health returns the status 200, otherwise 1.
///
/// The check of a container or a service manager. It speaks plain HTTP, uses no proxy and needs no key.
#[derive(Debug, Args)]
pub(crate) struct HealthCommand {
    /// Address of the server, such as http://127.0.0.1:8765; default: the address that its configuration listens on
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Configuration file of the server; default: memory.toml, if it exists
    #[arg(long, env = "MEMORY_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Time limit, in seconds
    #[arg(long, default_value_t = 3, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

/// The parts of the address of a server.
#[derive(Debug, PartialEq, Eq)]
struct ServerAddress {
    /// Host and port.
    authority: String,
    /// Path before `/health`.
    prefix: String,
}

impl HealthCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let address = match &self.url {
            Some(url) => parse_url(url)?,
            None => local_address(ConfigArgs::from_file(self.config).load()?.config.listen),
        };
        let limit = Duration::from_secs(self.timeout);
        let status = timeout(limit, request_status(&address))
            .await
            .with_context(|| format!("{} did not answer within {} s", address.authority, self.timeout))?
            .with_context(|| format!("no server answers at {}", address.authority))?;
        if status != 200 {
            bail!("{} answered /health with the status {status} instead of 200", address.authority);
        }
        print_line!("ok");
        Ok(ExitCode::SUCCESS)
    }
}

/// Parses `http://HOST[:PORT][/PATH]`.
fn parse_url(url: &str) -> Result<ServerAddress> {
    let Some(rest) = url.strip_prefix("http://") else {
        bail!("--url must begin with http://, as http://127.0.0.1:8765: the check speaks plain HTTP");
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() || authority.contains(['@', '?', '#', ' ']) {
        bail!("--url must be a host, a port and optionally a path, as http://127.0.0.1:8765");
    }
    let path = path.trim_end_matches('/');
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok(ServerAddress {
        authority: if has_port { authority.to_owned() } else { format!("{authority}:80") },
        prefix: if path.is_empty() { String::new() } else { format!("/{path}") },
    })
}

/// Returns the address of a server on this machine. A server that listens on every address is reached on the loopback.
fn local_address(mut listen: SocketAddr) -> ServerAddress {
    if listen.ip().is_unspecified() {
        let loopback = if listen.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        listen.set_ip(loopback);
    }
    ServerAddress { authority: listen.to_string(), prefix: String::new() }
}

/// Requests `/health`, and returns the status of the response.
async fn request_status(address: &ServerAddress) -> Result<u16> {
    let ServerAddress { authority, prefix } = address;
    let mut stream = TcpStream::connect(authority).await?;
    let request = format!("GET {prefix}/health HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut response).await?;
    let line = response.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let status = std::str::from_utf8(line).ok().and_then(|line| line.strip_prefix("HTTP/1."));
    let status = status.and_then(|rest| rest.split(' ').nth(1)).and_then(|status| status.parse().ok());
    status.context("the response is not HTTP")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(authority: &str, prefix: &str) -> ServerAddress {
        ServerAddress { authority: authority.into(), prefix: prefix.into() }
    }

    #[test]
    fn health_addresses_are_parsed() {
        assert_eq!(parse_url("http://127.0.0.1:8765").unwrap(), address("127.0.0.1:8765", ""));
        assert_eq!(parse_url("http://[::1]:8765/").unwrap(), address("[::1]:8765", ""));
        assert_eq!(parse_url("http://[::1]").unwrap(), address("[::1]:80", ""));
        assert_eq!(parse_url("http://memory.lan/m/").unwrap(), address("memory.lan:80", "/m"));
        for url in ["https://memory.lan", "127.0.0.1:8765", "http://", "http://a@b", "http://a b"] {
            assert!(parse_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_server_on_every_address_is_checked_on_the_loopback() {
        for (listen, expected) in
            [("0.0.0.0:8765", "127.0.0.1:8765"), ("[::]:9", "[::1]:9"), ("10.0.0.2:80", "10.0.0.2:80")]
        {
            assert_eq!(local_address(listen.parse().unwrap()), address(expected, ""));
        }
    }
}
