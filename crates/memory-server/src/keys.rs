//! Keys of callers. Only their hashes are stored.

use std::fmt;

use memory_engine::{Error, Result};
use uuid::Uuid;

use crate::access::Access;

/// The prefix of generated keys.
const PREFIX: &str = "mk-";
/// Minimum length of a key.
const MIN_KEY_CHARS: usize = 16;

/// A key of a caller. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// The hash of a key, which is stored instead of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyHash(blake3::Hash);

/// The valid keys with their access. Stores only their hashes.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct KeyRing(Vec<(KeyHash, Access)>);

impl ApiKey {
    /// Generates a key of 244 random bits.
    pub fn generate() -> Self {
        Self(format!("{PREFIX}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

    /// Takes a key as its owner sends it.
    ///
    /// # Errors
    /// `InvalidInput` if it is shorter than 16 characters: a short key can be guessed from its hash.
    pub fn new(key: impl Into<String>) -> Result<Self> {
        let key = key.into();
        if key.chars().count() < MIN_KEY_CHARS {
            return Err(Error::invalid(
                "key",
                format!("the key is too short; use at least {MIN_KEY_CHARS} characters"),
            ));
        }
        Ok(Self(key))
    }

    /// Returns the key itself, to be shown once to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns its hash (BLAKE3, in hexadecimal digits), to be stored instead of the key.
    pub fn hash(&self) -> String {
        KeyHash::of(&self.0).0.to_hex().to_string()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl KeyHash {
    // Keys are long and random, so they do not need a deliberately slow hash, which would delay every request.
    fn of(key: &str) -> Self {
        Self(blake3::hash(key.as_bytes()))
    }
}

impl KeyRing {
    /// Adds a key.
    pub fn with_key(mut self, key: &ApiKey, access: Access) -> Self {
        self.0.push((KeyHash::of(&key.0), access));
        self
    }

    /// Adds a key by its hash.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a hash of [`ApiKey::hash`].
    pub fn with_hash(mut self, hash: &str, access: Access) -> Result<Self> {
        let hash = blake3::Hash::from_hex(hash).map_err(|_| {
            Error::invalid("key", "the hash of the key is not valid; it must have 64 hexadecimal digits")
        })?;
        self.0.push((KeyHash(hash), access));
        Ok(self)
    }

    /// Allows all keys to read the figures of the process, if they are for one tenant.
    pub(crate) fn with_process_figures(mut self) -> Self {
        let tenant = self.0.first().map(|(_, access)| access.tenant_scope().clone());
        if self.0.iter().all(|(_, access)| Some(access.tenant_scope()) == tenant.as_ref()) {
            self.0 = self.0.into_iter().map(|(hash, access)| (hash, access.with_process_figures())).collect();
        }
        self
    }

    /// Returns true if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys without those for metrics.
    #[cfg(feature = "oauth")]
    pub(crate) fn for_memories(&self) -> Self {
        Self(self.0.iter().filter(|(_, access)| !access.is_for_metrics()).cloned().collect())
    }

    /// Returns the access of a key. Takes the same time for valid and invalid keys.
    pub fn find(&self, key: &str) -> Option<Access> {
        self.find_entry(key).map(|(_, access)| access.clone())
    }

    /// Returns hash and access of a key. Takes the same time for valid and invalid keys.
    pub(crate) fn find_entry(&self, key: &str) -> Option<(&blake3::Hash, &Access)> {
        let hash = KeyHash::of(key);
        // No early return, so that the time does not depend on the position of the key. `blake3::Hash` compares in
        // constant time.
        let mut found = None;
        for (known, access) in &self.0 {
            if *known == hash {
                found = Some((&known.0, access));
            }
        }
        found
    }

    /// Returns hash and access of all keys.
    #[cfg(feature = "oauth")]
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&blake3::Hash, &Access)> {
        self.0.iter().map(|(hash, access)| (&hash.0, access))
    }
}

#[cfg(test)]
mod tests;
