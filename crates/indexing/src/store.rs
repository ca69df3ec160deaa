//! The stores of an engine: records, and the indexes derived from them.
//!
//! Reasons: `docs/design/decisions/0039-indexed-store-for-all-writes.md`.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use jiff::tz::TimeZone;
use memory_engine_core::{
    Clock, Field, Filter, JobQueue, Op, Order, Page, Record, RecordId, RecordStore, Result, ScanQuery, Scope, Timestamp,
};
use memory_engine_graph::GraphStore;
use memory_engine_keyword_store::{Analyzer, KeywordStore};
use memory_engine_screening::{Screener, ScreeningPolicy};
use memory_engine_vector_store::VectorStore;
use tokio::sync::{Mutex, Notify};

use crate::{
    analysis::Analysis,
    audit::{AuditedRecordStore, Auditor},
    embedding::EmbeddingBackends,
    gate::{Gate, GatedStore},
    kept_out::KeptOutCache,
    readable::get_readable,
    repetitions::RepetitionCache,
    retention::RetentionPolicy,
};

const SCAN_PAGE_ROWS: usize = 500;

/// The stores of an [`IndexedStore`]. One object may implement several of them.
#[derive(Debug, Clone)]
pub struct StoreSet {
    /// The record store.
    pub records: Arc<dyn RecordStore>,
    /// The job queue of the record store.
    pub jobs: Arc<dyn JobQueue>,
    /// The keyword store.
    pub keywords: Arc<dyn KeywordStore>,
    /// The vector store of the engine's embedder.
    pub vectors: Arc<dyn VectorStore>,
    /// The graph store.
    pub graph: Arc<dyn GraphStore>,
}

impl StoreSet {
    /// Returns true if the keyword or vector store is separate from the record store, so that a transaction of the
    /// record store does not cover it.
    fn has_separate_indexes(&self) -> bool {
        let records = Arc::as_ptr(&self.records);
        !std::ptr::addr_eq(records, Arc::as_ptr(&self.keywords))
            || !std::ptr::addr_eq(records, Arc::as_ptr(&self.vectors))
    }

    /// Puts each store behind the gate.
    fn behind_gate(self, gate: &Arc<Gate>) -> Self {
        Self {
            records: Arc::new(GatedStore::new(self.records, gate)),
            jobs: Arc::new(GatedStore::new(self.jobs, gate)),
            keywords: Arc::new(GatedStore::new(self.keywords, gate)),
            vectors: Arc::new(GatedStore::new(self.vectors, gate)),
            graph: Arc::new(GatedStore::new(self.graph, gate)),
        }
    }
}

