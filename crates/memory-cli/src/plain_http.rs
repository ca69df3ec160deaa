//! Requests over plain HTTP, for a server on this machine. Without a proxy, and within a millisecond.

use std::net::{Ipv6Addr, SocketAddr};

use anyhow::{Context, Result, anyhow, bail};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::handshake,
    header::{HOST, HeaderMap},
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Maximum number of bytes of a response.
const MAX_RESPONSE_BYTES: usize = 4 << 20;

/// The header with the hash of the database that a request expects.
pub(crate) const DATABASE_HEADER: &str = "X-Memory-Database";
/// The status of a server of another database.
pub(crate) const MISDIRECTED: u16 = 421;

/// The parts of the address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    /// Host and port.
    pub(crate) authority: String,
    /// Path before that of a request.
    prefix: String,
}

/// A request.
#[derive(Debug)]
pub(crate) struct PlainRequest<'r> {
    pub(crate) method: &'r str,
    /// The path, which begins with a slash.
    pub(crate) path: &'r str,
    /// Names and values of headers. Values are printable ASCII.
    pub(crate) headers: Vec<(&'r str, String)>,
    pub(crate) body: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct PlainResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ServerAddress {
    /// Parses `http://HOST[:PORT][/PATH]`. `option` names the option in errors.
    pub(crate) fn parse(url: &str, option: &str) -> Result<Self> {
        let Some(rest) = url.strip_prefix("http://") else {
            bail!("{option} must begin with http://, as http://127.0.0.1:8765: the command speaks plain HTTP");
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() || authority.contains(['@', '?', '#', ' ']) {
            bail!("{option} must be a host, a port and optionally a path, as http://127.0.0.1:8765");
        }
        let path = path.trim_end_matches('/');
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Ok(Self {
            authority: if has_port { authority.to_owned() } else { format!("{authority}:80") },
            prefix: if path.is_empty() { String::new() } else { format!("/{path}") },
        })
    }

    /// Returns the address of a server on this machine. A server that listens on every address is reached on the
    /// loopback.
    pub(crate) fn local(mut listen: SocketAddr) -> Self {
        if listen.ip().is_unspecified() {
            let loopback = if listen.is_ipv4() { [127, 0, 0, 1].into() } else { Ipv6Addr::LOCALHOST.into() };
            listen.set_ip(loopback);
        }
        Self { authority: listen.to_string(), prefix: String::new() }
    }

    /// Returns true if the server is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }

    pub(crate) async fn connect(&self) -> Result<TcpStream> {
        TcpStream::connect(&self.authority).await.with_context(|| format!("no server answers at {}", self.authority))
    }

    /// Sends a request over a connection, and closes it.
    pub(crate) async fn send(&self, stream: TcpStream, request: PlainRequest<'_>) -> Result<PlainResponse> {
        let PlainRequest { method, path, headers, body } = request;
        let uri = format!("{}{path}", self.prefix);
        let mut builder = Request::builder().method(method).uri(uri).header(HOST, &self.authority);
        for (name, value) in headers {
            builder = builder.header(name, value);
        }
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let response = sender.send_request(builder.body(Full::new(Bytes::from(body)))?).await;
        let response = response.context("the response is not HTTP")?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
        let body = body.map_err(|error| anyhow!("the response cannot be read: {error}"))?.to_bytes();
        connection.abort();
        Ok(PlainResponse { status, headers, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(authority: &str, prefix: &str) -> ServerAddress {
        ServerAddress { authority: authority.into(), prefix: prefix.into() }
    }

    #[test]
    fn addresses_are_parsed() {
        let parse = |url: &str| ServerAddress::parse(url, "--url");
        assert_eq!(parse("http://127.0.0.1:8765").unwrap(), address("127.0.0.1:8765", ""));
        assert_eq!(parse("http://[::1]:8765/").unwrap(), address("[::1]:8765", ""));
        assert_eq!(parse("http://[::1]").unwrap(), address("[::1]:80", ""));
        assert_eq!(parse("http://memory.lan/m/").unwrap(), address("memory.lan:80", "/m"));
        for url in ["https://memory.lan", "127.0.0.1:8765", "http://", "http://a@b", "http://a b"] {
            assert!(parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_server_on_every_address_is_reached_on_the_loopback() {
        for (listen, expected) in
            [("0.0.0.0:8765", "127.0.0.1:8765"), ("[::]:9", "[::1]:9"), ("10.0.0.2:80", "10.0.0.2:80")]
        {
            assert_eq!(ServerAddress::local(listen.parse().unwrap()), address(expected, ""));
        }
    }
}
