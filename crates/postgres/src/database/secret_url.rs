//! A database URL whose password is never shown.

use std::fmt;

/// A URL that may contain a password. Its `Debug` output does not contain the URL.
#[derive(Clone)]
pub(crate) struct SecretUrl(String);

impl SecretUrl {
    pub(crate) fn new(url: String) -> Self {
        Self(url)
    }

    /// Returns the URL.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretUrl(…)")
    }
}
