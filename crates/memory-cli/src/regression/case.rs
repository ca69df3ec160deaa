//! A case: a query, and what must and must not come of it.

use std::path::PathBuf;

use jiff::tz::TimeZone;
use memory_engine::{Filter, RecallQuery, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use crate::regression::expectation::RecordRule;

/// The result on which a case has expectations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// The hits of a search.
    #[default]
    Search,
    /// The block that the gateway adds to the prompt for a message.
    Injection,
    /// The context of a companion, as `memory context` shows it.
    Context,
}

impl Target {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Injection => "injection",
            Self::Context => "context",
        }
    }
}

/// A case with all defaults applied.
#[derive(Debug, Clone)]
pub(crate) struct TestCase {
    pub(crate) name: String,
    /// The line at which it begins in its file, from 1.
    pub(crate) line: usize,
    pub(crate) target: Target,
    /// The query of the search, or the message of the user.
    pub(crate) query: String,
    pub(crate) scope: Scope,
    /// Maximum number of hits, or of recalled memories.
    pub(crate) limit: usize,
    /// The time of the query. `None`: now.
    pub(crate) now: Option<Timestamp>,
    /// The time as of which memories are searched. `None`: now.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) zone: TimeZone,
    pub(crate) filter: Option<Filter>,
    /// The scene of the conversation.
    pub(crate) from_scene: Option<String>,
    /// True if only records of the time that the query names are searched.
    pub(crate) only_then: bool,
    /// The messages of the conversation before the message, oldest first.
    pub(crate) conversation: Vec<String>,
    /// Number of the message's round within the conversation, from 1.
    pub(crate) round: u64,
    /// Folder of the companion. `None`: the bundled example.
    pub(crate) pack: Option<PathBuf>,
    pub(crate) expect: Vec<RecordRule>,
    pub(crate) forbid: Vec<RecordRule>,
    /// True if nothing may be relevant.
    pub(crate) abstain: bool,
}

impl TestCase {
    /// Returns the query of its search.
    pub(crate) fn recall_query(&self) -> RecallQuery {
        let mut query = RecallQuery::new(&self.query).with_limit(self.limit).with_zone(self.zone.clone());
        query.filter.clone_from(&self.filter);
        query.scene.clone_from(&self.from_scene);
        query.asked_at = self.now;
        query.as_of = self.as_of;
        query.only_then = self.only_then;
        query
    }
}
