//! Two words, and what was decided about them.

use memory_engine_core::phrases::fold;
use serde::{Deserialize, Serialize};

/// Two words that may mean the same: folded, the lesser first, so that every pair is written in one way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct WordPair {
    first: String,
    second: String,
}

impl WordPair {
    /// The pair of two words; `None` when both are one word or one is empty.
    pub fn new(a: &str, b: &str) -> Option<Self> {
        let (a, b) = (fold(a), fold(b));
        let (first, second) = if a <= b { (a, b) } else { (b, a) };
        (!first.is_empty() && first != second).then_some(Self { first, second })
    }

    /// The word that comes first byte by byte.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// The other.
    pub fn second(&self) -> &str {
        &self.second
    }
}

/// A pair as it may be written down elsewhere: in any spelling and order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    first: String,
    second: String,
}

impl TryFrom<Raw> for WordPair {
    type Error = &'static str;

    fn try_from(Raw { first, second }: Raw) -> Result<Self, Self::Error> {
        Self::new(&first, &second).ok_or("the two words of a pair read the same, or one is empty")
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
