//! Read access of a scope: the scope, and a filter for the conversation branches and the projects that are visible
//! from it.
//!
//! Reasons: `docs/design/decisions/0040-read-scope-is-a-type.md`.

use std::sync::Arc;

use memory_engine_core::{
    Adjacent, Field, Filter, FilterValue, FoundRecord, Hit, MultiVector, Op, PackedTerms, Page, ProjectEntry, Record,
    RecordId, RecordWithTerms, Result, ScanQuery, Scope, Timestamp,
};
use memory_engine_graph::{GraphQuery, GraphStore, Subgraph};
use memory_engine_indexing::IndexedStore;
use memory_engine_keyword_store::{KeywordQuery, KeywordStore};
use memory_engine_synonyms::{SharedThesaurus, Thesaurus};
use memory_engine_vector_store::{VectorQuery, VectorStore};

use crate::fork::{VisibleBranch, ancestors, on_branch};

/// The records that a scope may read. A branch of a conversation that inherits from its parents reads the whole
/// session, restricted to the branches that it sees. A project reads the user, restricted to what belongs to the
/// project, or to no agent. Any other scope reads itself.
///
/// Both fields are private, so that a retriever outside of this module cannot search without the restriction: leaking a
/// sister branch does not compile. Only the crate-internal `locate`, `adjacent`, `terms` and
/// `token_vectors` ignore the restriction; their callers check visibility.
#[derive(Debug, Clone)]
pub struct ReadScope {
    scope: Scope,
    restriction: Option<Filter>,
}

impl ReadScope {
    /// Resolves the branches that are visible from `scope`.
    ///
    /// # Errors
    /// The store's error; `Corrupt` if the record of a fork cannot be read.
    pub async fn resolve(store: &IndexedStore, scope: &Scope) -> Result<Self> {
        if let (Some(_), Some(project), None, None) =
            (scope.user_name(), scope.project(), scope.session(), scope.branch())
        {
            let restriction = Some(project_filter(store, scope, project).await?);
            return Ok(Self { scope: scope.namespace(), restriction });
        }
        let names_a_branch = scope.user_name().is_some() && scope.session().is_some() && scope.branch().is_some();
        // The first entry of the lineage is the branch itself.
        let lineage = if names_a_branch { ancestors(store, scope).await? } else { Vec::new() };
        let inherits = lineage.len() > 1;
        if !inherits {
            return Ok(Self { scope: scope.clone(), restriction: None });
        }
        let restriction = Some(Filter::Or(lineage.into_iter().map(branch_filter).collect()));
        // Without a branch, the scope is the whole session; the filter narrows it.
        Ok(Self { scope: on_branch(scope, None)?, restriction })
    }

    /// Returns true if all records of the scope are of one user.
    pub(crate) fn is_of_one_user(&self) -> bool {
        self.scope.user_name().is_some()
    }

    /// The restriction to visible branches or projects combined with `filter`.
    fn restrict(&self, filter: Option<Filter>) -> Option<Filter> {
        self.restriction.clone().into_iter().chain(filter).reduce(Filter::and)
    }

    /// Returns true if the record lies on a visible branch, or belongs to what the project reads.
    fn is_visible(&self, record: &Record) -> bool {
        self.restriction.as_ref().is_none_or(|filter| filter.matches(record))
    }

    /// Searches a keyword store.
    ///
    /// # Errors
    /// The store's error.
    pub async fn search_keywords(&self, store: &dyn KeywordStore, mut query: KeywordQuery) -> Result<Vec<Hit>> {
        query.filter = self.restrict(query.filter);
        store.search(&self.scope, &query).await
    }

    /// Searches a keyword store, and reads the records of the hits. `None` if it is not the store of the records.
    pub(crate) async fn search_keyword_records(
        &self,
        store: &dyn KeywordStore,
        mut query: KeywordQuery,
    ) -> Result<Option<Vec<FoundRecord>>> {
        query.filter = self.restrict(query.filter);
        store.search_records(&self.scope, &query).await
    }

    /// Searches a vector store, and reads the records of the hits. `None` if it is not the store of the records.
    pub(crate) async fn search_vector_records(
        &self,
        store: &dyn VectorStore,
        mut query: VectorQuery,
    ) -> Result<Option<Vec<FoundRecord>>> {
        query.filter = self.restrict(query.filter);
        store.search_records(&self.scope, &query).await
    }

    /// Returns the index terms of these records, in the same order. They are not checked for visibility: pass ids of
    /// visible records.
    pub(crate) async fn terms(&self, store: &IndexedStore, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        store.keywords().terms(&self.scope, ids).await
    }

    /// Returns the token vectors of these records, in the same order. They are not checked for visibility: pass ids of
    /// visible records.
    pub(crate) async fn token_vectors(
        &self,
        store: &dyn VectorStore,
        ids: &[RecordId],
    ) -> Result<Vec<Option<MultiVector>>> {
        store.token_vectors(&self.scope, ids).await
    }

