//! The jobs that derive facts, summaries and profiles from turns, combined.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use memory_engine_core::{
    Error, ErrorKind, Kind, Locale, PutMode, Record, RecordId, Result, ReviewMode, ReviewPolicy, ReviewSource, Scope,
    Write,
};
use memory_engine_indexing::IndexedStore;
use memory_engine_summarizer::{FactExtractor, SummaryRequest};

use crate::{
    fact_book::{FactBook, person},
    handler::JobHandler,
    jobs::{
        chunks::ChunkJob,
        facts::FactJob,
        metadata::MetadataJob,
        profile::{ProfileJob, active_profiles, is_written_here, superseding_writes},
        summaries::SummaryJob,
    },
};

pub use crate::options::EnrichmentOptions;

/// The jobs that derive facts, summaries and profiles from turns, and their direct calls.
#[derive(Debug)]
pub struct TurnJobs {
    store: Arc<IndexedStore>,
    facts: FactBook,
    fact_extractor: Option<Arc<dyn FactExtractor>>,
    summaries: Option<Arc<SummaryJob>>,
    profiles: Option<Arc<ProfileJob>>,
}

impl TurnJobs {
    /// Creates the jobs, and their handlers in the order in which they run.
    pub(crate) fn new(
        store: &Arc<IndexedStore>,
        options: EnrichmentOptions,
        locale: Locale,
        review: ReviewPolicy,
    ) -> (Self, Vec<Arc<dyn JobHandler>>) {
        let facts = FactBook::new(Arc::clone(store), locale.clone(), review);
        // A job whose results are all rejected does not run.
        let is_stored = |source| review.mode(source) != ReviewMode::Reject;
        let summarizer = options.summarizer.filter(|_| is_stored(ReviewSource::Summaries));
        let summaries = summarizer.map(|summarizer| {
            let request = SummaryRequest::default().with_defaults(&locale);
            Arc::new(SummaryJob { store: Arc::clone(store), summarizer, trigger: options.trigger, request, review })
        });
        let profiles = options.profile_every.filter(|_| is_stored(ReviewSource::Profiles)).map(|every| {
            let writer = options.profile_writer;
            Arc::new(ProfileJob { store: Arc::clone(store), facts: facts.clone(), writer, every, locale, review })
        });
        let stores_facts = is_stored(ReviewSource::RuleFacts) || is_stored(ReviewSource::ModelFacts);
        let mut handlers: Vec<Arc<dyn JobHandler>> = Vec::new();
        if let Some(chunker) = options.chunker {
            handlers.push(Arc::new(ChunkJob { store: Arc::clone(store), chunker }));
        }
        if let Some(extractor) = options.metadata {
            handlers.push(Arc::new(MetadataJob { store: Arc::clone(store), extractor }));
        }
        if let Some(extractor) = options.facts.clone().filter(|_| stores_facts) {
            handlers.push(Arc::new(FactJob { facts: facts.clone(), extractor }));
        }
        handlers.extend(summaries.clone().map(|job| job as Arc<dyn JobHandler>));
        handlers.extend(profiles.clone().map(|job| job as Arc<dyn JobHandler>));
        let jobs = Self { store: Arc::clone(store), facts, fact_extractor: options.facts, summaries, profiles };
        (jobs, handlers)
    }

    /// Returns the facts in the store.
    pub fn facts(&self) -> &FactBook {
        &self.facts
    }

    pub(crate) fn fact_extractor(&self) -> Option<&dyn FactExtractor> {
        self.fact_extractor.as_deref()
    }

    /// Returns the scopes of the people with a fact that is one of these records or derived from one.
    ///
    /// # Errors
    /// The store's error.
    pub async fn people_with_facts(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Scope>> {
        self.facts.people_with_facts(scope, ids).await
    }

    /// Reconciles the facts of a person after some of them were deleted or retracted.
    ///
    /// # Errors
    /// The store's error; `Conflict` if others keep writing facts of the same person.
    pub async fn reconcile_facts(&self, person: &Scope) -> Result<()> {
        self.facts.reconcile(person).await
    }

    /// Summarizes the turns at the end of a conversation that wait for a summary. Returns the number of summaries.
    /// Turns farther back are left to the background.
    ///
    /// # Errors
    /// `Unsupported` if the engine writes no summaries; the store's error.
    pub async fn summarize_now(&self, address: &Scope) -> Result<usize> {
        let message = "the engine writes no summaries; set `EnrichmentOptions::with_summaries`, and a review policy \
                       that does not reject them";
        let unsupported = || Error::new(ErrorKind::Unsupported, "summarize", message);
        self.summaries.as_ref().ok_or_else(unsupported)?.summarize_now(address).await
    }

    /// Returns the writes that accept records after a review: `accepted` ones are stored, already without the state
    /// pending; `new` ones are stated by the reviewer in place of stored ones. Other facts and profiles of the same
    /// people become superseded, or hold again, as if the accepted records had never waited.
    ///
    /// # Errors
    /// The store's error.
    pub async fn acceptance(&self, accepted: Vec<Record>, new: Vec<Record>) -> Result<Vec<Write>> {
        let mut people: BTreeMap<Scope, (Vec<Record>, Vec<Record>)> = BTreeMap::new();
        let mut writes = Vec::new();
        for record in accepted {
            if record.kind == Kind::FACT {
                people.entry(person(&record.scope)?).or_default().0.push(record);
                continue;
            }
            if is_written_here(&record) {
                let replaced = active_profiles(&self.store, &record.scope).await?;
                writes.extend(superseding_writes(replaced, self.store.clock().now()));
            }
            let mode = PutMode::Update { revision: record.revision };
            writes.push(Write::new(record, mode));
        }
        for record in new {
            people.entry(person(&record.scope)?).or_default().1.push(record);
        }
        for (person, (accepted, new)) in people {
            let source_ids: Vec<RecordId> = new.iter().flat_map(|fact| fact.derived_from.iter().copied()).collect();
            let sources: Vec<Record> = self.store.get_all(&person, &source_ids).await?.into_iter().flatten().collect();
            writes.extend(self.facts.acceptance(&person, accepted, &new, &sources).await?);
        }
        Ok(writes)
    }

    /// Returns true if a record is a profile that this engine writes.
    pub fn writes_profile(&self, record: &Record) -> bool {
        self.profiles.is_some() && is_written_here(record)
    }

    /// Returns the scopes of the people with a profile derived from one of these records. Empty if the engine writes no
    /// profiles.
    ///
    /// # Errors
    /// The store's error.
    pub async fn people_with_profiles(&self, scope: &Scope, ids: &[RecordId]) -> Result<BTreeSet<Scope>> {
        match &self.profiles {
            Some(profiles) => profiles.people_with_profiles(scope, ids).await,
            None => Ok(BTreeSet::new()),
        }
    }

    /// Queues the profiles of these people to be written again.
    ///
    /// # Errors
    /// The store's error.
    pub async fn renew_profiles(&self, people: &BTreeSet<Scope>) -> Result<()> {
        if let Some(profiles) = &self.profiles {
            profiles.requeue(people).await?;
        }
        self.store.wake();
        Ok(())
    }
}
