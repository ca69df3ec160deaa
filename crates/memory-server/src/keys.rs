//! Keys, of which only the hashes are kept.

use std::fmt;

use memory_engine::{Error, Result};
use uuid::Uuid;

use crate::access::Access;

const PREFIX: &str = "mk-";

/// A key that opens the server. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// The hash of a key: what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyHash(blake3::Hash);

/// The valid keys with their access. Stores only their hashes.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct KeyRing(Vec<(KeyHash, Access)>);

impl ApiKey {
    /// A new key of 244 random bits.
    pub fn generate() -> Self {
        Self(format!("{PREFIX}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

    /// Takes a key as its owner sends it.
    ///
    /// # Errors
    /// `InvalidInput` when it is shorter than 16 characters: the hash of a short one can be guessed.
    pub fn new(key: impl Into<String>) -> Result<Self> {
        let key = key.into();
        if key.chars().count() < 16 {
            return Err(Error::invalid("key", "a key has at least 16 characters; `memory keys new` makes one"));
        }
        Ok(Self(key))
    }

    /// The key itself, to be shown once to whom it is for.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its hash (BLAKE3, in hexadecimal digits), to be kept instead of it.
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
    // Keys are long and random: a hash that is slow on purpose would only slow down every request.
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
    /// `InvalidInput` when it is no such hash.
    pub fn with_hash(mut self, hash: &str, access: Access) -> Result<Self> {
        let invalid =
            |_| Error::invalid("key", "the hash of a key has 64 hexadecimal digits; `memory keys new` prints it");
        self.0.push((KeyHash(blake3::Hash::from_hex(hash).map_err(invalid)?), access));
        Ok(self)
    }

    /// Returns true if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the access of a key. The comparison takes the same time for wrong keys.
    pub fn find(&self, key: &str) -> Option<Access> {
        let hash = KeyHash::of(key);
        // All are looked at, and comparing hashes takes the same time for all.
        self.0.iter().fold(None, |found, (known, access)| if *known == hash { Some(access.clone()) } else { found })
    }
}

#[cfg(test)]
mod tests;
