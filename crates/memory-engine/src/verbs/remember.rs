//! Verbs that write records.

use memory_engine_core::{
    Error, ErrorKind, Job, Outcome, PutMode, Record, RecordId, Result, Scope, State, Write, WriteResult,
    retry::{WRITE_ATTEMPTS, retry_on},
};
use memory_engine_indexing::{REPETITIONS, Turn, verb};

use crate::engine::MemoryEngine;

/// The errors of a write whose message was changed or deleted after it was read.
pub(crate) const CHANGED_MEANWHILE: &[ErrorKind] = &[ErrorKind::Conflict, ErrorKind::NotFound];

impl MemoryEngine {
    /// Remembers one thing at the address `scope` and returns its id.
    ///
    /// When it returns, the record is durable and found by its words; its vector follows in the background. A turn
    /// replaces the stored one with the same id. If both have the same content, as when a client sends it twice, the
    /// extracted metadata stays, and a [retracted](crate::history::History::retract) turn stays retracted.
    ///
    /// A long message that the user sends again and again on one day, as a script does, is stored three times. After
    /// that it is counted under [`REPETITIONS`](crate::store::REPETITIONS) in the metadata of one of them, whose id is
    /// returned.
    ///
    /// # Errors
    /// `InvalidInput` for an empty text, for everything else that [`Record::validate`] rejects, and for a time more
    /// than a day ahead; `Conflict` if a record with this id was forgotten, belongs to another scope, or is
    /// continuously changed by other writers; `Unavailable` if the store cannot be written.
    pub async fn remember(&self, scope: &Scope, turn: impl Into<Turn>) -> Result<RecordId> {
        verb!("remember", scope, {}, self.acting(self.remember_without(scope, turn.into(), &[])))
    }

    /// As [`remember`](Self::remember), without the background jobs `skipped`.
    pub(crate) async fn remember_without(&self, scope: &Scope, turn: Turn, skipped: &[Job]) -> Result<RecordId> {
        let is_named = turn.is_named();
        let mut record = turn.into_record(scope, self.settings().clock());
        self.indexed_store().screen(&mut record).await?;
        let mut jobs = self.enrichment().jobs_for(&record);
        jobs.retain(|job| !skipped.contains(job));
        let attempts = if is_named { WRITE_ATTEMPTS } else { 1 };
        let written = retry_on(CHANGED_MEANWHILE, attempts, || async {
            let (record, mode) = match is_named {
                true => match self.indexed_store().get(scope, record.id).await? {
                    Some(old) if has_same_content(&record, &old) && old.state == State::Revoked => return Ok(None),
                    old => replacement(record.clone(), old.as_ref()),
                },
                false => (record.clone(), PutMode::Upsert),
            };
            let write = Write { jobs: jobs.clone(), ..Write::new(record, mode) };
            self.indexed_store().write_screened(scope, vec![write]).await.map(Some)
        });
        let Some(written) = written.await? else { return Ok(record.id) };
        match written.first() {
            Some(WriteResult { id, outcome: Outcome::Blocked(_), .. }) => {
                Err(Error::new(ErrorKind::Conflict, "remember", format!("record {id} was forgotten and stays away")))
            }
            Some(WriteResult { id, .. }) => Ok(*id),
            None => Err(Error::new(ErrorKind::Internal, "remember", "the store gave no answer for the record")),
        }
    }

    /// Stores whole records within `scope`, all or none, and returns the outcome of each. For imports, and for callers
    /// that set every field.
    ///
    /// # Errors
    /// As [`RecordStore::put`](memory_engine_core::RecordStore::put), and `InvalidInput` for a time more than a day
    /// ahead.
    pub async fn store(&self, scope: &Scope, records: Vec<Record>, mode: PutMode) -> Result<Vec<WriteResult>> {
        let records = self.curation().fill_zones(records, mode);
        let count = records.len();
        let work = self.acting(self.curation().store_records(scope, records, mode));
        verb!("store", scope, { records = count }, work)
    }
}

pub(crate) fn has_same_content(record: &Record, old: &Record) -> bool {
    old.content_hash() == record.content_hash()
}

/// Returns the record that replaces the stored one, and a mode that fails if the stored one has changed meanwhile. If
/// both have the same content, the extracted metadata is kept.
pub(crate) fn replacement(mut record: Record, old: Option<&Record>) -> (Record, PutMode) {
    let Some(old) = old else { return (record, PutMode::Create) };
    if has_same_content(&record, old) {
        record.topic = record.topic.or_else(|| old.topic.clone());
        record.emotion = record.emotion.or_else(|| old.emotion.clone());
        if record.entities.is_empty() {
            record.entities.clone_from(&old.entities);
        }
        // A client that sends a message twice changes neither its pin nor its expiry.
        record.pinned |= old.pinned;
        record.expires_at = record.expires_at.or(old.expires_at);
        if let Some(count) = old.metadata.get(REPETITIONS) {
            record.metadata.insert(REPETITIONS.into(), count.clone());
        }
    }
    (record, PutMode::Update { revision: old.revision })
}
