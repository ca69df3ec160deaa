//! The base URL of a service, with its key.

use memory_engine_core::{Error, Result};
use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};

use crate::secret::Secret;

/// The base URL of a service, and the headers of every request to it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    base: Url,
    // Values are marked as sensitive, so `Debug` does not show them.
    headers: HeaderMap,
}

impl Endpoint {
    /// A service at this base URL. Paths are appended to it: `https://host/v1` for OpenAI's `/v1/embeddings`.
    ///
    /// # Errors
    /// `InvalidInput` if it is not an `http` or `https` URL, or has a user name, password, query or fragment.
    pub fn new(base_url: &str) -> Result<Self> {
        // The error does not contain the URL, which may contain a key.
        let invalid = |message| Error::invalid("endpoint", message);
        let mut base = Url::parse(base_url.trim())
            .map_err(|_| invalid("the base URL is not a valid URL; it starts with http:// or https://"))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(invalid("the base URL must start with http:// or https://"));
        }
        if !base.username().is_empty()
            || base.password().is_some()
            || base.query().is_some()
            || base.fragment().is_some()
        {
            return Err(invalid(
                "the base URL must not have a user name, password, query or fragment; pass the key separately",
            ));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self { base, headers: HeaderMap::new() })
    }

    /// Sends the key as `Authorization: Bearer`.
    ///
    /// # Errors
    /// `InvalidInput` if the key has characters that are not allowed in a header.
    pub fn with_key(self, key: &Secret) -> Result<Self> {
        let bearer = Secret::new(format!("Bearer {}", key.reveal()));
        self.with_header(AUTHORIZATION.as_str(), &bearer)
    }

    /// Sends a header with every request. Its value is treated as a secret.
    ///
    /// # Errors
    /// `InvalidInput` if the name or the value has characters that are not allowed in a header.
    pub fn with_header(mut self, name: &str, value: &Secret) -> Result<Self> {
        let invalid = |part: &str| Error::invalid("endpoint", format!("{part} has characters that are not allowed"));
        let name = HeaderName::try_from(name).map_err(|_| invalid("the name of a header"))?;
        let mut value =
            HeaderValue::try_from(value.reveal()).map_err(|_| invalid(&format!("the value of the header {name}")))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// The host and port, for messages.
    pub fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        self.base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the URL of a path below the base URL. Segments are escaped.
    pub(crate) fn url_of(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_added_to_the_base_and_escaped() {
        for base in ["https://api.example.com/v1", "https://api.example.com/v1/"] {
            let endpoint = Endpoint::new(base).unwrap();
            assert_eq!(
                endpoint.url_of(&["chat", "completions"]).as_str(),
                "https://api.example.com/v1/chat/completions"
            );
            assert_eq!(endpoint.url_of(&["memories", "a/../b?c"]).path(), "/v1/memories/a%2F..%2Fb%3Fc");
        }
        assert_eq!(Endpoint::new("http://localhost:11434/v1").unwrap().host(), "localhost:11434");
    }

    #[test]
    fn invalid_urls_are_rejected_without_being_shown() {
        for bad in ["api.hunter2.com", "ftp://hunter2", "https://u:hunter2@x.com", "https://x.com/v1?key=hunter2", ""] {
            let error = Endpoint::new(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let endpoint = Endpoint::new("https://x.com").unwrap().with_key(&Secret::new("hunter2")).unwrap();
        assert!(!format!("{endpoint:?}").contains("hunter2"));
        let error = endpoint.with_key(&Secret::new("hunter2\nX-Evil: 1")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
