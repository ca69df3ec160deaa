//! Pieces of evidence, and the result of a cascade.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::step::EvidenceStep;

/// One piece of evidence. Field names are the columns that the SQL functions return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The id of the event in the tables of the database.
    #[serde(default)]
    pub news_event_id: Option<EventId>,
    /// The id of the record, if events are records of a memory engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// The time of the event as its source writes it: ISO 8601.
    pub created_at: Option<String>,
    /// The text.
    pub content_text: Option<String>,
    /// A translation, if there is one.
    #[serde(default)]
    pub translated_text: Option<String>,
    /// Score from 0 to 1: the similarity of the vectors, or the share of the query's keywords in the text.
    #[serde(alias = "similarity")]
    pub match_score: f64,
}

/// The id of an event: a number in a table, a text elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventId {
    /// The number of a row.
    Number(i64),
    /// Any other id.
    Text(String),
}

impl EventId {
    /// Parses a number; any other text stays a text.
    pub(crate) fn read(id: &str) -> Self {
        id.parse().map_or_else(|_| Self::Text(id.to_owned()), Self::Number)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Text(id) => f.write_str(id),
        }
    }
}

/// The gathered evidence, by source. A slot without evidence is `None` and is left out when serialized.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MemoryEvidence {
    /// Evidence found by the vectors of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supabase_vector: Option<Vec<Evidence>>,
    /// Evidence found by the keywords of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supabase_keyword: Option<Vec<Evidence>>,
    /// Evidence found in the local memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_keyword: Option<Vec<Evidence>>,
    /// The number of keywords that were searched for.
    #[serde(skip)]
    pub keywords: usize,
    /// The steps in order, with their outcomes.
    #[serde(skip)]
    pub steps: Vec<EvidenceStep>,
}

impl MemoryEvidence {
    /// Returns true if there is no evidence in any slot.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Returns the strength of the best piece of evidence, from 0 (none) to 1. A program that looks for further sources
    /// compares it with a threshold.
    ///
    /// The strength of a vector hit is its similarity. That of a keyword hit is `matches / (keywords + 1)`, because a
    /// single common keyword says little about the event: one keyword of one gives 0.5, two of two give 0.67.
    pub fn strength(&self) -> f64 {
        let keyword_factor = self.keywords as f64 / (self.keywords + 1) as f64;
        let by_vector = self.supabase_vector.iter().flatten().map(|piece| piece.match_score);
        let by_keywords = [&self.supabase_keyword, &self.local_keyword].into_iter().flatten().flatten();
        by_vector.chain(by_keywords.map(|piece| piece.match_score * keyword_factor)).fold(0.0, f64::max)
    }

    /// Returns the evidence of all slots, slot by slot.
    pub fn all(&self) -> impl Iterator<Item = &Evidence> {
        [&self.supabase_vector, &self.supabase_keyword, &self.local_keyword].into_iter().flatten().flatten()
    }
}
