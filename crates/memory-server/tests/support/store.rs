//! A store that counts its calls and can be made to fail.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine::{
    Error, ErrorKind, Job, MemoryEngine, Page, Record, RecordId, Result, ScanQuery, Scope, Stats, Timestamp,
    WriteResult,
    admin::Failure,
    embed::{DefaultEmbedder, Embedder},
    history::Tombstone,
    store::{JobQueue, MemoryRecordStore, RecordStore, Stores},
};
use memory_engine_core::{Adjacent, DeletionReport, Done, Pending, PeriodCount, Periods, RecordGroup, Write};
use parking_lot::Mutex;
use std::sync::Arc;

/// The failure of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WriteFailure {
    Unavailable,
    Panic,
}

/// A store in memory that counts its calls.
#[derive(Debug, Default)]
pub(crate) struct WatchedStore {
    inner: MemoryRecordStore,
    /// A word, and the failure of writes whose text contains it.
    pub(crate) write_failure: Mutex<Option<(&'static str, WriteFailure)>>,
    calls: Mutex<BTreeMap<&'static str, usize>>,
    /// Number of records that scans have read.
    pub(crate) scanned: AtomicUsize,
}

impl WatchedStore {
    /// Returns the number of calls of this name.
    pub(crate) fn calls(&self, name: &str) -> usize {
        self.calls.lock().get(name).copied().unwrap_or(0)
    }

    fn count(&self, name: &'static str) {
        *self.calls.lock().entry(name).or_default() += 1;
    }

    /// Builds an engine with this store and without background work.
    pub(crate) async fn engine(self: &Arc<Self>) -> MemoryEngine {
        let space = DefaultEmbedder::default().space().clone();
        let stores = Stores { records: self.clone(), jobs: self.clone(), ..Stores::in_memory(space) };
        MemoryEngine::builder().stores(stores).background(false).build().await.unwrap()
    }
}

macro_rules! watched {
    (
        records { $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)* }
        jobs { $($job_name:ident($($job_argument:ident: $job_type:ty),*) -> $job_answer:ty;)* }
    ) => {
        #[async_trait]
        impl RecordStore for WatchedStore {
            async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
                self.count("put");
                let write_failure = *self.write_failure.lock();
                if let Some((word, failure)) = write_failure
                    && writes.iter().any(|write| write.record.text.contains(word))
                {
                    match failure {
                        WriteFailure::Unavailable => {
                            return Err(Error::new(ErrorKind::Unavailable, "put", "the store is unavailable"));
                        }
                        WriteFailure::Panic => panic!("the store is broken"),
                    }
                }
                self.inner.put(scope, writes).await
            }

            async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
                self.count("scan");
                let page = self.inner.scan(scope, query).await?;
                self.scanned.fetch_add(page.records.len(), Ordering::Relaxed);
                Ok(page)
            }

            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer> {
                self.count(stringify!($name));
                self.inner.$name($($argument),*).await
            })*
        }

        #[async_trait]
        impl JobQueue for WatchedStore {
            $(async fn $job_name(&self, $($job_argument: $job_type),*) -> Result<$job_answer> {
                self.count(stringify!($job_name));
                self.inner.$job_name($($job_argument),*).await
            })*
        }
    };
}

watched! {
    records {
        get(scope: &Scope, ids: &[RecordId]) -> Vec<Option<Record>>;
        delete(scope: &Scope, ids: &[RecordId]) -> DeletionReport;
        derived(scope: &Scope, ids: &[RecordId]) -> Vec<RecordId>;
        adjacent(scope: &Scope, ids: &[RecordId]) -> Vec<Adjacent>;
        record_groups(scope: &Scope) -> Vec<RecordGroup>;
        period_counts(scope: &Scope, periods: Periods) -> Vec<PeriodCount>;
        stats(scope: &Scope) -> Stats;
        tombstones(scope: &Scope, after: Option<RecordId>, limit: usize) -> Vec<Tombstone>;
        import_tombstones(scope: &Scope, tombstones: &[Tombstone]) -> u64;
        expired(now: Timestamp, limit: usize) -> Vec<(Scope, RecordId)>;
        remove_tombstones(scope: &Scope, ids: &[RecordId]) -> u64;
    }
    jobs {
        claim(job: Job, limit: usize, lease: Duration) -> Vec<Pending>;
        extend_lease(pending: &[Pending], lease: Duration) -> ();
        complete(done: &[Done]) -> Vec<bool>;
        fail(failures: &[Failure]) -> ();
        failures(scope: &Scope, limit: usize) -> Vec<Failure>;
        enqueue(scope: &Scope, ids: &[RecordId], job: Job) -> u64;
        requeue(scope: &Scope, job: Job) -> u64;
    }
}
