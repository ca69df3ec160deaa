//! Remembering: records with their terms in one write, and the background told of the rest.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use memory_engine_core::{
    Done, Embedding, Error, ErrorKind, Job, Outcome, PutMode, Record, RecordId, Result, Scope, State, Terms, Write,
    Written,
};
use memory_engine_keyword_store::KeywordEntry;
use memory_engine_vector_store::VectorEntry;

use crate::{MemoryEngine, Turn};

/// How far ahead of the clock a record may have occurred: clocks and zones differ, but not by more than a day.
const FUTURE: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a message is written anew when somebody else writes it at the same time.
const TRIES: usize = 64;

impl MemoryEngine {
    /// Remembers one thing at the address `scope`, and gives its id.
    ///
    /// When it returns, the record is durable and found by its words; its vector follows in the background. A turn whose
    /// id is there already takes the old one's place; one that says the same again, as when a client sends it twice, keeps
    /// what was found out about it meanwhile, and does not bring back what was [taken back](Self::retract).
    ///
    /// # Errors
    /// `InvalidInput` for an empty text and whatever else [`Record::validate`] refuses, or a time more than a day ahead;
    /// `Conflict` when a record of this id was forgotten before, lives at another address, or is written by others without end;
    /// `Unavailable` when the store cannot be written.
    pub async fn remember(&self, scope: &Scope, turn: impl Into<Turn>) -> Result<RecordId> {
        self.remember_without(scope, turn.into(), &[]).await
    }

