//! Pairs of words, and decisions about them.

use memory_engine_core::phrases::fold;
use serde::{Deserialize, Serialize};

/// Two words that may be synonyms. Both are folded, and the lesser comes first, so equal pairs have equal values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "UncheckedPair")]
pub struct WordPair {
    first: String,
    second: String,
}

impl WordPair {
    /// Creates a pair. `None` if the words are equal after folding, or if one is empty.
    pub fn new(a: &str, b: &str) -> Option<Self> {
        let (a, b) = (fold(a), fold(b));
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        (!first.is_empty() && first != second).then_some(Self { first, second })
    }

    /// Returns the word that sorts first.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// Returns the word that sorts second.
    pub fn second(&self) -> &str {
        &self.second
    }
}

/// A pair as it is deserialized, in any spelling and order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedPair {
    first: String,
    second: String,
}

impl TryFrom<UncheckedPair> for WordPair {
    type Error = &'static str;

    fn try_from(UncheckedPair { first, second }: UncheckedPair) -> Result<Self, Self::Error> {
        Self::new(&first, &second).ok_or("the two words of a pair are equal, or one is empty")
    }
}

/// A decision about a suggested pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairVerdict {
    /// The pair.
    pub pair: WordPair,
    /// True if the two words mean the same.
    pub accepted: bool,
}

#[cfg(test)]
mod tests;
