//! The hashes of a chain of entries.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// The hash of an entry: BLAKE3 of its fields and of the hash of the entry before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AuditHash([u8; 32]);

impl AuditHash {
    /// Returns the hash with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for AuditHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let hash = blake3::Hash::from_hex(text);
        let hash = hash.map_err(|_| Error::invalid("audit", "the hash of an entry has 64 hexadecimal digits"))?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl Serialize for AuditHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AuditHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The number and the hash of an entry, written as `SEQUENCE:HASH`.
///
/// Stored outside of the database, it proves later that no entry up to it was changed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditHead {
    /// The number of the entry. The first one of a tenant is 1; 0 means that there is none.
    pub sequence: u64,
    /// The hash of the entry.
    pub hash: AuditHash,
}

impl AuditHead {
    /// Creates a head.
    pub const fn new(sequence: u64, hash: AuditHash) -> Self {
        Self { sequence, hash }
    }

    /// Returns the beginning of the chain of a tenant, before its first entry.
    pub fn genesis(tenant: &str) -> Self {
        Self { sequence: 0, hash: AuditHash(blake3::derive_key("memory-engine 2026 audit chain", tenant.as_bytes())) }
    }
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sequence, self.hash)
    }
}

impl FromStr for AuditHead {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid =
            || Error::invalid("audit", "an entry is named as SEQUENCE:HASH, as `memory audit head` prints it");
        let (sequence, hash) = text.trim().split_once(':').ok_or_else(invalid)?;
        let sequence = sequence.parse().map_err(|_| invalid())?;
        Ok(Self { sequence, hash: hash.parse().map_err(|_| invalid())? })
    }
}

/// The two ends of the chain of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditChain {
    /// The tenant.
    pub tenant: String,
    /// The latest entry.
    pub head: AuditHead,
    /// The latest entry that was pruned. The first remaining entry follows it.
    pub anchor: AuditHead,
}

impl AuditChain {
    /// Creates a chain with these ends.
    pub fn new(tenant: impl Into<String>, head: AuditHead, anchor: AuditHead) -> Self {
        Self { tenant: tenant.into(), head, anchor }
    }

    /// Returns the chain of a tenant without entries.
    pub fn empty(tenant: &str) -> Self {
        let genesis = AuditHead::genesis(tenant);
        Self::new(tenant, genesis, genesis)
    }
}
