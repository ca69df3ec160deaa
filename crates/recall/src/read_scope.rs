//! A scope as it may be read.

use std::sync::Arc;

use memory_engine_core::{Adjacent, Field, Filter, Hit, Op, Page, Record, RecordId, Result, ScanQuery, Scope};
use memory_engine_graph::{GraphQuery, GraphStore, Subgraph};
use memory_engine_indexing::IndexedStore;
use memory_engine_keyword_store::{KeywordQuery, KeywordStore};
use memory_engine_synonyms::{SharedThesaurus, Thesaurus};
use memory_engine_vector_store::{VectorQuery, VectorStore};

use crate::fork::{VisibleBranch, ancestors, on_branch};

/// The records that a scope may read. A branch of a conversation that inherits from its parents reads the whole session,
/// restricted to the branches that it sees; any other scope reads itself.
///
/// Scope and restriction are private, and every method applies both: a search that forgets the restriction, and so leaks
/// a sister branch, does not compile.
#[derive(Debug, Clone)]
pub struct ReadScope {
    scope: Scope,
    visible_branches: Option<Filter>,
}

impl ReadScope {
    /// Finds out what `scope` may read.
    ///
    /// # Errors
    /// The store's error; `Corrupt` if the record of a fork cannot be read.
    pub async fn resolve(store: &IndexedStore, scope: &Scope) -> Result<Self> {
        let names_a_branch = scope.user_name().is_some() && scope.session().is_some() && scope.branch().is_some();
        let branches = if names_a_branch { ancestors(store, scope).await? } else { Vec::new() };
        if branches.len() < 2 {
            return Ok(Self { scope: scope.clone(), visible_branches: None });
        }
        let visible_branches = Some(Filter::Or(branches.into_iter().map(branch_filter).collect()));
        Ok(Self { scope: on_branch(scope, None)?, visible_branches })
    }

    /// The restriction to visible branches combined with `filter`.
    fn restrict(&self, filter: Option<Filter>) -> Option<Filter> {
        self.visible_branches.clone().into_iter().chain(filter).reduce(Filter::and)
    }

    /// Returns true if the restriction lets a record of the scope be seen.
    fn sees(&self, record: &Record) -> bool {
        self.visible_branches.as_ref().is_none_or(|filter| filter.matches(record))
    }

    /// Searches a keyword store.
    ///
    /// # Errors
    /// The store's error.
    pub async fn search_keywords(&self, store: &dyn KeywordStore, mut query: KeywordQuery) -> Result<Vec<Hit>> {
        query.filter = self.restrict(query.filter);
        store.search(&self.scope, &query).await
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

    /// Returns a page of records in order of time.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan(&self, store: &IndexedStore, query: &ScanQuery) -> Result<Page> {
        let mut query = query.clone();
        query.filter = self.restrict(query.filter);
        store.scan(&self.scope, &query).await
    }

    /// Returns the records with these ids, in the same order; `None` for one that is not there or not visible.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get(&self, store: &IndexedStore, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let records = store.get_all(&self.scope, ids).await?;
        Ok(records.into_iter().map(|record| record.filter(|record| self.sees(record))).collect())
    }

    /// Returns the record with this id, and whether it is visible: for explanations of what is not found.
    pub(crate) async fn locate(&self, store: &IndexedStore, id: RecordId) -> Result<Option<(Record, bool)>> {
        let record = store.get(&self.scope, id).await?;
        Ok(record.map(|record| {
            let is_visible = self.sees(&record);
            (record, is_visible)
        }))
    }

    /// Returns the ids right before and after these records. A neighbor may be invisible until [`get`](Self::get) drops it.
    pub(crate) async fn adjacent(&self, store: &IndexedStore, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        store.records().adjacent(&self.scope, ids).await
    }

    /// Returns the synonyms of the scope.
    pub(crate) async fn thesaurus(&self, thesaurus: &SharedThesaurus) -> Result<Arc<Thesaurus>> {
        thesaurus.of(&self.scope).await
    }
}

/// The records of one visible branch, up to the fork.
fn branch_filter(branch: VisibleBranch) -> Filter {
    let own = match &branch.name {
        Some(name) => Filter::eq(Field::Branch, name.as_str()),
        None => Filter::Not(Box::new(Filter::Exists(Field::Branch))),
    };
    match branch.until {
        Some(sequence) => own.and(Filter::compare(Field::Sequence, Op::Le, sequence as f64)),
        None => own,
    }
}
