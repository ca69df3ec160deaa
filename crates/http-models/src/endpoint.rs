//! The address of a service, with its key.

use memory_engine_core::{Error, Result};
use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};

use crate::secret::Secret;

/// The address of a service, with the headers that every request to it has.
#[derive(Debug, Clone)]
pub struct Endpoint {
    base: Url,
    // Values that hold a key are marked as sensitive: their `Debug` shows nothing of them.
    headers: HeaderMap,
}

impl Endpoint {
    /// A service at this address, to which the paths are added: `https://host/v1` for OpenAI's `/v1/embeddings`.
    ///
    /// # Errors
    /// `InvalidInput` when it is not an `http` or `https` address, or holds a user name, password, query or fragment.
    pub fn new(base_url: &str) -> Result<Self> {
        // The error does not repeat the address, which may contain a key.
        let invalid = |message| Error::invalid("endpoint", message);
        let mut base = Url::parse(base_url.trim()).map_err(|_| invalid("the base URL is not a URL"))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(invalid("the base URL has to begin with http:// or https://"));
        }
        if !base.username().is_empty()
            || base.password().is_some()
            || base.query().is_some()
            || base.fragment().is_some()
        {
            return Err(invalid("the base URL may hold no user name, password, query or fragment; give the key apart"));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self { base, headers: HeaderMap::new() })
    }

    /// Sends the key as `Authorization: Bearer`.
    ///
    /// # Errors
    /// `InvalidInput` when the key has characters that a header cannot hold.
    pub fn with_key(self, key: &Secret) -> Result<Self> {
        let bearer = Secret::new(format!("Bearer {}", key.reveal()));
        self.with_header(AUTHORIZATION.as_str(), &bearer)
    }

    /// Sends a header with every request. Its value is treated as a secret.
    ///
    /// # Errors
    /// `InvalidInput` when name or value cannot be a header's.
    pub fn with_header(mut self, name: &str, value: &Secret) -> Result<Self> {
        let invalid = |what: &str| Error::invalid("endpoint", format!("{what} that a header cannot have"));
        let name = HeaderName::try_from(name).map_err(|_| invalid("the header's name has characters"))?;
        let mut value = HeaderValue::try_from(value.reveal())
            .map_err(|_| invalid(&format!("the value of {name} has characters")))?;
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

    /// The address of a path below the base; its segments are escaped.
    pub(crate) fn at(&self, segments: &[&str]) -> Url {
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
            assert_eq!(endpoint.at(&["chat", "completions"]).as_str(), "https://api.example.com/v1/chat/completions");
            assert_eq!(endpoint.at(&["memories", "a/../b?c"]).path(), "/v1/memories/a%2F..%2Fb%3Fc");
        }
        assert_eq!(Endpoint::new("http://localhost:11434/v1").unwrap().host(), "localhost:11434");
    }

    #[test]
    fn an_address_that_is_none_or_holds_a_key_is_refused_without_repeating_it() {
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
