//! A suggested pair and its evidence.

use std::fmt;

use memory_engine_core::RecordId;
use serde::Serialize;

use crate::pair::WordPair;

/// The reason for a pair, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PairReason {
    /// A sentence states it: "Sus is short for suspicious".
    Stated,
    /// One is a short form of the other, which is a name: Mel and Melanie, 阿强 and 志强.
    ShortName,
    /// The lexicon of everyday words has them as two words for a person or thing.
    Lexicon,
    /// The texts give both names to the same relation of the user: "my cat Luna", "my cat Moon".
    SharedRelation,
    /// The lexicon of everyday words has them as two words for a quality or an action.
    LexiconQuality,
    /// Their vectors are near, and nothing else is as near to one of them.
    Meaning,
}

impl fmt::Display for PairReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stated => "stated",
            Self::ShortName => "short name",
            Self::Lexicon => "lexicon",
            Self::SharedRelation => "same relation",
            Self::LexiconQuality => "lexicon (quality)",
            Self::Meaning => "near vectors",
        })
    }
}

/// A suggested pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// The two words.
    pub pair: WordPair,
    /// The evidence for the pair.
    pub evidence: PairEvidence,
}

/// The evidence for a suggested pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairEvidence {
    /// The reason for the pair.
    pub reason: PairReason,
    /// Number of texts with the first word, and with the second.
    pub records: [u32; 2],
    /// Number of sentences with both words.
    pub together: u32,
    /// Similarity of the other words in their sentences, from 0 to 1.
    pub similarity: f64,
    /// The cosine similarity of their vectors, if both have one.
    pub nearness: Option<f64>,
    /// A text with the first word, and one with the second.
    pub examples: Vec<RecordId>,
}

impl PairEvidence {
    /// Returns the value that suggestions are sorted by.
    pub(super) fn strength(&self) -> f64 {
        let by_reason = match self.reason {
            PairReason::Stated => 0.9,
            PairReason::ShortName => 0.8,
            PairReason::Lexicon => 0.7,
            PairReason::SharedRelation => 0.5,
            PairReason::LexiconQuality => 0.3,
            PairReason::Meaning => 0.2,
        };
        by_reason + 0.2 * self.similarity
    }
}
