//! Refuses calls of an engine's stores after the engine was closed, and outside of a tokio runtime.

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
use memory_engine_vector_store::{
    EmbeddingVersionRole, EmbeddingVersionStore, EmbeddingVersions, VectorEntry, VectorQuery, VectorStore,
};

use crate::blocking::current_runtime;

/// Checks whether the stores of an engine may be called.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: AtomicBool,
}

impl Gate {
    /// Refuses all later calls. Calls that have begun continue.
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

/// A store whose methods are refused after its gate was closed, except `close`, `space` and the access to the audit
/// log.
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

/// Implements a store for [`GatedStore`]. A listed method calls the inner store if it may be called now; its literal
/// names the operation in the error. The methods after `also` are written out.
macro_rules! gated {
    (
        $store:ident { $($method:ident($($argument:ident: $type:ty),*) -> $value:ty, $operation:literal;)* }
        $(also { $($other:tt)* })?
    ) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl $store for GatedStore<dyn $store> {
            $(async fn $method(&self, $($argument: $type),*) -> Result<$value> {
                self.open($operation)?.$method($($argument),*).await
            })*
            $($($other)*)?
        }
    };
}

gated!(RecordStore {
    put(scope: &Scope, writes: Vec<Write>) -> Vec<WriteResult>, "put";
    get(scope: &Scope, ids: &[RecordId]) -> Vec<Option<Record>>, "get";
    delete(scope: &Scope, ids: &[RecordId]) -> DeletionReport, "delete";
    delete_unreachable(scope: &Scope) -> DeletionReport, "delete";
    raw_rows(scope: &Scope, ids: &[RecordId]) -> Vec<serde_json::Value>, "raw rows";
    scan(scope: &Scope, query: &ScanQuery) -> Page, "scan";
    derived(scope: &Scope, ids: &[RecordId]) -> Vec<RecordId>, "derived";
    adjacent(scope: &Scope, ids: &[RecordId]) -> Vec<Adjacent>, "adjacent";
    record_groups(scope: &Scope) -> Vec<RecordGroup>, "record groups";
    period_counts(scope: &Scope, periods: Periods) -> Vec<PeriodCount>, "period counts";
    stats(scope: &Scope) -> Stats, "stats";
    tombstones(scope: &Scope, after: Option<RecordId>, limit: usize) -> Vec<Tombstone>, "tombstones";
    import_tombstones(scope: &Scope, tombstones: &[Tombstone]) -> u64, "import tombstones";
    expired(now: Timestamp, limit: usize) -> Vec<(Scope, RecordId)>, "expired";
    remove_tombstones(scope: &Scope, ids: &[RecordId]) -> u64, "remove tombstones";
    find_residue(probes: &ResidueProbes) -> ResidueReport, "find residue";
} also {
    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        self.inner.audit_log()
    }
    async fn close(&self) {
        self.inner.close().await;
    }
});

gated!(JobQueue {
    claim(job: Job, limit: usize, lease: Duration) -> Vec<Pending>, "claim";
    extend_lease(pending: &[Pending], lease: Duration) -> (), "extend lease";
    release(pending: &[Pending]) -> (), "release";
    complete(done: &[Done]) -> Vec<bool>, "complete";
    fail(failures: &[Failure]) -> (), "fail";
    failures(scope: &Scope, limit: usize) -> Vec<Failure>, "failures";
    enqueue(scope: &Scope, ids: &[RecordId], job: Job) -> u64, "enqueue";
    requeue(scope: &Scope, job: Job) -> u64, "requeue";
});

gated!(KeywordStore {
    upsert(scope: &Scope, entries: &[KeywordEntry]) -> (), "keyword upsert";
    delete(scope: &Scope, ids: &[RecordId]) -> u64, "keyword delete";
    search(scope: &Scope, query: &KeywordQuery) -> Vec<Hit>, "keyword search";
    search_records(scope: &Scope, query: &KeywordQuery) -> Option<Vec<FoundRecord>>, "keyword search";
    terms(scope: &Scope, ids: &[RecordId]) -> Vec<Option<PackedTerms>>, "keyword terms";
    records_with_terms(scope: &Scope, ids: &[RecordId]) -> Option<Vec<Option<RecordWithTerms>>>, "get";
    warm_up() -> (), "warm up";
});

gated!(VectorStore {
    upsert(scope: &Scope, entries: &[VectorEntry]) -> (), "vector upsert";
    delete(scope: &Scope, ids: &[RecordId]) -> u64, "vector delete";
    search(scope: &Scope, query: &VectorQuery) -> Vec<Hit>, "vector search";
    search_records(scope: &Scope, query: &VectorQuery) -> Option<Vec<FoundRecord>>, "vector search";
    token_vectors(scope: &Scope, ids: &[RecordId]) -> Vec<Option<MultiVector>>, "token vectors";
    warm_up() -> (), "warm up";
} also {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }
    fn embedding_versions(&self) -> Option<&dyn EmbeddingVersionStore> {
        self.inner.embedding_versions().map(|_| self as &dyn EmbeddingVersionStore)
    }
});

impl GatedStore<dyn VectorStore> {
    /// Returns the store with its embedding versions if it may be called now.
    fn embedding_version_store(&self) -> Result<&dyn EmbeddingVersionStore> {
        let unsupported =
            || Error::new(ErrorKind::Unsupported, "embedding_versions", "the store has one embedding version only");
        self.open("embedding_versions")?.embedding_versions().ok_or_else(unsupported)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl EmbeddingVersionStore for GatedStore<dyn VectorStore> {
    fn in_space(&self, space: EmbeddingSpace) -> Arc<dyn VectorStore> {
        match self.inner.embedding_versions() {
            Some(store) => Arc::new(Self::new(store.in_space(space), &self.gate)),
            None => Arc::clone(&self.inner),
        }
    }
    async fn role(&self) -> Result<EmbeddingVersionRole> {
        self.embedding_version_store()?.role().await
    }
    async fn embedding_versions(&self) -> Result<EmbeddingVersions> {
        self.embedding_version_store()?.embedding_versions().await
    }
    async fn begin(&self) -> Result<u64> {
        self.embedding_version_store()?.begin().await
    }
    async fn switch(&self, max_missing: u64) -> Result<bool> {
        self.embedding_version_store()?.switch(max_missing).await
    }
    async fn drop_second(&self) -> Result<Option<String>> {
        self.embedding_version_store()?.drop_second().await
    }
}

gated!(GraphStore {
    upsert(scope: &Scope, entries: &[GraphEntry]) -> (), "graph upsert";
    delete(scope: &Scope, ids: &[RecordId]) -> RemovalCounts, "graph delete";
    expand(scope: &Scope, query: &GraphQuery) -> Subgraph, "graph";
    stats(scope: &Scope) -> GraphStats, "graph stats";
    clear(scope: &Scope) -> (), "graph clear";
});