    /// Searches a vector store.
    ///
    /// # Errors
    /// The store's error.
    pub async fn search_vectors(&self, store: &dyn VectorStore, mut query: VectorQuery) -> Result<Vec<Hit>> {
        query.filter = self.restrict(query.filter);
        store.search(&self.scope, &query).await
    }

    /// Walks a graph.
    ///
    /// # Errors
    /// The store's error.
    pub async fn expand_graph(&self, store: &dyn GraphStore, mut query: GraphQuery) -> Result<Subgraph> {
        query.filter = self.restrict(query.filter);
        store.expand(&self.scope, &query).await
    }

    /// Returns a page of records in order of time, without expired ones.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan(&self, store: &IndexedStore, query: &ScanQuery) -> Result<Page> {
        let mut query = query.clone();
        query.filter = self.restrict(query.filter);
        store.scan_unexpired(&self.scope, &query).await
    }

    /// Returns a page of the records that were visible at a time, as they were then.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan_as_of(&self, store: &IndexedStore, query: &ScanQuery, at: Timestamp) -> Result<Page> {
        let mut query = query.clone();
        query.filter = self.restrict(query.filter);
        store.scan_as_of(&self.scope, &query, at).await
    }

    /// Returns the records with these ids and their terms, as [`get`](Self::get) returns records. `None` if the keyword
    /// store is not the store of the records.
    pub(crate) async fn get_with_terms(
        &self,
        store: &IndexedStore,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        let now = store.clock().now();
        let is_readable = |found: &RecordWithTerms| !found.record.is_expired(now) && self.is_visible(&found.record);
        let records = store.keywords().records_with_terms(&self.scope, ids).await?;
        Ok(records.map(|records| records.into_iter().map(|found| found.filter(is_readable)).collect()))
    }

    /// Returns the records with these ids, in the same order; `None` for one that is not there, has expired or is not
    /// visible.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get(&self, store: &IndexedStore, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let records = store.get_unexpired(&self.scope, ids).await?;
        Ok(records.into_iter().map(|record| record.filter(|record| self.is_visible(record))).collect())
    }

    /// Returns the ids of the records derived from these, in any state. They are not checked for visibility: pass them
    /// to [`get`](Self::get).
    pub(crate) async fn derived(&self, store: &IndexedStore, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        store.records().derived(&self.scope, ids).await
    }

    /// Returns the record with this id, and whether it is visible: for explanations of what is not found.
    pub(crate) async fn locate(&self, store: &IndexedStore, id: RecordId) -> Result<Option<(Record, bool)>> {
        let record = store.get(&self.scope, id).await?;
        Ok(record.map(|record| {
            let is_visible = self.is_visible(&record);
            (record, is_visible)
        }))
    }

    /// Returns the ids directly before and after each record. They are not checked for visibility: pass them to
    /// [`get`](Self::get), which returns `None` for an invisible record.
    pub(crate) async fn adjacent(&self, store: &IndexedStore, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        store.records().adjacent(&self.scope, ids).await
    }

    /// Returns the number of records within the scope, in any state and on any branch.
    pub(crate) async fn count_records(&self, store: &IndexedStore) -> Result<u64> {
        Ok(store.records().stats(&self.scope).await?.records)
    }

    /// Returns the synonyms of the scope.
    pub(crate) async fn thesaurus(&self, thesaurus: &SharedThesaurus) -> Result<Arc<Thesaurus>> {
        thesaurus.of(&self.scope).await
    }
}

/// Matches the memories of a project, of those that were merged into it, and of no agent.
async fn project_filter(store: &IndexedStore, scope: &Scope, project: &str) -> Result<Filter> {
    let user = scope.namespace();
    let entry = store.get(&user, ProjectEntry::id(&user, project)).await?;
    let entry = entry.as_ref().and_then(ProjectEntry::of).unwrap_or_else(|| ProjectEntry::new(project));
    let is_own = Filter::any_of(Field::Agent, entry.agents().map(FilterValue::from));
    Ok(Filter::Or(vec![is_own, Filter::Not(Box::new(Filter::Exists(Field::Agent)))]))
}

/// Matches the records of one visible branch, up to and including the fork point. Numbers in filters are `f64`.
fn branch_filter(branch: VisibleBranch) -> Filter {
    let on_this_branch = match &branch.name {
        Some(name) => Filter::eq(Field::Branch, name.as_str()),
        None => Filter::Not(Box::new(Filter::Exists(Field::Branch))),
    };
    match branch.until {
        Some(sequence) => on_this_branch.and(Filter::compare(Field::Sequence, Op::Le, sequence as f64)),
        None => on_this_branch,
    }
}
