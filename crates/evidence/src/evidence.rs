//! Pieces of evidence, and the slots of what was gathered.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::step::EvidenceStep;

/// One piece of evidence, with the names of the documents' SQL functions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Which event it is, in the document's tables.
    #[serde(default)]
    pub news_event_id: Option<EventId>,
    /// Which record it is, where events are records of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// When it was, as its source writes it: ISO 8601.
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

/// The id of an event: a number in the document's tables, anything else elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventId {
    /// As a table counts them.
    Number(i64),
    /// As others name them.
    Text(String),
}

impl EventId {
    /// A number, if it reads as one.
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
