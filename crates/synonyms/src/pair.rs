//! Two words, and what was decided about them.

use memory_core::phrases::fold;
use serde::{Deserialize, Serialize};

/// Two words that may mean the same: folded, the lesser first, so that every pair is written in one way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// What somebody decided about a pair that was suggested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The pair.
    pub pair: WordPair,
    /// Whether the two mean the same.
    pub accepted: bool,
}