/// Records together with the indexes derived from them. A write updates every index, at once or by a queued job. A
/// deletion removes the entries of every index.
pub struct IndexedStore {
    stores: StoreSet,
    has_separate_indexes: bool,
    gate: Arc<Gate>,
    auditor: Option<Arc<Auditor>>,
    screener: Option<Arc<Screener>>,
    kept_out: KeptOutCache,
    repetitions: RepetitionCache,
    closing: Mutex<()>,
    embedding: EmbeddingBackends,
    analysis: Analysis,
    retention: RetentionPolicy,
    clock: Arc<dyn Clock>,
    /// Wakes the worker when jobs were queued.
    signal: Arc<Notify>,
    /// Called before each signal.
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
            stores: stores.behind_gate(&gate),
            embedding: embedding.behind_gate(&gate),
            gate,
            auditor: None,
            screener: None,
            kept_out: KeptOutCache::default(),
            repetitions: RepetitionCache::default(),
            closing: Mutex::new(()),
            analysis: Analysis::new(analyzer),
            retention: RetentionPolicy::default(),
            clock,
            signal: Arc::new(Notify::new()),
            before_wake: OnceLock::new(),
        }
    }

    /// Screens the records of later writes. Without a screener, records are stored as they are.
    #[must_use]
    pub fn with_screening(mut self, policy: ScreeningPolicy) -> Self {
        self.screener = (!policy.is_off()).then(|| Arc::new(Screener::new(policy)));
        self
    }

    /// Sets the time zone of records without a zone of their own. Default: UTC.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.analysis = self.analysis.with_zone(zone);
        self
    }

    /// Returns the screener, if records are screened.
    pub fn screener(&self) -> Option<&Arc<Screener>> {
        self.screener.as_ref()
    }

    pub(crate) fn kept_out_cache(&self) -> &KeptOutCache {
        &self.kept_out
    }

    pub(crate) fn repetition_cache(&self) -> &RepetitionCache {
        &self.repetitions
    }

    /// Logs every change of a record before it is made. Without an auditor, changes are not logged.
    #[must_use]
    pub fn with_auditor(mut self, auditor: Arc<Auditor>) -> Self {
        self.stores.records = Arc::new(AuditedRecordStore::new(Arc::clone(&self.stores.records), Arc::clone(&auditor)));
        self.auditor = Some(auditor);
        self
    }

    /// Returns the auditor, if changes are logged.
    pub fn auditor(&self) -> Option<&Arc<Auditor>> {
        self.auditor.as_ref()
    }

    /// Sets the times to live of new records. Default: none.
    #[must_use]
    pub fn with_retention(mut self, retention: RetentionPolicy) -> Self {
        self.retention = retention;
        self
    }

    /// Returns the times to live of new records.
    pub fn retention(&self) -> &RetentionPolicy {
        &self.retention
    }

    /// Blocks all later calls and closes the record store. A running call completes, or fails with `Closed`.
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

    /// Returns the record store.
    pub fn records(&self) -> &Arc<dyn RecordStore> {
        &self.stores.records
    }

    /// Returns the keyword store.
    pub fn keywords(&self) -> &Arc<dyn KeywordStore> {
        &self.stores.keywords
    }

    /// Returns the vector store that is searched.
    pub fn vectors(&self) -> &Arc<dyn VectorStore> {
        &self.embedding.serving().vectors
    }

    /// Returns the graph store.
    pub fn graph(&self) -> &Arc<dyn GraphStore> {
        &self.stores.graph
    }

    /// Returns the embedding backends.
    pub fn embedding(&self) -> &EmbeddingBackends {
        &self.embedding
    }

    /// Returns the analyzer of records and queries.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// Returns the clock of all timestamps.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns the job queue.
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

    /// Returns the signal of [`wake`](Self::wake). Holding it does not keep the store alive.
    pub fn signal(&self) -> &Arc<Notify> {
        &self.signal
    }

    /// Returns true if the keyword index or the vectors are outside of the database of the records.
    pub fn has_separate_indexes(&self) -> bool {
        self.has_separate_indexes
    }

    /// Returns the record with this id if it is within `scope`.
    ///
    /// # Errors
    /// The store's error; `Corrupt` if the record [cannot be read](memory_engine_core::DamagedRecord).
    pub async fn get(&self, scope: &Scope, id: RecordId) -> Result<Option<Record>> {
        Ok(self.stores.records.get(scope, &[id]).await?.pop().flatten())
    }

    /// Returns the record with this id if it is within `scope` and has not expired.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn get_one_unexpired(&self, scope: &Scope, id: RecordId) -> Result<Option<Record>> {
        let now = self.clock.now();
        Ok(self.get(scope, id).await?.filter(|record| !record.is_expired(now)))
    }

    /// Returns the records with these ids, in the same order; `None` for an id that is not within `scope`, and for a
    /// record that cannot be read.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_all(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        Ok(get_readable(self.stores.records.as_ref(), scope, ids).await?.0)
    }

    /// Returns the stored records within `scope` that were derived from these.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Record>> {
        let derived = self.stores.records.derived(scope, ids).await?;
        Ok(self.get_all(scope, &derived).await?.into_iter().flatten().collect())
    }

    /// Returns a page of records in the order of their positions.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.stores.records.scan(scope, query).await
    }

    /// As [`get_all`](Self::get_all), with `None` for a record that has expired.
    ///
    /// # Errors
    /// The store's error.
    pub async fn get_unexpired(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        let now = self.clock.now();
        let records = self.get_all(scope, ids).await?;
        Ok(records.into_iter().map(|record| record.filter(|record| !record.is_expired(now))).collect())
    }

    /// As [`scan`](Self::scan), without records that have expired. A page can have fewer records than the limit
    /// although another page follows.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan_unexpired(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        let now = self.clock.now();
        // A total needs the condition in the store; a page is cheaper without it. Expired records are rare, because the
        // worker deletes them.
        if query.counted && !self.stores.records.expired(now, 1).await?.is_empty() {
            return self.scan(scope, &query.clone().with_filter(unexpired(query.filter.clone(), now))).await;
        }
        let mut page = self.scan(scope, query).await?;
        page.records.retain(|record| !record.is_expired(now));
        Ok(page)
    }

    /// Returns all records that match `filter`, read page by page.
    ///
    /// # Errors
    /// The store's error.
    pub async fn scan_all(&self, scope: &Scope, filter: Filter, order: Order) -> Result<Vec<Record>> {
        let mut query = ScanQuery::oldest(SCAN_PAGE_ROWS).with_filter(filter);
        query.order = order;
        let mut records = Vec::new();
        let mut pages = self.pages(scope, query);
        while let Some(page) = pages.next().await? {
            records.extend(page.records);
        }
        Ok(records)
    }
}

/// Returns the filter for records that match `filter` and have not expired at `now`.
fn unexpired(filter: Option<Filter>, now: Timestamp) -> Filter {
    let is_due = Filter::compare(Field::ExpiresAt, Op::Le, now).and(Filter::eq(Field::Pinned, false));
    let unexpired = Filter::Not(Box::new(is_due));
    filter.map_or(unexpired.clone(), |filter| filter.and(unexpired))
}
