//! Pieces of evidence, and the slots of what was gathered.

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
    /// How well it fits: the similarity of vectors, or the part of the keywords that it holds. 0 to 1.
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

/// What was gathered. A slot that is `None` gave nothing; serialized, it is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MemoryEvidence {
    /// What the database's vectors gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supabase_vector: Option<Vec<Evidence>>,
    /// What the database's keywords gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supabase_keyword: Option<Vec<Evidence>>,
    /// What the local memory gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_keyword: Option<Vec<Evidence>>,
    /// What each step came to, in their order.
    #[serde(skip)]
    pub steps: Vec<EvidenceStep>,
}

impl MemoryEvidence {
    /// Whether no slot holds anything.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Everything, slot after slot.
    pub fn all(&self) -> impl Iterator<Item = &Evidence> {
        [&self.supabase_vector, &self.supabase_keyword, &self.local_keyword].into_iter().flatten().flatten()
    }
}
