//! Stores whose calls all fail and are counted.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Done, EmbeddingSpace, Error, ErrorKind, Failure, Hit, Job, JobQueue, PackedTerms, Page,
    Pending, Record, RecordGroup, RecordId, RecordStore, RemovalCounts, Result, ScanQuery, Scope, Stats, Timestamp,
    Tombstone, Write, WriteResult,
};
use memory_engine_embedder::{DefaultEmbedder, Embedder};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};

/// An implementation of every store that always fails.
#[derive(Debug)]
pub(crate) struct BrokenStore {
    space: EmbeddingSpace,
    calls: AtomicUsize,
}

impl Default for BrokenStore {
    fn default() -> Self {
        Self { space: DefaultEmbedder::default().space().clone(), calls: AtomicUsize::new(0) }
    }
}

impl BrokenStore {
    /// Returns the number of calls.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn fail_call<T>(&self) -> Result<T> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Err(Error::new(ErrorKind::Unavailable, "store", "it is out of order"))
    }
}

#[async_trait]
impl RecordStore for BrokenStore {
    async fn put(&self, _: &Scope, _: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.fail_call()
    }
    async fn get(&self, _: &Scope, _: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.fail_call()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<DeletionReport> {
        self.fail_call()
    }
    async fn scan(&self, _: &Scope, _: &ScanQuery) -> Result<Page> {
        self.fail_call()
    }
    async fn derived(&self, _: &Scope, _: &[RecordId]) -> Result<Vec<RecordId>> {
        self.fail_call()
    }
    async fn adjacent(&self, _: &Scope, _: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.fail_call()
    }
    async fn record_groups(&self, _: &Scope) -> Result<Vec<RecordGroup>> {
        self.fail_call()
    }
    async fn stats(&self, _: &Scope) -> Result<Stats> {
        self.fail_call()
    }
    async fn tombstones(&self, _: &Scope, _: Option<RecordId>, _: usize) -> Result<Vec<Tombstone>> {
        self.fail_call()
    }
    async fn import_tombstones(&self, _: &Scope, _: &[Tombstone]) -> Result<u64> {
        self.fail_call()
    }

    async fn expired(&self, _: Timestamp, _: usize) -> Result<Vec<(Scope, RecordId)>> {
        self.fail_call()
    }

    async fn remove_tombstones(&self, _: &Scope, _: &[RecordId]) -> Result<u64> {
        self.fail_call()
    }
}

#[async_trait]
impl JobQueue for BrokenStore {
    async fn claim(&self, _: Job, _: usize, _: Duration) -> Result<Vec<Pending>> {
        self.fail_call()
    }
    async fn extend_lease(&self, _: &[Pending], _: Duration) -> Result<()> {
        self.fail_call()
    }
    async fn complete(&self, _: &[Done]) -> Result<Vec<bool>> {
        self.fail_call()
    }
    async fn fail(&self, _: &[Failure]) -> Result<()> {
        self.fail_call()
    }
    async fn failures(&self, _: &Scope, _: usize) -> Result<Vec<Failure>> {
        self.fail_call()
    }
    async fn enqueue(&self, _: &Scope, _: &[RecordId], _: Job) -> Result<u64> {
        self.fail_call()
    }
    async fn requeue(&self, _: &Scope, _: Job) -> Result<u64> {
        self.fail_call()
    }
}

#[async_trait]
impl KeywordStore for BrokenStore {
    async fn upsert(&self, _: &Scope, _: &[KeywordEntry]) -> Result<()> {
        self.fail_call()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<u64> {
        self.fail_call()
    }
    async fn search(&self, _: &Scope, _: &KeywordQuery) -> Result<Vec<Hit>> {
        self.fail_call()
    }
    async fn terms(&self, _: &Scope, _: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        self.fail_call()
    }
}

#[async_trait]
impl VectorStore for BrokenStore {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }
    async fn upsert(&self, _: &Scope, _: &[VectorEntry]) -> Result<()> {
        self.fail_call()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<u64> {
        self.fail_call()
    }
    async fn search(&self, _: &Scope, _: &VectorQuery) -> Result<Vec<Hit>> {
        self.fail_call()
    }
}

#[async_trait]
impl GraphStore for BrokenStore {
    async fn upsert(&self, _: &Scope, _: &[GraphEntry]) -> Result<()> {
        self.fail_call()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<RemovalCounts> {
        self.fail_call()
    }
    async fn expand(&self, _: &Scope, _: &GraphQuery) -> Result<Subgraph> {
        self.fail_call()
    }
    async fn stats(&self, _: &Scope) -> Result<GraphStats> {
        self.fail_call()
    }
    async fn clear(&self, _: &Scope) -> Result<()> {
        self.fail_call()
    }
}
