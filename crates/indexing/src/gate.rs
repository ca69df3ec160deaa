//! Blocks calls of an engine's stores after the engine was closed, and outside of a tokio runtime.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Done, EmbeddingSpace, Error, ErrorKind, Failure, FoundRecord, Hit, Job, JobQueue,
    MultiVector, PackedTerms, Page, Pending, PeriodCount, Periods, Record, RecordGroup, RecordId, RecordStore,
    RecordWithTerms, RemovalCounts, Result, ScanQuery, Scope, Stats, Timestamp, Tombstone, Write, WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_vector_store::{GenerationRole, GenerationStore, Generations, VectorEntry, VectorQuery, VectorStore};

use crate::blocking::current_runtime;

/// Checks whether the stores of an engine may be called.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: AtomicBool,
}

impl Gate {
    /// Blocks all later calls.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Checks that the stores may be called now.
    ///
    /// # Errors
    /// `Closed` after [`close`](Self::close); `Unsupported` outside of a tokio runtime.
    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        if self.is_closed() {
            return Err(Error::new(ErrorKind::Closed, operation, "the engine is closed; build it again"));
        }
        current_runtime(operation).map(drop)
    }
}

/// A store that can be called only while its gate is open.
pub(crate) struct GatedStore<S: ?Sized> {
    inner: Arc<S>,
    gate: Arc<Gate>,
}

impl<S: ?Sized> GatedStore<S> {
    pub(crate) fn new(inner: Arc<S>, gate: &Arc<Gate>) -> Self {
        Self { inner, gate: Arc::clone(gate) }
    }

    /// Returns the store if it may be called now.
    fn open(&self, operation: &'static str) -> Result<&S> {
        self.gate.check(operation)?;
        Ok(&self.inner)
    }
}

impl<S: fmt::Debug + ?Sized> fmt::Debug for GatedStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl RecordStore for GatedStore<dyn RecordStore> {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.open("put")?.put(scope, writes).await
    }
    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.open("get")?.get(scope, ids).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        self.open("delete")?.delete(scope, ids).await
    }
    async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
        self.open("delete")?.delete_unreachable(scope).await
    }
    async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        self.open("raw rows")?.raw_rows(scope, ids).await
    }
    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.open("scan")?.scan(scope, query).await
    }
    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        self.open("derived")?.derived(scope, ids).await
    }
    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.open("adjacent")?.adjacent(scope, ids).await
    }
    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        self.open("record groups")?.record_groups(scope).await
    }
    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        self.open("period counts")?.period_counts(scope, periods).await
    }
    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        self.open("stats")?.stats(scope).await
    }
    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.open("tombstones")?.tombstones(scope, after, limit).await
    }
    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        self.open("import tombstones")?.import_tombstones(scope, tombstones).await
    }
    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        self.open("expired")?.expired(now, limit).await
    }
    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        self.open("remove tombstones")?.remove_tombstones(scope, ids).await
    }
    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        self.open("find residue")?.find_residue(probes).await
    }
    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        self.inner.audit_log()
    }
    async fn close(&self) {
        self.inner.close().await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl JobQueue for GatedStore<dyn JobQueue> {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        self.open("claim")?.claim(job, limit, lease).await
    }
    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        self.open("extend lease")?.extend_lease(pending, lease).await
    }
    async fn release(&self, pending: &[Pending]) -> Result<()> {
        self.open("release")?.release(pending).await
    }
    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        self.open("complete")?.complete(done).await
    }
    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        self.open("fail")?.fail(failures).await
    }
    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.open("failures")?.failures(scope, limit).await
    }
    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        self.open("enqueue")?.enqueue(scope, ids, job).await
    }
    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        self.open("requeue")?.requeue(scope, job).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl KeywordStore for GatedStore<dyn KeywordStore> {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        self.open("keyword upsert")?.upsert(scope, entries).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        self.open("keyword delete")?.delete(scope, ids).await
    }
    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        self.open("keyword search")?.search(scope, query).await
    }
    async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
        self.open("keyword search")?.search_records(scope, query).await
    }
    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        self.open("keyword terms")?.terms(scope, ids).await
    }
    async fn records_with_terms(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        self.open("get")?.records_with_terms(scope, ids).await
    }
    async fn warm_up(&self) -> Result<()> {
        self.open("warm up")?.warm_up().await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl VectorStore for GatedStore<dyn VectorStore> {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }
    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        self.open("vector upsert")?.upsert(scope, entries).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        self.open("vector delete")?.delete(scope, ids).await
    }
    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        self.open("vector search")?.search(scope, query).await
    }
    async fn search_records(&self, scope: &Scope, query: &VectorQuery) -> Result<Option<Vec<FoundRecord>>> {
        self.open("vector search")?.search_records(scope, query).await
    }
    async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        self.open("token vectors")?.token_vectors(scope, ids).await
    }
    async fn warm_up(&self) -> Result<()> {
        self.open("warm up")?.warm_up().await
    }
    fn generations(&self) -> Option<&dyn GenerationStore> {
        self.inner.generations().map(|_| self as &dyn GenerationStore)
    }
}

impl GatedStore<dyn VectorStore> {
    /// Returns the store with its generations if it may be called now.
    fn generation_store(&self) -> Result<&dyn GenerationStore> {
        let unsupported = || Error::new(ErrorKind::Unsupported, "generations", "the store has one generation only");
        self.open("generations")?.generations().ok_or_else(unsupported)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl GenerationStore for GatedStore<dyn VectorStore> {
    fn in_space(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore> {
        match self.inner.generations() {
            Some(store) => Arc::new(Self::new(store.in_space(space), &self.gate)),
            None => Arc::clone(&self.inner),
        }
    }
    async fn role(&self) -> Result<GenerationRole> {
        self.generation_store()?.role().await
    }
    async fn generations(&self) -> Result<Generations> {
        self.generation_store()?.generations().await
    }
    async fn begin(&self) -> Result<u64> {
        self.generation_store()?.begin().await
    }
    async fn switch(&self, max_missing: u64) -> Result<bool> {
        self.generation_store()?.switch(max_missing).await
    }
    async fn drop_second(&self) -> Result<Option<String>> {
        self.generation_store()?.drop_second().await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl GraphStore for GatedStore<dyn GraphStore> {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        self.open("graph upsert")?.upsert(scope, entries).await
    }
    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        self.open("graph delete")?.delete(scope, ids).await
    }
    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        self.open("graph")?.expand(scope, query).await
    }
    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        self.open("graph stats")?.stats(scope).await
    }
    async fn clear(&self, scope: &Scope) -> Result<()> {
        self.open("graph clear")?.clear(scope).await
    }
}
