//! The sets of views that a database can have besides its tables.

use serde::{Serialize, Serializer};

use crate::{enum_names, error::Error};

/// A set of views for programs that read a database by SQL under the names of one use case. A new database has none;
/// each set is installed on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ViewSet {
    /// The tables of a companion: `conversations`, `key_moments`, `user_profiles`, `affection_logs`.
    Companion,
    /// The tables of a chat gateway: `conversations`, `summaries`, `synonym_map`. Postgres only.
    Document,
    /// The functions `search_memory_events` and `search_memory_events_keywords`, and the view `memory_events`. Postgres
    /// only.
    Evidence,
    /// The tables of a story: `memory_items`, `memory_embeddings`, `memory_entities`, `memory_edges`.
    Story,
}

enum_names! {
    ViewSet, "set of views" {
        Companion => "companion",
        Document => "document",
        Evidence => "evidence",
        Story => "story",
    }
}

impl Serialize for ViewSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
