//! Verbs that write records.

use memory_engine_core::{
    Embedding, Error, ErrorKind, Job, Outcome, PutMode, Record, RecordId, Result, Scope, State, Write, Written,
};

use crate::{engine::MemoryEngine, turn::Turn};

/// Maximum number of retries after another writer changed the same message.
const MAX_RETRIES: usize = 64;

impl MemoryEngine {
    /// Remembers one thing at the address `scope` and returns its id.
    ///
    /// When it returns, the record is durable and found by its words; its vector follows in the background. A turn replaces
    /// the stored one with the same id. If it says the same, as when a client sends it twice, the metadata that was
    /// extracted from it stays, and a [retracted](Self::retract) turn stays retracted.
    ///
    /// # Errors
    /// `InvalidInput` for an empty text and whatever else [`Record::validate`] refuses, or a time more than a day ahead;
    /// `Conflict` if a record of this id was forgotten before, lives at another address, or keeps being changed by others;
    /// `Unavailable` if the store cannot be written.
    pub async fn remember(&self, scope: &Scope, turn: impl Into<Turn>) -> Result<RecordId> {
        self.remember_without(scope, turn.into(), &[]).await
    }

    /// As [`remember`](Self::remember), without the background jobs `skipped`.
    ///
    /// # Errors
    /// As [`remember`](Self::remember).
    pub async fn remember_without(&self, scope: &Scope, turn: Turn, skipped: &[Job]) -> Result<RecordId> {
        let is_named = turn.is_named();
        let record = turn.into_record(scope, self.clock());
        let mut jobs = self.jobs_for(&record);
        jobs.retain(|job| !skipped.contains(job));
        let mut retries = if is_named { MAX_RETRIES } else { 0 };
        let written = loop {
            let (record, mode) = match is_named {
                true => match self.get(scope, record.id).await? {
                    Some(old) if is_repeated(&record, &old) && old.state == State::Revoked => return Ok(old.id),
                    old => replacing(record.clone(), old.as_ref()),
                },
                false => (record.clone(), PutMode::Upsert),
            };
            let write = Write { jobs: jobs.clone(), ..Write::new(record, mode) };
            match self.write(scope, vec![write]).await {
                Err(e) if retries > 0 && matches!(e.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => retries -= 1,
                written => break written?,
            }
        };
        match written.first() {
            Some(Written { id, outcome: Outcome::Created | Outcome::Updated | Outcome::Unchanged, .. }) => Ok(*id),
            Some(Written { id, outcome: Outcome::Blocked(_), .. }) => {
                Err(Error::new(ErrorKind::Conflict, "remember", format!("record {id} was forgotten and stays away")))
            }
            None => Err(Error::new(ErrorKind::Internal, "remember", "the store gave no answer for the record")),
        }
    }

    /// Stores whole records within `scope`, all or none, and returns the outcome of each: for imports, and for callers who
    /// fill in every field.
    ///
    /// # Errors
    /// As [`RecordStore::put`](memory_engine_core::RecordStore::put), and `InvalidInput` for a time more than a day ahead.
    pub async fn store(&self, scope: &Scope, records: Vec<Record>, mode: PutMode) -> Result<Vec<Written>> {
        let write = |record: Record| Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) };
        self.write(scope, records.into_iter().map(write).collect()).await
    }

    /// As [`store`](Self::store), for callers who have the records' vectors: made by the engine's embedder, or by another
    /// program in the same embedding space. On SQLite they are written in the same transaction; when this returns, the
    /// records are found by their vectors, too. While an embedder is [being replaced](crate::Builder::replacing), these
    /// vectors are dropped and made in the background.
    ///
    /// ```
    /// use memory_engine::{Embedder, Kind, MemoryEngine, Purpose, PutMode, Record, Scope, SystemClock};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let lin = Scope::user("lin")?;
    /// let record = Record::new(lin.clone(), Kind::NOTE, "walnuts on the list", &SystemClock);
    /// memory.check(&record)?;
    /// let vector = memory.embedder().embed(&["walnuts on the list"], Purpose::Document).await?.remove(0);
    /// memory.store_embedded(&lin, vec![(record.clone(), vector.clone())], PutMode::Upsert).await?;
    /// // The same for records that are stored: for imports, with vectors that were made elsewhere.
    /// assert_eq!(memory.adopt_vectors(&lin, vec![(record.id, vector.values().to_vec())]).await?, 1);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`store`](Self::store), and `DimensionMismatch` for a vector of another space.
    pub async fn store_embedded(
        &self,
        scope: &Scope,
        records: Vec<(Record, Embedding)>,
        mode: PutMode,
    ) -> Result<Vec<Written>> {
        let space = self.embedder().space();
        records.iter().try_for_each(|(_, embedding)| space.check("store", embedding))?;
        let is_single = self.indexed_store().embedding().is_single();
        let write = |(record, embedding): (Record, Embedding)| Write {
            jobs: self.jobs_for(&record),
            embedding: Some(embedding).filter(|_| is_single),
            ..Write::new(record, mode)
        };
        self.write(scope, records.into_iter().map(write).collect()).await
    }

    /// Writes records and their index terms in one transaction, all or none. [`jobs_for`](Self::jobs_for) returns the jobs
    /// of a record that is a turn.
    ///
    /// # Errors
    /// `InvalidInput` for a record that [`check`](Self::check) refuses; `Conflict` and `NotFound` for a write whose mode or
    /// precondition does not hold; the errors of the store.
    pub async fn write(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<Written>> {
        self.indexed_store().write(scope, writes).await
    }

    /// Stores vectors that were made elsewhere for records that are stored: for imports. The caller guarantees that this
    /// engine's model made them from the records' texts; nothing here can check it. Returns the number of vectors stored.
    /// Records outside `scope` are skipped; all of them while another embedder's vectors serve.
    ///
    /// # Errors
    /// `DimensionMismatch` for a vector of another size, `InvalidInput` for one without a direction; the store's error.
    pub async fn adopt_vectors(&self, scope: &Scope, vectors: Vec<(RecordId, Vec<f32>)>) -> Result<u64> {
        self.indexed_store().adopt_vectors(scope, vectors).await
    }

    /// Returns an error for a record that [`store`](Self::store) would refuse: for callers who want to know about each.
    ///
    /// # Errors
    /// `InvalidInput` as [`Record::validate`], and for a time more than a day after the engine's clock.
    pub fn check(&self, record: &Record) -> Result<()> {
        self.indexed_store().check(record)
    }

    /// Returns the background jobs that a record needs in addition to indexing. Only turns need any.
    pub fn jobs_for(&self, record: &Record) -> Vec<Job> {
        self.enrichment().jobs_for(record)
    }
}

fn is_repeated(record: &Record, old: &Record) -> bool {
    old.content_hash() == record.content_hash()
}

/// Prepares a record to replace the stored one, which must not change meanwhile.
fn replacing(mut record: Record, old: Option<&Record>) -> (Record, PutMode) {
    let Some(old) = old else { return (record, PutMode::Create) };
    if is_repeated(&record, old) {
        record.topic = record.topic.or_else(|| old.topic.clone());
        record.emotion = record.emotion.or_else(|| old.emotion.clone());
        if record.entities.is_empty() {
            record.entities.clone_from(&old.entities);
        }
    }
    (record, PutMode::Update { revision: old.revision })
}
