//! Record ids.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    error::{Error, Result},
    scope::Scope,
};

/// The id of a record: a UUID, unique within a user of a tenant.
///
/// New ids have version 7 and are ordered by the time of their creation. For a record with a name in its source, such
/// as the message id of a chat log, [`named`](Self::named) computes an id of version 8. A message that is imported
/// twice thus becomes one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordId(Uuid);

impl RecordId {
    /// Creates an id that is greater than all earlier ones of this process.
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// Returns the id for a name at the address `scope`: a hash of both, which is the same in every process. The whole
    /// address counts, because message ids are often unique within their conversation only.
    ///
    /// If `name` is a UUID, it is the id.
    pub fn named(scope: &Scope, name: &str) -> Self {
        if let Ok(id) = name.parse() {
            return id;
        }
        let mut hasher = blake3::Hasher::new_derive_key("memory-engine 2026 record id from name");
        let dimensions = scope.dimensions().map(|(_, value)| value.unwrap_or(""));
        for part in [scope.tenant()].into_iter().chain(dimensions).chain([name]) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// Returns the 16 bytes of the id.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Returns the id as two numbers in big-endian order, so that pairs have the order of the ids.
    pub const fn as_u64_pair(&self) -> (u64, u64) {
        self.0.as_u64_pair()
    }

    /// Returns the id of a pair of [`as_u64_pair`](Self::as_u64_pair).
    pub const fn from_u64_pair(high: u64, low: u64) -> Self {
        Self(Uuid::from_u64_pair(high, low))
    }

    /// Returns the id with these 16 bytes.
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
    fn a_named_id_depends_on_name_and_address() {
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
