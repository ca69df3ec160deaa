//! The id of an extraction rule.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The id of the rule that made a derived record, such as `en.allergy.of` or `zh.plan.moved`.
///
/// An id consists of lower-case ASCII letters, digits, dots, underscores and hyphens. In JSON it is a plain string.
///
/// ```
/// use memory_engine_core::RuleId;
///
/// assert_eq!(RuleId::new("en.taste.likes")?.as_str(), "en.taste.likes");
/// assert!(RuleId::new("En Taste").is_err());
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RuleId(Cow<'static, str>);

impl RuleId {
    /// The id for extractions by a language model: `model`.
    pub const MODEL: Self = Self(Cow::Borrowed("model"));

    /// Creates a rule id at compile time: a constant with an id that [`RuleId::new`] refuses does not compile.
    ///
    /// # Panics
    /// Outside of constants, for such an id.
    pub const fn from_static(id: &'static str) -> Self {
        let bytes = id.as_bytes();
        assert!(!bytes.is_empty(), "a rule id is not empty");
        let mut index = 0;
        while index < bytes.len() {
            let is_allowed = matches!(bytes[index], b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
            assert!(is_allowed, "a rule id has only a-z, 0-9, '.', '_', '-'");
            index += 1;
        }
        Self(Cow::Borrowed(id))
    }

    /// Creates a rule id.
    ///
    /// # Errors
    /// `InvalidInput` when the id is empty or contains a character outside `[a-z0-9._-]`.
    pub fn new(id: impl Into<Cow<'static, str>>) -> Result<Self> {
        let id = id.into();
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
        if id.is_empty() || !id.chars().all(is_allowed) {
            return Err(Error::invalid(
                "rule id",
                format!("{id:?} is not a rule id; use only a-z, 0-9, '.', '_', '-'"),
            ));
        }
        Ok(Self(id))
    }

    /// Returns the id as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RuleId {
    type Error = Error;

    fn try_from(id: String) -> Result<Self> {
        Self::new(id)
    }
}

impl From<RuleId> for String {
    fn from(id: RuleId) -> Self {
        id.0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serde_accepts_valid_ids_only() {
        let id: RuleId = serde_json::from_str("\"zh.home_2.moved-to\"").unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"zh.home_2.moved-to\"");
        assert_eq!(id.to_string(), "zh.home_2.moved-to");
        for invalid in ["\"\"", "\"Home\"", "\"a b\"", "\"家\""] {
            assert!(serde_json::from_str::<RuleId>(invalid).is_err(), "{invalid}");
        }
    }
}
