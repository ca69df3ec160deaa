//! The background jobs of an engine, combined.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use memory_engine_core::{
    Error, ErrorKind, Field, Filter, Job, Kind, Locale, Record, RecordId, Result, ScanQuery, Scope, State,
};
use memory_engine_graph::GraphExtractor;
use memory_engine_indexing::IndexedStore;
use memory_engine_summarizer::{FactExtractor, is_said};

use crate::{
    fact_book::FactBook,
    graph_indexer::GraphIndexer,
    handler::JobHandler,
    jobs::{
        chunks::ChunkJob,
        embeddings::EmbeddingJob,
        facts::FactJob,
        graph::GraphJob,
        keywords::KeywordJob,
        metadata::MetadataJob,
        profile::{ProfileJob, is_written_here},
        summaries::SummaryJob,
    },
    options::EnrichmentOptions,
    worker::Worker,
};

const SCAN_PAGE_ROWS: usize = 500;

/// The background jobs of one engine: their worker, and what can be asked of them directly.
#[derive(Debug)]
pub struct Enrichment {
    store: Arc<IndexedStore>,
    facts: FactBook,
    fact_extractor: Option<Arc<dyn FactExtractor>>,
    summaries: Option<Arc<SummaryJob>>,
    profiles: Option<Arc<ProfileJob>>,
    graph: GraphIndexer,
    /// The jobs of turns, other than indexing.
    jobs: Vec<Job>,
    worker: Arc<Worker>,
}

impl Enrichment {
    /// Combines a store with the jobs of `options` and with a graph extractor. No job runs before [`Worker::spawn`] or
    /// [`Worker::drain`]. Jobs read days in the zone of `locale`, and write in its language, unless their own options say
    /// otherwise.
    pub fn new(
        store: Arc<IndexedStore>,
        options: EnrichmentOptions,
        extractor: Option<Arc<dyn GraphExtractor>>,
        locale: Locale,
    ) -> Self {
        let facts = FactBook::new(Arc::clone(&store), locale.clone());
        let fact_extractor = options.facts;
        let graph = GraphIndexer::new(Arc::clone(&store), extractor);
        let summaries = options.summarizer.map(|summarizer| {
            let request = options.request.with_defaults(&locale);
            Arc::new(SummaryJob { store: Arc::clone(&store), summarizer, trigger: options.trigger, request })
        });
        let profiles = options.profile_every.map(|every| {
            let (store, facts, writer) = (Arc::clone(&store), facts.clone(), options.profile_writer);
            Arc::new(ProfileJob { store, facts, writer, every, locale })
        });
        let mut turn_jobs: Vec<Arc<dyn JobHandler>> = Vec::new();
        if graph.extractor().is_some() {
            turn_jobs.push(Arc::new(GraphJob { indexer: graph.clone() }));
        }
        if let Some(chunker) = options.chunker {
            turn_jobs.push(Arc::new(ChunkJob { store: Arc::clone(&store), chunker }));
        }
        if let Some(extractor) = options.metadata {
            turn_jobs.push(Arc::new(MetadataJob { store: Arc::clone(&store), extractor }));
        }
        if let Some(extractor) = fact_extractor.clone() {
            turn_jobs.push(Arc::new(FactJob { facts: facts.clone(), extractor }));
        }
        turn_jobs.extend(summaries.clone().map(|job| job as Arc<dyn JobHandler>));
        turn_jobs.extend(profiles.clone().map(|job| job as Arc<dyn JobHandler>));
        let jobs = turn_jobs.iter().map(|handler| handler.job()).collect();
        let embedding = |job| EmbeddingJob { store: Arc::clone(&store), job };
        let mut handlers: Vec<Arc<dyn JobHandler>> =
            vec![Arc::new(KeywordJob { store: Arc::clone(&store) }), Arc::new(embedding(Job::Embedding))];
        handlers.extend(turn_jobs);
        // Last: what callers wait for comes before what is done for a later cut-over.
        handlers.push(Arc::new(embedding(Job::Reembedding)));
        let worker = Arc::new(Worker::new(Arc::clone(&store), handlers));
        Self { store, facts, fact_extractor, summaries, profiles, graph, jobs, worker }
    }