    /// As [`remember`](Self::remember), and leaves out some of what the background would make of it.
    pub(crate) async fn remember_without(&self, scope: &Scope, turn: Turn, left_out: &[Job]) -> Result<RecordId> {
        let named = turn.is_named();
        let record = turn.into_record(scope, self.clock());
        let mut tries = if named { TRIES } else { 0 };
        let written = loop {
            let old = if named { self.get(scope, record.id).await? } else { None };
            let (record, mode) = match old {
                Some(old) if old.content_hash() == record.content_hash() => {
                    if old.state == State::Revoked {
                        return Ok(old.id);
                    }
                    (found_out(record.clone(), &old), PutMode::Update { revision: old.revision })
                }
                Some(old) => (record.clone(), PutMode::Update { revision: old.revision }),
                None => (record.clone(), PutMode::Create),
            };
            // An unnamed turn is nobody else's. Of a named one, what was read is what is replaced.
            let mode = if named { mode } else { PutMode::Upsert };
            let mut jobs = self.jobs_for(&record);
            jobs.retain(|job| !left_out.contains(job));
            match self.write(scope, vec![Write { jobs, ..Write::new(record, mode) }]).await {
                Err(error) if tries > 0 && matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                    tries -= 1
                }
                written => break written?,
            }
        };
        match written.first() {
            Some(Written { id, outcome: Outcome::Created | Outcome::Updated | Outcome::Unchanged, .. }) => Ok(*id),
            Some(Written { id, outcome: Outcome::Barred(_), .. }) => {
                Err(Error::new(ErrorKind::Conflict, "remember", format!("record {id} was forgotten and stays away")))
            }
            None => Err(Error::new(ErrorKind::Internal, "remember", "the store gave no answer for the record")),
        }
    }

    /// Stores whole records within `scope`, all or none, and says for each what became of it: for imports, and for
    /// callers who fill in every field.
    ///
    /// # Errors
    /// As [`RecordStore::put`](memory_engine_core::RecordStore::put), and `InvalidInput` for a time more than a day ahead.
    pub async fn store(&self, scope: &Scope, records: Vec<Record>, mode: PutMode) -> Result<Vec<Written>> {
        let write = |record: Record| Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) };
        self.write(scope, records.into_iter().map(write).collect()).await
    }

    /// As [`store`](Self::store), for callers who have the records' vectors already: made by the engine's embedder, or by
    /// whatever else makes vectors of its space. On SQLite they are in the same transaction; when this returns, the records
    /// are found by their vectors, too. While an embedder is [being replaced](crate::Builder::replacing) they are made in the
    /// background like all others.
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
        let alone = self.spaces().is_alone();
        let write = |(record, embedding): (Record, Embedding)| Write {
            jobs: self.jobs_for(&record),
            embedding: Some(embedding).filter(|_| alone),
            ..Write::new(record, mode)
        };
        self.write(scope, records.into_iter().map(write).collect()).await
    }

    /// Writes records with their terms, and has the background do the rest.
    pub(crate) async fn write(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<Written>> {
        writes.iter().try_for_each(|write| self.check(&write.record))?;
        let shared = Arc::new(writes);
        let terms = self.analyze_records(Arc::clone(&shared), |write| &write.record).await?;
        let mut writes = Arc::unwrap_or_clone(shared);
        for (write, terms) in writes.iter_mut().zip(terms) {
            write.terms = Some(terms);
        }
        let places: Vec<(Scope, bool)> =
            writes.iter().map(|write| (write.record.scope.namespace(), write.record.is_indexed())).collect();
        // A store that is all of them takes terms and vectors in the same transaction, or leaves them to the background.
        let copies = self.stores().are_apart().then(|| writes.clone());
        let written = self.records().put(scope, writes).await?;
        self.unindex_gone(places, &written).await?;
        if let Some(copies) = copies {
            self.index_apart(scope, copies, &written).await?;
        }
        if written.iter().any(|w| !w.pending.is_empty() || !w.withdrawn.is_empty()) {
            self.wake();
        }
        Ok(written)
    }

    /// Refuses a record that [`store`](Self::store) would refuse for itself: for callers who want to know of each.
    ///
    /// # Errors
    /// `InvalidInput` as [`Record::validate`], and for a time more than a day ahead of the engine's clock.
    pub fn check(&self, record: &Record) -> Result<()> {
        record.validate()?;
        if record.occurred_at <= self.clock().now().after(FUTURE) {
            return Ok(());
        }
        let message = format!("it occurs at {}, which lies in the future; check year and zone", record.occurred_at);
        Err(Error::invalid("record", message))
    }

    /// Takes out of the indexes what is gone, or not to be found any more; of each write the user and whether it is to be.
    async fn unindex_gone(&self, places: Vec<(Scope, bool)>, written: &[Written]) -> Result<()> {
        let mut gone: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for ((user, indexed), written) in places.into_iter().zip(written) {
            let own = (written.outcome == Outcome::Updated && !indexed).then_some(written.id);
            let mut all = own.into_iter().chain(written.withdrawn.iter().copied()).peekable();
            if all.peek().is_some() {
                gone.entry(user).or_default().extend(all);
            }
        }
        for (user, gone) in &gone {
            self.unindex(user, gone).await?;
        }
        Ok(())
    }

    /// Brings keyword and vector store up to date where the record store does not keep them in the same transaction.
    async fn index_apart(&self, scope: &Scope, writes: Vec<Write>, written: &[Written]) -> Result<()> {
        let (mut entries, mut records, mut embeddings) = (Vec::new(), Vec::new(), Vec::new());
        for write in writes {
            let record = Arc::new(write.record);
            entries.push((Arc::clone(&record), write.terms.unwrap_or_default()));
            records.push(record);
            embeddings.push(write.embedding);
        }
        self.index_keywords(scope, entries, written).await?;
        self.index_embeddings(scope, records, embeddings, written).await
    }

    /// Brings the keyword store up to date.
    async fn index_keywords(
        &self,
        scope: &Scope,
        entries: Vec<(Arc<Record>, Terms)>,
        written: &[Written],
    ) -> Result<()> {
        let pending = entries.into_iter().zip(written).filter(|(_, w)| w.pending.contains(&Job::Keywords));
        let (entries, done): (Vec<_>, Vec<_>) = pending
            .map(|((record, terms), written)| {
                let (id, scope) = (record.id, record.scope.clone());
                let done = Done { id, scope, job: Job::Keywords, revision: written.revision, ticket: None };
                (KeywordEntry { record, terms }, done)
            })
            .unzip();
        if !entries.is_empty() {
            self.keywords().upsert(scope, &entries).await?;
            self.finish(&done).await?;
        }
        Ok(())
    }

    /// Brings the vector store up to date.
    async fn index_embeddings(
        &self,
        scope: &Scope,
        records: Vec<Arc<Record>>,
        embeddings: Vec<Option<Embedding>>,
        written: &[Written],
    ) -> Result<()> {
        let pending = records.into_iter().zip(embeddings).zip(written);
        let (entries, done): (Vec<_>, Vec<_>) = pending
            .filter(|(_, written)| written.pending.contains(&Job::Embedding))
            .filter_map(|((record, embedding), written)| {
                let (embedding, mut record) = (embedding?, Record::clone(&record));
                // A store that keeps its records beside its vectors takes none of a record as it was before.
                record.revision = written.revision;
                let (id, scope, revision) = (record.id, record.scope.clone(), record.revision);
                let done = Done { id, scope, job: Job::Embedding, revision, ticket: None };
                Some((VectorEntry { record: Arc::new(record), embedding }, done))
            })
            .unzip();
        if entries.is_empty() || !self.makes_what_serves().await? {
            return Ok(());
        }
        match self.vectors().upsert(scope, &entries).await {
            Ok(()) => self.finish(&done).await,
            // Others serve since just now: these wait for whoever makes those.
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Whether the vectors of this engine's embedder are those that searches go by: others wait for whoever makes those.
    pub(crate) async fn makes_what_serves(&self) -> Result<bool> {
        match self.spaces().working_on(Job::Embedding).await {
            Ok(space) => Ok(space.is_some_and(|space| space.embedder.space() == self.embedder().space())),
            Err(e) if e.kind() == ErrorKind::SchemaMismatch => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Takes what was done off the backlog, and out of the indexes again where its record has been deleted or taken back
    /// meanwhile: what is gone does not come back by us.
    pub(crate) async fn finish(&self, done: &[Done]) -> Result<()> {
        let current = self.jobs().complete(done).await?;
        for (done, _) in done.iter().zip(current).filter(|(_, current)| !current) {
            self.unindex(&done.scope, &[done.id]).await?;
        }
        Ok(())
    }
}

/// A record that says what `old` says, with what was found out about that one meanwhile.
fn found_out(mut record: Record, old: &Record) -> Record {
    record.topic = record.topic.or_else(|| old.topic.clone());
    record.emotion = record.emotion.or_else(|| old.emotion.clone());
    if record.entities.is_empty() {
        record.entities.clone_from(&old.entities);
    }
    record
}
