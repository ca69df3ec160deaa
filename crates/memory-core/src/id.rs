//! The id of a record.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    error::{Error, Result},
    scope::Scope,
};

/// The name of a record: a UUID, unique within a tenant's user.
///
/// A new record gets version 7 (sortable by the time it was made). A record that has a name of its own elsewhere, such
/// as a message id in a chat log, gets version 8, computed from that name, so that the same message imported twice is
/// the same record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(Uuid);

impl RecordId {
    /// A new id, later than every id made before it by this process.
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// The id that belongs to `name` at the address `scope`: the same arguments give the same id, everywhere. Message
    /// ids are often unique within their conversation only, so that the whole address counts.
    ///
    /// A `name` that is a UUID already is that id.
    pub fn named(scope: &Scope, name: &str) -> Self {
        if let Ok(id) = name.parse() {
            return id;
        }
        let mut hasher = blake3::Hasher::new_derive_key("memory-engine 2026 record id from name");
        let below = scope.dimensions().map(|(_, value)| value.unwrap_or(""));
        for part in [scope.tenant()].into_iter().chain(below).chain([name]) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// The sixteen bytes of the id.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id as two numbers, which are ordered as ids are: for arrays of numbers.
    pub const fn as_u64_pair(&self) -> (u64, u64) {
        self.0.as_u64_pair()
    }

    /// The id of these two numbers.
    pub const fn from_u64_pair(high: u64, low: u64) -> Self {
        Self(Uuid::from_u64_pair(high, low))
    }

    /// The id with these sixteen bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

impl Default for RecordId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RecordId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Uuid::try_parse(text.trim())
            .map(Self)
            .map_err(|_| Error::invalid("id", "a record id is a UUID such as 0198c5a2-7b1e-7c3a-9f00-2f6d1e9b7a10"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_the_same_id_at_one_address_and_another_at_another() {
        let (lin, mo) = (Scope::user("lin").unwrap(), Scope::user("mo").unwrap());
        assert_eq!(RecordId::named(&lin, "D1:3"), RecordId::named(&lin.clone(), "D1:3"));
        assert_ne!(RecordId::named(&lin, "D1:3"), RecordId::named(&lin.clone().with_session("s").unwrap(), "D1:3"));
        assert_ne!(RecordId::named(&lin, "D1:3"), RecordId::named(&mo, "D1:3"));
        let id = RecordId::new();
        assert_eq!(RecordId::named(&lin, &id.to_string()), id);
    }

    #[test]
    fn new_ids_ascend() {
        let ids: Vec<_> = (0..100).map(|_| RecordId::new()).collect();
        assert!(ids.windows(2).all(|w| w[0] < w[1]));
    }
}