    /// The worker that does the jobs.
    pub fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    /// The facts.
    pub fn facts(&self) -> &FactBook {
        &self.facts
    }

    /// The extraction of entities and relations.
    pub fn graph(&self) -> &GraphIndexer {
        &self.graph
    }

    /// Returns true if this engine does this job for turns.
    pub fn does(&self, job: Job) -> bool {
        self.jobs.contains(&job)
    }

    /// Returns the jobs to queue with a record, other than indexing.
    pub fn jobs_for(&self, record: &Record) -> Vec<Job> {
        if is_said(record) { self.jobs.clone() } else { Vec::new() }
    }

    pub(crate) fn store(&self) -> &Arc<IndexedStore> {
        &self.store
    }

    pub(crate) fn fact_extractor(&self) -> Option<&dyn FactExtractor> {
        self.fact_extractor.as_deref()
    }

    /// Queues every turn within `scope` for all jobs as if it were new. Returns the number of turns. Facts that are known
    /// are not added twice.
    ///
    /// # Errors
    /// `Unsupported` if this engine has no jobs for turns; the store's error.
    pub async fn requeue_enrichment(&self, scope: &Scope) -> Result<u64> {
        if self.jobs.is_empty() {
            let message = "this engine makes nothing of turns; build it with a digest or a graph";
            return Err(Error::new(ErrorKind::Unsupported, "requeue_enrichment", message));
        }
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let mut scan = ScanQuery::oldest(SCAN_PAGE_ROWS).with_filter(turns);
        let mut count = 0;
        loop {
            let page = self.store.scan(scope, &scan).await?;
            // Conversation by conversation, so that turns of one batch belong together.
            let mut conversations: BTreeMap<&Scope, Vec<RecordId>> = BTreeMap::new();
            for record in page.records.iter().filter(|record| is_said(record)) {
                conversations.entry(&record.scope).or_default().push(record.id);
            }
            for (address, ids) in conversations {
                for job in &self.jobs {
                    self.store.queue().enqueue(address, &ids, *job).await?;
                }
                count += ids.len() as u64;
            }
            match page.next {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        self.store.wake();
        Ok(count)
    }

    /// Summarizes the turns at the end of a conversation that wait for a summary. Returns the number of summaries. Turns
    /// farther back are left to the background.
    ///
    /// # Errors
    /// `Unsupported` if the engine makes no summaries; the store's error.
    pub async fn summarize_now(&self, address: &Scope) -> Result<usize> {
        let message = "this engine makes no summaries; build it with a digest that does";
        let unsupported = || Error::new(ErrorKind::Unsupported, "summarize", message);
        self.summaries.as_ref().ok_or_else(unsupported)?.summarize_now(address).await
    }

    /// Returns true if a record is a profile that this engine writes.
    pub fn writes_profile(&self, record: &Record) -> bool {
        self.profiles.is_some() && is_written_here(record)
    }

    /// Returns the people whose profiles were made from these records, if this engine writes profiles.
    ///
    /// # Errors
    /// The store's error.
    pub async fn profiles_among(&self, scope: &Scope, ids: &[RecordId]) -> Result<BTreeSet<Scope>> {
        match &self.profiles {
            Some(profiles) => profiles.people_among(scope, ids).await,
            None => Ok(BTreeSet::new()),
        }
    }

    /// Queues the profiles of these people to be written again.
    ///
    /// # Errors
    /// The store's error.
    pub async fn renew_profiles(&self, people: &BTreeSet<Scope>) -> Result<()> {
        if let Some(profiles) = &self.profiles {
            profiles.renew(people).await?;
        }
        self.store.wake();
        Ok(())
    }
}
