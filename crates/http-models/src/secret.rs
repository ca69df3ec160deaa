//! Keys.

use std::{env, fmt, sync::Arc};

/// A key or password. `Debug` does not show it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Creates a secret. White space around the key is removed.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().into())
    }

    /// Returns the key in this environment variable, or `None` if it is not set, empty or not Unicode.
    pub fn from_env(variable: &str) -> Option<Self> {
        env::var(variable).ok().map(Self::new).filter(|key| !key.0.is_empty())
    }

    /// Returns the key, for the code that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k16_debug_output_does_not_show_a_secret() {
        let secret = Secret::new(" sk-12345\n");
        assert_eq!(
            (secret.reveal(), format!("{secret:?} {:#?}", Some(&secret)).contains("12345")),
            ("sk-12345", false)
        );
    }
}
