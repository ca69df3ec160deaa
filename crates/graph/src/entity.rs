//! Names and kinds of entities.

use std::{fmt, str::FromStr};

use memory_engine_core::{Error, Result, Scope, phrases::fold};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id of an entity, computed from its owner and its name.
///
/// Names that are equal after folding (case, width, script and white space) are one entity of a user, even if records
/// give it different kinds: extractors disagree about kinds far more often than two things share a name. Two users
/// never share an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId([u8; 16]);

impl EntityId {
    /// Returns the id of the entity with this name that belongs to the tenant and user of a scope.
    pub fn of(scope: &Scope, name: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("memory-engine 2026 entity");
        for part in [scope.tenant(), scope.user_name().unwrap_or_default(), &fold(name)] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(bytes)
    }

    /// Returns the 16 bytes of the id.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Creates an id from its 16 bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for EntityId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = || Error::invalid("entity id", "an entity id must have 32 hexadecimal digits");
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(invalid());
        }
        let mut bytes = [0; 16];
        for (byte, at) in bytes.iter_mut().zip((0..32).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| invalid())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for EntityId {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntityId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The kind of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A person or another character, of any species.
    Person,
    /// A place.
    Place,
    /// A group of people that acts: a company, a guild, a state.
    Org,
    /// An idea, a work, a law, an event.
    Concept,
    /// Something else, or not known.
    #[default]
    Other,
}

impl EntityKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Person, Self::Place, Self::Org, Self::Concept, Self::Other];

    /// Returns the name, as stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Place => "place",
            Self::Org => "org",
            Self::Concept => "concept",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EntityKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| Error::invalid("entity kind", "unknown kind; use one of person, place, org, concept, other"))
    }
}

#[cfg(test)]
mod tests;
