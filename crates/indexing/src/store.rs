//! Records, and access to the indexes derived from them.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use memory_engine_core::{
    Clock, Filter, JobQueue, Order, Page, Record, RecordId, RecordStore, Result, ScanQuery, Scope,
};
use memory_engine_graph::GraphStore;
use memory_engine_keyword_store::{Analyzer, KeywordStore};
use memory_engine_vector_store::VectorStore;
use tokio::sync::{Mutex, Notify};

use crate::{
    analysis::Analysis,
    embedding::EmbeddingBackends,
    gate::{Gate, Guarded},
};

const SCAN_PAGE_ROWS: usize = 500;

/// The stores that an [`IndexedStore`] is made of. One object may be all of them.
#[derive(Debug, Clone)]
pub struct StoreSet {
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

impl StoreSet {
    /// Returns true if terms or vectors are stored apart from the records, so that no transaction of the record store
    /// covers them.
    fn has_separate_indexes(&self) -> bool {
        let records = Arc::as_ptr(&self.records);
        !std::ptr::addr_eq(records, Arc::as_ptr(&self.keywords))
            || !std::ptr::addr_eq(records, Arc::as_ptr(&self.vectors))
    }

    /// Puts each store behind the gate.
    fn guarded(self, gate: &Arc<Gate>) -> Self {
        Self {
            records: Arc::new(Guarded::new(self.records, gate)),
            jobs: Arc::new(Guarded::new(self.jobs, gate)),
            keywords: Arc::new(Guarded::new(self.keywords, gate)),
            vectors: Arc::new(Guarded::new(self.vectors, gate)),
            graph: Arc::new(Guarded::new(self.graph, gate)),
        }
    }
}

/// Records together with the indexes derived from them. What is written here reaches every index, at once or by a
/// queued job; what is removed leaves every index.
pub struct IndexedStore {
    stores: StoreSet,
    has_separate_indexes: bool,
    gate: Arc<Gate>,
    closing: Mutex<()>,
    embedding: EmbeddingBackends,
    analysis: Analysis,
    clock: Arc<dyn Clock>,
    /// Wakes the worker when jobs were queued.
    signal: Arc<Notify>,
    /// Called before the signal is given.
    before_wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for IndexedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexedStore").field("stores", &self.stores).finish_non_exhaustive()
    }
}

impl IndexedStore {
    /// Combines stores, embedding backends and an analyzer.
    pub fn new(
        stores: StoreSet,
        embedding: EmbeddingBackends,
        analyzer: Arc<dyn Analyzer>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let gate = Arc::new(Gate::default());
        Self {
            has_separate_indexes: stores.has_separate_indexes(),
            stores: stores.guarded(&gate),
            embedding: embedding.guarded(&gate),
            gate,
            closing: Mutex::new(()),
            analysis: Analysis::new(analyzer),
            clock,
            signal: Arc::new(Notify::new()),
            before_wake: OnceLock::new(),
        }
    }

    /// Refuses every later call and closes the record store. A call that is under way ends, or fails with `Closed`.
    pub async fn close(&self) {
        self.gate.close();
        let _one_at_a_time = self.closing.lock().await;
        self.stores.records.close().await;
    }

    /// Returns true after [`close`](Self::close).
    pub fn is_closed(&self) -> bool {
        self.gate.is_closed()
    }

    /// Returns an error if the store cannot be called now.
    ///
    /// # Errors
    /// `Closed` after [`close`](Self::close); `Unsupported` outside of a tokio runtime.
    pub fn check_open(&self, operation: &'static str) -> Result<()> {
        self.gate.check(operation)
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
        if let Some(before_wake) = self.before_wake.get() {
            before_wake();
        }
        self.signal.notify_one();
    }

    /// Sets a function that every [`wake`](Self::wake) calls first. Only the first call has an effect.
    pub fn before_wake(&self, function: impl Fn() + Send + Sync + 'static) {
        let _ = self.before_wake.set(Box::new(function));
    }

    /// The signal of [`wake`](Self::wake). It does not keep the store open.
    pub fn signal(&self) -> &Arc<Notify> {
        &self.signal
    }

    pub(crate) fn has_separate_indexes(&self) -> bool {
        self.has_separate_indexes
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
