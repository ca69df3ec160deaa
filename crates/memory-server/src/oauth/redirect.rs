//! Redirect URIs of clients.

use url::{Host, Url};

use super::issuer::is_loopback;

/// Maximum length of a redirect URI.
const MAX_REDIRECT_BYTES: usize = 400;

/// The parameters of an answer to a client.
const ANSWER_PARAMETERS: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

/// A redirect URI: `https`, or `http` to this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RedirectUri {
    /// As the client writes it.
    text: String,
    url: Url,
}

impl RedirectUri {
    /// Parses a redirect URI. `None` for one that is not allowed: another scheme, a fragment, a user, a parameter of
    /// an answer, or a character that a browser could read in another way.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        if !is_plain || text.len() > MAX_REDIRECT_BYTES {
            return None;
        }
        let url = Url::parse(text).ok()?;
        let is_secure = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
        let has_user = !url.username().is_empty() || url.password().is_some();
        let is_plain_host = match url.host()? {
            // Other characters would look like a part of the page that shows the host.
            Host::Domain(name) => name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)),
            Host::Ipv4(_) | Host::Ipv6(_) => true,
        };
        // A second value could be read in place of that of this server.
        let has_answer = url.query_pairs().any(|(name, _)| ANSWER_PARAMETERS.contains(&name.as_ref()));
        let is_allowed = is_secure && !has_user && is_plain_host && !has_answer && url.fragment().is_none();
        is_allowed.then(|| Self { text: text.to_owned(), url })
    }

    /// Returns true if a client that registered `registered` may use this URI: the same text, or the same address of
    /// this machine with any port (RFC 8252, section 7.3).
    pub(super) fn is_covered_by(&self, registered: &Self) -> bool {
        if self.text == registered.text {
            return true;
        }
        let without_port = |url: &Url| {
            let mut url = url.clone();
            // Fails only for addresses without a host.
            url.set_port(None).is_ok().then_some(url)
        };
        let is_local_http = |uri: &Self| uri.url.scheme() == "http" && is_loopback(&uri.url);
        is_local_http(self) && is_local_http(registered) && without_port(&self.url) == without_port(&registered.url)
    }

    /// Returns the URI as the client writes it.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if it leads to a program on the machine of the browser.
    pub(super) fn is_local(&self) -> bool {
        is_loopback(&self.url)
    }

    /// Returns host and port, to be shown to a person.
    pub(super) fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Returns the URI with these parameters added to its query.
    pub(super) fn with_parameters(&self, parameters: &[(&str, &str)]) -> String {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> RedirectUri {
        RedirectUri::parse(text).unwrap()
    }

    #[test]
    fn only_https_and_local_http_are_allowed() {
        for allowed in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://app.example:8443/?a=b",
            "http://localhost:6274/oauth/callback",
            "http://127.0.0.1",
            "http://[::1]:33418/",
        ] {
            assert!(RedirectUri::parse(allowed).is_some(), "{allowed}");
        }
        for refused in [
            "http://app.example/",
            "http://localhost.example/",
            "cursor://anysphere/callback",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://app.example/#fragment",
            "https://app.example/cb?code=x",
            "https://app.example/cb?a=b&%69ss=https://evil.example",
            "https://app.example/#",
            "https://claude.ai@evil.example/",
            "https://evil.example\\@claude.ai/",
            "https://claude.ai /",
            "https://evil.example;sandbox/",
            "https://a\nb/",
            "//app.example/",
            "/callback",
            "",
        ] {
            assert!(RedirectUri::parse(refused).is_none(), "{refused}");
        }
        assert!(RedirectUri::parse(&format!("https://app.example/{}", "a".repeat(400))).is_none());
    }

    #[test]
    fn only_the_port_of_a_local_address_may_differ() {
        let covered = |requested: &str, registered: &str| uri(requested).is_covered_by(&uri(registered));
        assert!(covered("https://app.example/cb", "https://app.example/cb"));
        assert!(covered("http://127.0.0.1:5000/cb", "http://127.0.0.1/cb"));
        assert!(covered("http://localhost:5000", "http://localhost:33418/"));
        assert!(covered("http://[::1]:5000/cb", "http://[::1]:1/cb"));
        for (requested, registered) in [
            ("https://app.example/cb?x", "https://app.example/cb"),
            ("https://app.example/cb/", "https://app.example/cb"),
            ("https://app.example:8443/cb", "https://app.example/cb"),
            ("https://app.example/cb/../evil", "https://app.example/evil"),
            ("https://evil.app.example/cb", "https://app.example/cb"),
            ("http://localhost/cb", "http://127.0.0.1/cb"),
            ("http://127.0.0.1/other", "http://127.0.0.1/cb"),
            ("https://localhost:5000/cb", "https://localhost/cb"),
        ] {
            assert!(!covered(requested, registered), "{requested} {registered}");
        }
    }

    #[test]
    fn parameters_are_added_to_the_query() {
        let answer = uri("https://app.example/cb?a=b").with_parameters(&[("code", "x"), ("state", "a&b=c#d 好")]);
        assert_eq!(answer, "https://app.example/cb?a=b&code=x&state=a%26b%3Dc%23d+%E5%A5%BD");
    }

    #[test]
    fn the_host_is_the_one_that_the_browser_uses() {
        assert_eq!(uri("http://LOCALHOST:6274/cb").host(), "localhost:6274");
        assert_eq!(uri("https://App.Example/cb").host(), "app.example");
        assert!(uri("http://127.0.0.1/").is_local() && !uri("https://app.example/").is_local());
    }
}
