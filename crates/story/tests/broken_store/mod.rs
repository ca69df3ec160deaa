//! Stores that are out of order and count who asks.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Done, EmbeddingSpace, Error, ErrorKind, Failure, Hit, Job, JobQueue, Page, Pending,
    Record, RecordId, RecordStore, RemovalCounts, Result, ScanQuery, Scope, Stats, Tombstone, Write, WriteResult,
};
use memory_engine_embedder::{Embedder, HashEmbedder};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_vector_store::{VectorEntry, VectorQuery, VectorStore};

/// Every store at once.
#[derive(Debug)]
pub(crate) struct BrokenStore {
    space: EmbeddingSpace,
    touched: AtomicUsize,
}

impl Default for BrokenStore {
    fn default() -> Self {
        Self { space: HashEmbedder::default().space().clone(), touched: AtomicUsize::new(0) }
    }
}

impl BrokenStore {
    /// Returns the number of calls to it.
    pub(crate) fn touched(&self) -> usize {
        self.touched.load(Ordering::SeqCst)
    }

    fn refuse<T>(&self) -> Result<T> {
        self.touched.fetch_add(1, Ordering::SeqCst);
        Err(Error::new(ErrorKind::Unavailable, "store", "it is out of order"))
    }
}

#[async_trait]
impl RecordStore for BrokenStore {
    async fn put(&self, _: &Scope, _: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.refuse()
    }
    async fn get(&self, _: &Scope, _: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.refuse()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<DeletionReport> {
        self.refuse()
    }
    async fn scan(&self, _: &Scope, _: &ScanQuery) -> Result<Page> {
        self.refuse()
    }
    async fn derived(&self, _: &Scope, _: &[RecordId]) -> Result<Vec<RecordId>> {
        self.refuse()
    }
    async fn adjacent(&self, _: &Scope, _: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.refuse()
    }
    async fn stats(&self, _: &Scope) -> Result<Stats> {
        self.refuse()
    }
    async fn tombstones(&self, _: &Scope, _: Option<RecordId>, _: usize) -> Result<Vec<Tombstone>> {
        self.refuse()
    }
    async fn import_tombstones(&self, _: &Scope, _: &[Tombstone]) -> Result<u64> {
        self.refuse()
    }
}

#[async_trait]
impl JobQueue for BrokenStore {
    async fn claim(&self, _: Job, _: usize, _: Duration) -> Result<Vec<Pending>> {
        self.refuse()
    }
    async fn extend_lease(&self, _: &[Pending], _: Duration) -> Result<()> {
        self.refuse()
    }
    async fn complete(&self, _: &[Done]) -> Result<Vec<bool>> {
        self.refuse()
    }
    async fn fail(&self, _: &[Failure]) -> Result<()> {
        self.refuse()
    }
    async fn failures(&self, _: &Scope, _: usize) -> Result<Vec<Failure>> {
        self.refuse()
    }
    async fn enqueue(&self, _: &Scope, _: &[RecordId], _: Job) -> Result<u64> {
        self.refuse()
    }
    async fn requeue(&self, _: &Scope, _: Job) -> Result<u64> {
        self.refuse()
    }
}

#[async_trait]
impl KeywordStore for BrokenStore {
    async fn upsert(&self, _: &Scope, _: &[KeywordEntry]) -> Result<()> {
        self.refuse()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<u64> {
        self.refuse()
    }
    async fn search(&self, _: &Scope, _: &KeywordQuery) -> Result<Vec<Hit>> {
        self.refuse()
    }
}

#[async_trait]
impl VectorStore for BrokenStore {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }
    async fn upsert(&self, _: &Scope, _: &[VectorEntry]) -> Result<()> {
        self.refuse()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<u64> {
        self.refuse()
    }
    async fn search(&self, _: &Scope, _: &VectorQuery) -> Result<Vec<Hit>> {
        self.refuse()
    }
}

#[async_trait]
impl GraphStore for BrokenStore {
    async fn upsert(&self, _: &Scope, _: &[GraphEntry]) -> Result<()> {
        self.refuse()
    }
    async fn delete(&self, _: &Scope, _: &[RecordId]) -> Result<RemovalCounts> {
        self.refuse()
    }
    async fn expand(&self, _: &Scope, _: &GraphQuery) -> Result<Subgraph> {
        self.refuse()
    }
    async fn stats(&self, _: &Scope) -> Result<GraphStats> {
        self.refuse()
    }
    async fn clear(&self, _: &Scope) -> Result<()> {
        self.refuse()
    }
}
