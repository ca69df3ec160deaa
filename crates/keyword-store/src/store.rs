//! The contract [`KeywordStore`], its queries and its entries.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{
    Filter, FoundRecord, Hit, PackedTerms, Record, RecordId, RecordWithTerms, Result, Scope, Terms,
};

/// Stores the terms of records, and finds the records that share terms with a query. Takes analyzed terms, never text
/// or a query language: no input of a user is interpreted as query syntax.
///
/// Scores are BM25 ([`Bm25`](crate::Bm25)) with the statistics of the records within the searched scope, so that
/// every backend returns the same ones, and no score depends on what others have stored.
///
/// # Cancel safety
/// If a future is dropped, the call either has no effect or completes. It is never applied in part.
#[async_trait]
pub trait KeywordStore: Debug + Send + Sync + 'static {
    /// Stores the terms of each record and replaces earlier ones. Stores all entries or none.
    ///
    /// A store in the same database as the records skips an entry whose record was deleted, is no longer active, or was
    /// written again since. Deleted data thus never comes back.
    ///
    /// # Errors
    /// `Unauthorized` for a record outside `scope`.
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()>;

    /// Removes the terms of these records. Returns the number of records that had terms. Ids that do not exist, or are
    /// not within `scope`, are ignored.
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64>;

    /// Returns the records within `scope` that contain at least one term of the query, at most [`KeywordQuery::limit`],
    /// best first; equal scores are ordered by id. A query without terms returns nothing. Records that the filter
    /// excludes still count in the statistics.
    ///
    /// # Errors
    /// `InvalidInput` for a filter that fails [`Filter::validate`].
    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>>;

    /// As [`search`](Self::search), and reads the records and terms of the hits in the same transaction. Returns `None`
    /// if the store is not the store of the records. Default: `None`.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
        let _ = (scope, query);
        Ok(None)
    }

    /// Returns the terms of these records as they are indexed, in the order of `ids`; `None` for a record without terms
    /// or outside `scope`.
    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>>;

    /// Returns these records with their terms, in the order of `ids`, read in one transaction; `None` in the list for a
    /// record that does not exist within `scope`. Returns `None` alone if the store is not the store of the records.
    /// Default: `None`.
    ///
    /// # Errors
    /// The error of the store.
    async fn records_with_terms(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        let _ = (scope, ids);
        Ok(None)
    }

    /// Loads everything that the first search would load, so that it is as fast as later ones. The default
    /// implementation does nothing.
    async fn warm_up(&self) -> Result<()> {
        Ok(())
    }
}

const _: fn(&dyn KeywordStore) = |_| {};

/// A record with its terms.
#[derive(Debug, Clone)]
pub struct KeywordEntry {
    /// The record. The store uses its id, its scope and the fields that filters can test.
    pub record: Arc<Record>,
    /// The terms of the record.
    pub terms: Terms,
}

/// A keyword query: records with any of the clauses, ranked by BM25.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeywordQuery {
    /// Clauses of the query. A record needs to contain only one of them, and ranks higher with more.
    pub clauses: Vec<Clause>,
    /// Filter that every hit passes. Default: none.
    pub filter: Option<Filter>,
    /// Maximum number of hits.
    pub limit: usize,
}

impl KeywordQuery {
    /// Creates a query for the `limit` best records, without a filter.
    pub fn new(clauses: Vec<Clause>, limit: usize) -> Self {
        Self { clauses, filter: None, limit }
    }

    /// Sets [`filter`](Self::filter).
    #[must_use]
    pub fn with_filter(mut self, filter: Option<Filter>) -> Self {
        self.filter = filter;
        self
    }
}

/// A part of a query: one term, or several with the same meaning. A clause counts once in the ranking, independent of
/// the number of its terms that a record contains.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The terms with their weights.
    pub terms: Vec<WeightedTerm>,
    /// Weight of the clause: 1 for a word of the query, less for a guess. See [`Bm25`](crate::Bm25).
    pub weight: f64,
}

/// A term with the weight of its occurrences.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTerm {
    /// The term, as the analyzer returns it.
    pub term: String,
    /// Weight of an occurrence: 1 for the word itself, less for a synonym.
    pub weight: f64,
}

impl Clause {
    /// Creates a clause of one term, with the weight 1.
    pub fn term(term: impl Into<String>) -> Self {
        Self::weighted(term, 1.0)
    }

    /// Creates a clause of one term, with this weight.
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
            async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
                (**self).search_records(scope, query).await
            }
            async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
                (**self).terms(scope, ids).await
            }
            async fn records_with_terms(
                &self,
                scope: &Scope,
                ids: &[RecordId],
            ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
                (**self).records_with_terms(scope, ids).await
            }
            async fn warm_up(&self) -> Result<()> {
                (**self).warm_up().await
            }
        }
    )*};
}

forward!(Arc, Box);
