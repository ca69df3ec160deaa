//! The state that corrections, reviews, retractions and deletions share.

use std::sync::Arc;

use memory_engine_core::{Clock, Job, PutMode, Record, RecordStore, Result, ReviewPolicy, Scope, Write, WriteResult};
use memory_engine_enrichment::Enrichment;
use memory_engine_indexing::IndexedStore;
use memory_engine_synonyms::SharedThesaurus;

/// Number of records in one page of a read, and in one transaction of a deletion.
pub(crate) const PAGE_ROWS: usize = 500;

/// Changes, takes back and deletes stored memories. Everything that is derived from them follows.
#[derive(Debug)]
pub struct Curation {
    store: Arc<IndexedStore>,
    enrichment: Enrichment,
    synonyms: Arc<SharedThesaurus>,
    review: ReviewPolicy,
}

impl Curation {
    /// Combines a store with the jobs that derive data from its records, and with its synonyms. `review` sets which
    /// records wait until a person accepts them.
    pub fn new(
        store: Arc<IndexedStore>,
        enrichment: Enrichment,
        synonyms: Arc<SharedThesaurus>,
        review: ReviewPolicy,
    ) -> Self {
        Self { store, enrichment, synonyms, review }
    }

    /// Returns the records and their indexes.
    pub fn indexed_store(&self) -> &Arc<IndexedStore> {
        &self.store
    }

    /// Returns the jobs that derive data from records.
    pub fn enrichment(&self) -> &Enrichment {
        &self.enrichment
    }

    /// Returns the synonyms of query terms.
    pub fn synonyms(&self) -> &SharedThesaurus {
        &self.synonyms
    }

    /// Returns the policy that decides which new memories wait for a person.
    pub fn review_policy(&self) -> &ReviewPolicy {
        &self.review
    }

    /// Stores whole records within `scope`, all or none, with the time zones that they have.
    ///
    /// # Errors
    /// As [`RecordStore::put`], and `InvalidInput` for a time more than a day ahead.
    pub async fn store_records(&self, scope: &Scope, records: Vec<Record>, mode: PutMode) -> Result<Vec<WriteResult>> {
        records.iter().try_for_each(|record| self.store.check_fields(record))?;
        let write = |record: Record| Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) };
        self.write(scope, records.into_iter().map(write).collect()).await
    }

    /// Sets the time zone of new records that have none. Updates and replicas keep what they have.
    #[must_use]
    pub fn fill_zones(&self, mut records: Vec<Record>, mode: PutMode) -> Vec<Record> {
        if !matches!(mode, PutMode::Update { .. } | PutMode::Replica { .. }) {
            records.iter_mut().for_each(|record| self.store.set_zone(record));
        }
        records
    }

    pub(crate) async fn write(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        self.store.write(scope, writes).await
    }

    pub(crate) fn jobs_for(&self, record: &Record) -> Vec<Job> {
        self.enrichment.jobs_for(record)
    }

    pub(crate) fn record_store(&self) -> &Arc<dyn RecordStore> {
        self.store.records()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.store.clock()
    }
}
