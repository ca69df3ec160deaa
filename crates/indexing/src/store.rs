//! Records, and access to the indexes derived from them.

use std::{fmt, sync::Arc};

use memory_engine_core::{
    Clock, Filter, JobQueue, Order, Page, Record, RecordId, RecordStore, Result, ScanQuery, Scope,
};
use memory_engine_graph::GraphStore;
use memory_engine_keyword_store::{Analyzer, KeywordStore};
use memory_engine_vector_store::VectorStore;
use tokio::sync::Notify;

use crate::{analysis::Analysis, embedding::EmbeddingBackends};

const SCAN_PAGE_ROWS: usize = 500;

/// The stores that an [`IndexedStore`] is made of. One object may be all of them.
#[derive(Debug, Clone)]
pub struct Stores {
    /// Records.
    pub records: Arc<dyn RecordStore>,
    /// The job queue of the record store.
    pub jobs: Arc<dyn JobQueue>,
    /// Terms.
    pub keywords: Arc<dyn KeywordStore>,
    /// Vectors of the embedder that the store is opened with.
    pub vectors: Arc<dyn VectorStore>,
    /// Entities and relations.
    pub graph: Arc<dyn GraphStore>,
}

impl Stores {
    /// Returns true if terms or vectors are stored apart from the records, so that no transaction of the record store
    /// covers them.
    pub(crate) fn has_separate_indexes(&self) -> bool {
        let records = Arc::as_ptr(&self.records);
        !std::ptr::addr_eq(records, Arc::as_ptr(&self.keywords))
            || !std::ptr::addr_eq(records, Arc::as_ptr(&self.vectors))
    }
}

/// Records together with the indexes derived from them. What is written here reaches every index, at once or by a queued
/// job; what is removed leaves every index.
pub struct IndexedStore {
    stores: Stores,
    embedding: EmbeddingBackends,
    analysis: Analysis,
    clock: Arc<dyn Clock>,
    /// Wakes the worker when jobs were queued.
    signal: Arc<Notify>,
}

impl fmt::Debug for IndexedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexedStore").field("stores", &self.stores).finish_non_exhaustive()
    }
}

impl IndexedStore {
    /// Combines stores, embedding backends and an analyzer.
    pub fn new(
        stores: Stores,
        embedding: EmbeddingBackends,
        analyzer: Arc<dyn Analyzer>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let analysis = Analysis::new(analyzer);
        Self { stores, embedding, analysis, clock, signal: Arc::new(Notify::new()) }
    }

    /// Records.
    pub fn records(&self) -> &Arc<dyn RecordStore> {
        &self.stores.records
    }

    /// Terms.
    pub fn keywords(&self) -> &Arc<dyn KeywordStore> {
        &self.stores.keywords
    }

    /// The vectors that are searched.
    pub fn vectors(&self) -> &Arc<dyn VectorStore> {
        &self.embedding.serving().vectors
    }

    /// Entities and relations.
    pub fn graph(&self) -> &Arc<dyn GraphStore> {
        &self.stores.graph
    }

    /// The embedders, each with its vectors.
    pub fn embedding(&self) -> &EmbeddingBackends {
        &self.embedding
    }

    /// The analyzer of records and queries.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The clock of every timestamp.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The job queue.
    pub fn queue(&self) -> &Arc<dyn JobQueue> {
        &self.stores.jobs
    }

    /// Signals the worker that the queue has jobs.
    pub fn wake(&self) {
        self.signal.notify_one();
    }

    /// The signal of [`wake`](Self::wake). It does not keep the store open.
    pub fn signal(&self) -> &Arc<Notify> {
        &self.signal
    }

    pub(crate) fn has_separate_indexes(&self) -> bool {
        self.stores.has_separate_indexes()
    }

    /// Returns the record with this id if it is within `scope`.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get(&self, scope: &Scope, id: RecordId) -> Result<Option<Record>> {
        Ok(self.stores.records.get(scope, &[id]).await?.pop().flatten())
    }

    /// Returns the records with these ids, in the same order; `None` for an id that is not within `scope`.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_all(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.stores.records.get(scope, ids).await
    }

    /// Returns the records that were made from these, as far as they are stored, wherever in `scope` they are.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Record>> {
        let derived = self.stores.records.derived(scope, ids).await?;
        Ok(self.get_all(scope, &derived).await?.into_iter().flatten().collect())
    }

    /// Returns a page of records in order of time.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.stores.records.scan(scope, query).await
    }

    /// Returns all records that match `filter`, read page by page.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan_all(&self, scope: &Scope, filter: Filter, order: Order) -> Result<Vec<Record>> {
        let mut query = ScanQuery::oldest(SCAN_PAGE_ROWS).with_filter(filter);
        query.order = order;
        let mut records = Vec::new();
        loop {
            let page = self.scan(scope, &query).await?;
            records.extend(page.records);
            query.after = page.next;
            if query.after.is_none() {
                return Ok(records);
            }
        }
    }
}
