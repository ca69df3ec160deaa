//! The contract.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{Filter, Hit, Record, RecordId, Result, Scope, Terms};

use crate::packed::PackedTerms;

/// Keeps the terms of each record and finds those that share terms with a query. Takes analyzed terms, never text and
/// never a query language: what a user types is only ever words to look for.
///
/// Scores are BM25 ([`Bm25`](crate::Bm25)) with the statistics of the records within the searched scope, so that
/// every backend returns the same ones, and no score depends on what others have stored.
///
/// # Cancel safety
/// Dropping a future either leaves the call undone or lets it finish unseen; never half of it.
#[async_trait]
pub trait KeywordStore: Debug + Send + Sync + 'static {
    /// Keeps the terms of each record, in place of earlier ones; all or none.
    ///
    /// A store that lives in the same database as the records skips an entry whose record is not there any more, or is
    /// no longer active or has been written again since: what was deleted does not come back.
    ///
    /// # Errors
    /// `Unauthorized` for a record outside `scope`.
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()>;

    /// Removes the terms of these records, and counts those that had any; those that are not there, or not within
    /// `scope`, do not matter.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64>;

    /// The records within `scope` that hold at least one term of the query: best first, equal ones by id, at most
    /// `limit`. A query without terms finds nothing. The filter narrows what is found, not what the statistics count.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>>;

    /// Returns the terms of these records as they are indexed, in the order of `ids`; `None` for a record without terms
    /// or outside `scope`.
    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>>;

    /// Loads what the first search would load, so that the first search is as fast as later ones. Default: does
    /// nothing.
    async fn warm_up(&self) -> Result<()> {
        Ok(())
    }
}

const _: fn(&dyn KeywordStore) = |_| {};

/// Terms and the record they are of.
#[derive(Debug, Clone)]
pub struct KeywordEntry {
    /// The record, for its id, its address and the fields that a filter may ask for.
    pub record: Arc<Record>,
    /// Its terms.
    pub terms: Terms,
}

/// A keyword query: records with any of the clauses, ranked by BM25.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeywordQuery {
    /// The clauses.
    pub clauses: Vec<Clause>,
    /// Only these.
    pub filter: Option<Filter>,
    /// Maximum number of hits.
    pub limit: usize,
}

impl KeywordQuery {
    /// The `limit` records that fit the clauses best.
    pub fn new(clauses: Vec<Clause>, limit: usize) -> Self {
        Self { clauses, filter: None, limit }
    }

    /// Only those that match.
    #[must_use]
    pub fn with_filter(mut self, filter: Option<Filter>) -> Self {
        self.filter = filter;
        self
    }
}

/// One thing to look for, by one term or several that mean the same: a group counts once in the ranking, however many
/// of its terms a record holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The terms, each with how much an occurrence counts.
    pub terms: Vec<WeightedTerm>,
    /// The weight of the clause.
    pub weight: f64,
}

/// A term with how much an occurrence of it counts.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTerm {
    /// The term, as the analyzer spells it.
    pub term: String,
    /// 1 for the word itself, less for a synonym.
    pub weight: f64,
}

impl Clause {
    /// One term that counts fully.
    pub fn term(term: impl Into<String>) -> Self {
        Self::weighted(term, 1.0)
    }

    /// One term in a clause of this weight.
    pub fn weighted(term: impl Into<String>, weight: f64) -> Self {
        Self { terms: vec![WeightedTerm { term: term.into(), weight: 1.0 }], weight }
    }
}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: KeywordStore + ?Sized> KeywordStore for $pointer<T> {
            async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
                (**self).upsert(scope, entries).await
            }
            async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
                (**self).delete(scope, ids).await
            }
            async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
                (**self).search(scope, query).await
            }
            async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
                (**self).terms(scope, ids).await
            }
            async fn warm_up(&self) -> Result<()> {
                (**self).warm_up().await
            }
        }
    )*};
}

forward!(Arc, Box);
