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
    /// The entities with these ids.
    Ids(Vec<EntityId>),
    /// The entities that most records mention.
    MostMentioned,
}

/// A query of a graph: where the walk starts, how far it goes, and the limits of its result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GraphQuery {
    /// The starting entities.
    pub from: Seeds,
    /// Maximum number of relations between a starting entity and a found one; 0 returns the starting entities only.
    /// At most [`GraphQuery::MAX_HOPS`].
    pub hops: u32,
    /// Maximum number of entities. Among equally distant ones, those connected by more records come first.
    pub entities: usize,
    /// Maximum number of relations.
    pub edges: usize,
    /// Maximum number of records named for each entity and relation, at most [`GraphQuery::MAX_EVIDENCE`].
    pub evidence: usize,
    /// Restricts the graph to records that match. For example, a branch sees its own records, and those of the branch
    /// it came from up to a sequence number.
    pub filter: Option<Filter>,
    /// Restricts the graph to relations that hold at this time. Default: `None`, which includes all.
    pub at: Option<Timestamp>,
}

impl GraphQuery {
    /// Maximum of [`hops`](Self::hops).
    pub const MAX_HOPS: u32 = 3;
    /// Maximum of [`evidence`](Self::evidence).
    pub const MAX_EVIDENCE: usize = 100;
    /// Maximum number of names or ids that a walk starts from.
    pub const MAX_SEEDS: usize = 2048;

    /// Creates a query with the defaults: 1 hop, 32 entities, 64 relations, and 8 records for each.
    pub fn new(from: Seeds) -> Self {
        Self { from, hops: 1, entities: 32, edges: 64, evidence: 8, filter: None, at: None }
    }

    /// Creates a query that starts from the entities with these names.
    pub fn of<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::new(Seeds::Names(names.into_iter().map(Into::into).collect()))
    }

    /// Sets the maximum numbers of entities and relations.
    #[must_use]
    pub fn with_limits(mut self, entities: usize, edges: usize) -> Self {
        self.entities = entities;
        self.edges = edges;
        self
    }

    memory_engine_core::setters! {
        #![must_use]
        /// Sets the maximum number of hops, at most [`GraphQuery::MAX_HOPS`].
        with_hops(hops: u32);
        /// Sets the maximum number of records named for each entity and relation.
        with_evidence(records: usize) => evidence = records;
        /// Restricts the graph to records that match.
        with_filter(filter: Option<Filter>);
        /// Restricts the graph to relations that hold at this time.
        at(time: Timestamp) => at = Some(time);
    }

    /// Checks the limits of the query.
    ///
    /// # Errors
    /// `InvalidInput` for too many hops, seeds or records, and for a filter that fails [`Filter::validate`].
    pub fn validate(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::invalid("graph", message));
        if self.hops > Self::MAX_HOPS {
            return invalid(format!("the query has {} hops; at most {}", self.hops, Self::MAX_HOPS));
        }
        if self.evidence > Self::MAX_EVIDENCE {
            let max = Self::MAX_EVIDENCE;
            return invalid(format!("the query has {} evidence records for each result; at most {max}", self.evidence));
        }
        let seeds = match &self.from {
            Seeds::Names(names) => names.len(),
            Seeds::Ids(ids) => ids.len(),
            Seeds::MostMentioned => 0,
        };
        if seeds > Self::MAX_SEEDS {
            return invalid(format!("the query starts from {seeds} entities; at most {}", Self::MAX_SEEDS));
        }
        self.filter.as_ref().map_or(Ok(()), Filter::validate)
    }
}
