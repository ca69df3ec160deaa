//! Queries of a graph.

use memory_engine_core::{Error, Filter, Result, Timestamp};

use crate::entity::EntityId;

/// The entities that a walk starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Seeds {
    /// The entities with these names or aliases. An ambiguous alias means each of its entities; an unknown name means
    /// none.
    Names(Vec<String>),
    /// With these entities.
    Ids(Vec<EntityId>),
    /// With those that most records mention.
    MostMentioned,
}

/// A walk through a graph: where it begins, how far it goes, and how much it may bring back.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GraphQuery {
    /// The starting entities.
    pub from: Seeds,
    /// Maximum number of relations between a starting entity and a found one; 0 returns the starting entities alone.
    /// At most [`GraphQuery::MAX_HOPS`].
    pub hops: u32,
    /// Maximum number of entities. Among equally distant ones, those connected by more records come first.
    pub entities: usize,
    /// Maximum number of relations.
    pub edges: usize,
    /// Maximum number of records named for each entity and relation, at most [`GraphQuery::MAX_EVIDENCE`].
    pub evidence: usize,
    /// Only what records that match say. An inherited branch is seen through such a filter: its own records, or those
    /// of the branch it came from up to a sequence number. What no such record says is not there, as if it were never
    /// said.
    pub filter: Option<Filter>,
    /// Only relations that hold at this time; all, when not set.
    pub at: Option<Timestamp>,
}

impl GraphQuery {
    /// The longest walk.
    pub const MAX_HOPS: u32 = 3;
    /// The most records that are named for one thing.
    pub const MAX_EVIDENCE: usize = 100;
    /// Maximum number of names that a walk starts from.
    pub const MAX_SEEDS: usize = 2048;

    /// A walk from somewhere: one hop, 32 entities, 64 relations, 8 records for each.
    pub fn new(from: Seeds) -> Self {
        Self { from, hops: 1, entities: 32, edges: 64, evidence: 8, filter: None, at: None }
    }

    /// A walk from the entities of these names.
    pub fn of<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::new(Seeds::Names(names.into_iter().map(Into::into).collect()))
    }

    /// Goes so far.
    #[must_use]
    pub fn with_hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// Sets the maximum numbers of entities and relations.
    #[must_use]
    pub fn with_limits(mut self, entities: usize, edges: usize) -> Self {
        (self.entities, self.edges) = (entities, edges);
        self
    }

    /// Sets the maximum number of records named for each entity and relation.
    #[must_use]
    pub fn with_evidence(mut self, records: usize) -> Self {
        self.evidence = records;
        self
    }

    /// Only what records that match say.
    #[must_use]
    pub fn with_filter(mut self, filter: Option<Filter>) -> Self {
        self.filter = filter;
        self
    }

    /// Only relations that hold at this time.
    #[must_use]
    pub fn at(mut self, time: Timestamp) -> Self {
        self.at = Some(time);
        self
    }

    /// Refuses a walk that no store goes.
    ///
    /// # Errors
    /// `InvalidInput` for too many hops, seeds or records, and for a filter that fails [`Filter::validate`].
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::invalid("graph", message));
        if self.hops > Self::MAX_HOPS {
            return wrong(format!("it goes {} hops far; {} are the most", self.hops, Self::MAX_HOPS));
        }
        if self.evidence > Self::MAX_EVIDENCE {
            return wrong(format!(
                "it asks for {} records for each; {} are the most",
                self.evidence,
                Self::MAX_EVIDENCE
            ));
        }
        let seeds = match &self.from {
            Seeds::Names(names) => names.len(),
            Seeds::Ids(ids) => ids.len(),
            Seeds::MostMentioned => 0,
        };
        if seeds > Self::MAX_SEEDS {
            return wrong(format!("it begins with {seeds} entities; {} are the most", Self::MAX_SEEDS));
        }
        self.filter.as_ref().map_or(Ok(()), Filter::validate)
    }
}
