//! The background jobs of an engine, combined.

use std::sync::Arc;

use memory_engine_core::{Job, Locale, Record, RemovalCounts, Result, ReviewPolicy};
use memory_engine_graph::GraphExtractor;
use memory_engine_indexing::IndexedStore;

use crate::{
    expiry::ExpiredRecords,
    graph_indexer::GraphIndexer,
    handler::JobHandler,
    jobs::{embeddings::EmbeddingJob, graph::GraphJob, keywords::KeywordJob},
    turn_jobs::{EnrichmentOptions, TurnJobs},
    worker::Worker,
};

/// The background jobs of one engine, with their worker and direct calls.
#[derive(Debug)]
pub struct Enrichment {
    store: Arc<IndexedStore>,
    turns: Arc<TurnJobs>,
    expired: ExpiredRecords,
    graph: GraphIndexer,
    /// The jobs of turns, other than indexing.
    jobs: Vec<Job>,
    worker: Arc<Worker>,
}

impl Enrichment {
    /// Combines a store with the jobs of `options` and with a graph extractor. No job runs before [`Worker::spawn`] or
    /// [`Worker::drain`]. Jobs use the time zone and language of `locale` unless their own options set others. Records
    /// that `review` lets wait are stored as pending.
    pub fn new(
        store: Arc<IndexedStore>,
        options: EnrichmentOptions,
        extractor: Option<Arc<dyn GraphExtractor>>,
        locale: Locale,
        review: ReviewPolicy,
    ) -> Self {
        let graph = GraphIndexer::new(Arc::clone(&store), extractor);
        let mut turn_jobs: Vec<Arc<dyn JobHandler>> = Vec::new();
        if graph.extractor().is_some() {
            turn_jobs.push(Arc::new(GraphJob { indexer: graph.clone() }));
        }
        let (turns, more_jobs) = TurnJobs::new(&store, options, locale, review);
        let turns = Arc::new(turns);
        let expired = ExpiredRecords { store: Arc::clone(&store), turns: Arc::clone(&turns) };
        turn_jobs.extend(more_jobs);
        let jobs = turn_jobs.iter().map(|handler| handler.job()).collect();
        let embedding = |job| EmbeddingJob { store: Arc::clone(&store), job };
        let mut handlers: Vec<Arc<dyn JobHandler>> =
            vec![Arc::new(KeywordJob { store: Arc::clone(&store) }), Arc::new(embedding(Job::Embedding))];
        handlers.extend(turn_jobs);
        // Last, because callers do not wait for the vectors of a later cut-over.
        handlers.push(Arc::new(embedding(Job::Reembedding)));
        let worker = Arc::new(Worker::new(Arc::clone(&store), handlers, expired.clone()));
        Self { store, turns, expired, graph, jobs, worker }
    }

    /// Returns the worker that does the jobs.
    pub fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    /// Returns the jobs that derive facts, summaries and profiles from turns.
    pub fn turns(&self) -> &TurnJobs {
        &self.turns
    }

    /// Deletes the records of all tenants that have expired by now, with everything that is derived from them. The
    /// background does so at least every 30 s. Returns the numbers of removed items.
    ///
    /// # Errors
    /// The stores' errors. What was deleted before stays deleted.
    pub async fn delete_expired(&self) -> Result<RemovalCounts> {
        self.expired.delete().await
    }

    /// Returns the extraction of entities and relations.
    pub fn graph(&self) -> &GraphIndexer {
        &self.graph
    }

    /// Returns true if this engine does this job for turns.
    pub fn does(&self, job: Job) -> bool {
        self.jobs.contains(&job)
    }

    /// Returns the jobs to queue with a record, other than indexing. Only messages have any.
    pub fn jobs_for(&self, record: &Record) -> Vec<Job> {
        if record.is_said() { self.jobs.clone() } else { Vec::new() }
    }

    pub(crate) fn jobs_of_turns(&self) -> &[Job] {
        &self.jobs
    }

    pub(crate) fn store(&self) -> &Arc<IndexedStore> {
        &self.store
    }
}
