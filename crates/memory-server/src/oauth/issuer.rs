//! The public address of the server.

use memory_engine::{Error, Result};
use url::{Host, Url};

/// The path of MCP, the only one for which tokens are valid.
const MCP_PATH: &str = "/mcp";

/// The public address of the server: the issuer of its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issuer {
    /// Scheme, host and port, without a slash at the end.
    origin: String,
    host: String,
}

impl Issuer {
    /// Parses an address such as `https://memory.example`.
    ///
    /// # Errors
    /// `InvalidInput` for an address with a path, a query or a user, and for one without TLS that is not the loopback.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            let message = format!("oauth.issuer {problem}; write the public address, as https://memory.example");
            Error::invalid("config", message)
        };
        let url = Url::parse(text).map_err(|_| invalid("is not an address"))?;
        let Some(host) = url.host_str() else { return Err(invalid("has no host")) };
        if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
            return Err(invalid("must begin with https, except on the loopback"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("must not contain a user"));
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("must not contain a path or a query"));
        }
        Ok(Self { origin: url.origin().ascii_serialization(), host: host.to_owned() })
    }

    /// Returns the issuer identifier.
    pub(super) fn as_str(&self) -> &str {
        &self.origin
    }

    /// Returns the host without its port.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the address of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Returns the address of MCP, which is the audience of all tokens.
    pub(super) fn resource(&self) -> String {
        self.url(MCP_PATH)
    }

    /// Returns true for the address of MCP as a client writes it: with or without a slash at the end or a query.
    pub(super) fn is_resource(&self, text: &str) -> bool {
        let Ok(url) = Url::parse(text) else { return false };
        let is_same_origin = url.origin().ascii_serialization() == self.origin;
        is_same_origin && is_mcp_path(url.path()) && url.username().is_empty() && url.fragment().is_none()
    }
}

/// Returns true for the path of MCP, with or without a slash at the end.
pub(super) fn is_mcp_path(path: &str) -> bool {
    path.strip_suffix('/').unwrap_or(path) == MCP_PATH
}

/// Returns true if the host of an address is this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_an_origin_with_tls_or_on_the_loopback() {
        for (text, issuer) in [
            ("https://memory.example", "https://memory.example"),
            ("https://Memory.example:443/", "https://memory.example"),
            ("https://memory.example:8443", "https://memory.example:8443"),
            ("http://127.0.0.1:8765", "http://127.0.0.1:8765"),
            ("http://[::1]:8765/", "http://[::1]:8765"),
            ("http://localhost:1", "http://localhost:1"),
        ] {
            assert_eq!(Issuer::parse(text).unwrap().as_str(), issuer);
        }
        for (text, problem) in [
            ("memory.example", "not an address"),
            ("http://memory.example", "https"),
            ("http://127.0.0.1.example", "https"),
            ("ftp://memory.example", "https"),
            ("https://memory.example/a", "path"),
            ("https://memory.example/?a", "query"),
            ("https://memory.example/#a", "query"),
            ("https://lin@memory.example", "user"),
        ] {
            let error = Issuer::parse(text).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("https://memory.example"), "{text}: {error}");
        }
    }

    #[test]
    fn only_the_address_of_mcp_is_the_resource() {
        let issuer = Issuer::parse("https://memory.example").unwrap();
        for own in ["/mcp", "/mcp/", "/mcp?user_id=lin", ":443/mcp"] {
            assert!(issuer.is_resource(&format!("https://memory.example{own}")), "{own}");
        }
        assert!(issuer.is_resource("HTTPS://MEMORY.example/mcp"));
        for other in [
            "https://memory.example",
            "https://memory.example/mcp/x",
            "https://memory.example/mcp#x",
            "http://memory.example/mcp",
            "https://memory.example:8443/mcp",
            "https://memory.example@evil.example/mcp",
            "/mcp",
        ] {
            assert!(!issuer.is_resource(other), "{other}");
        }
    }
}
