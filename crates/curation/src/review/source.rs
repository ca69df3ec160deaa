//! Storing records of a source that may be reviewed: imports, and statements and changes of tools.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Error, ErrorKind, Outcome, PutMode, Record, RecordId, Result, ReviewMode, ReviewSource, Scope, State, Write,
    WriteResult,
    history::Edit,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
    review_keys,
};
use serde_json::Value;

use super::change;
use crate::curation::Curation;

/// The outcome of storing a record of a source that may be reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredRecord {
    /// The outcome of the write. `Unchanged` for a record that a person rejected or edited before.
    pub result: WriteResult,
    /// True if the write was made and the record waits for a review.
    pub is_pending: bool,
}

impl Curation {
    /// Stores a statement of a source that is not automatic.
    ///
    /// # Errors
    /// As [`store_from`](Self::store_from); `Conflict` if the statement was forgotten.
    pub async fn remember_reviewed(&self, source: ReviewSource, scope: &Scope, record: Record) -> Result<RecordId> {
        let id = record.id;
        let stored = self.store_from(source, scope, vec![record], PutMode::Upsert).await?;
        if stored.iter().any(|stored| is_blocked(&stored.result)) {
            let message = format!("record {id} was forgotten and stays away");
            return Err(Error::new(ErrorKind::Conflict, "remember", message));
        }
        Ok(id)
    }

    /// Stores records of this source. If the policy reviews the source, new and changed records are pending, and those
    /// that a person accepted, rejected or edited stay so. A change that a tool makes to an active record waits in a
    /// record of its own.
    ///
    /// # Errors
    /// As [`store_records`](Self::store_records); `Unauthorized` if the policy rejects the source, and if a person has
    /// rejected or edited the same text of a tool.
    pub async fn store_from(
        &self,
        source: ReviewSource,
        scope: &Scope,
        records: Vec<Record>,
        mode: PutMode,
    ) -> Result<Vec<StoredRecord>> {
        self.require_accepted_source(source)?;
        if self.review_policy().mode(source) == ReviewMode::Automatic {
            let written = self.store_records(scope, self.fill_zones(records, mode), mode).await?;
            return Ok(written.into_iter().map(|result| StoredRecord { result, is_pending: false }).collect());
        }
        let mut records = records;
        for record in &mut records {
            // The stored records are screened, too, so that equal texts stay equal.
            self.indexed_store().screen(record).await?;
        }
        // A caller that names a revision, or requires that there is none, gets the conflict.
        let is_final = matches!(mode, PutMode::Update { .. } | PutMode::Create);
        let attempts = if is_final { 1 } else { WRITE_ATTEMPTS };
        retry_on_conflict(attempts, || self.try_store_reviewed(source, scope, &records, mode)).await
    }

    async fn try_store_reviewed(
        &self,
        source: ReviewSource,
        scope: &Scope,
        records: &[Record],
        mode: PutMode,
    ) -> Result<Vec<StoredRecord>> {
        let (records, mode) = if source == ReviewSource::Tools {
            self.waiting_changes(records, mode).await?
        } else {
            (records.to_vec(), mode)
        };
        let stored = self.stored_versions(&records).await?;
        let mut results = Vec::with_capacity(records.len());
        let mut writes = Vec::new();
        let mut ids = BTreeSet::new();
        for (record, stored) in records.iter().zip(stored) {
            let Some(record) = self.apply_review_policy(source, record.clone(), stored.as_ref()) else {
                if source == ReviewSource::Tools {
                    let message = "a person has rejected or edited this text; write something else";
                    return Err(Error::new(ErrorKind::Unauthorized, "review", message));
                }
                let revision = stored.map_or(0, |stored| stored.revision);
                let result = WriteResult::new(record.id, Outcome::Unchanged, revision, Vec::new());
                results.push((Some(result), false));
                continue;
            };
            // A record that is stored or accepted meanwhile must not become pending again. The second of two records
            // with one id replaces the first.
            let is_first = ids.insert((record.scope.namespace(), record.id));
            let mode = match (mode, stored) {
                (PutMode::Upsert, Some(stored)) if is_first => PutMode::Update { revision: stored.revision },
                (PutMode::Upsert, None) if is_first => PutMode::Create,
                (mode, _) => mode,
            };
            results.push((None, record.state == State::Pending));
            // A change that waits has more metadata than the record that was checked.
            record.validate()?;
            writes.push(Write { jobs: self.jobs_for(&record), ..Write::new(record, mode) });
        }
        let mut written = self.indexed_store().write_screened(scope, writes).await?.into_iter();
        let to_stored = |(result, is_pending): (Option<WriteResult>, bool)| {
            let result = result.or_else(|| written.next())?;
            let is_pending = is_pending && matches!(result.outcome, Outcome::Created | Outcome::Updated);
            Some(StoredRecord { result, is_pending })
        };
        Ok(results.into_iter().filter_map(to_stored).collect())
    }

    /// Replaces each record that changes an active one by the record in which the change waits.
    async fn waiting_changes(&self, records: &[Record], mode: PutMode) -> Result<(Vec<Record>, PutMode)> {
        if mode == PutMode::Create {
            return Ok((records.to_vec(), mode));
        }
        let stored = self.stored_versions(records).await?;
        let mut waiting = Vec::with_capacity(records.len());
        for (record, stored) in records.iter().zip(stored) {
            if let PutMode::Update { revision } = mode
                && stored.as_ref().map(|stored| stored.revision) != Some(revision)
            {
                let message = format!("record {} was changed or removed meanwhile", record.id);
                return Err(Error::new(ErrorKind::Conflict, "review", message));
            }
            waiting.push(change::waiting_record(stored.as_ref(), record));
        }
        Ok((waiting, PutMode::Upsert))
    }

    /// Checks that the policy does not reject a source.
    ///
    /// # Errors
    /// `Unauthorized` if it does.
    pub fn require_accepted_source(&self, source: ReviewSource) -> Result<()> {
        if self.review_policy().mode(source) == ReviewMode::Reject { Err(rejected(source)) } else { Ok(()) }
    }

    /// Returns the stored version of each record, if there is one at the same address.
    async fn stored_versions(&self, records: &[Record]) -> Result<Vec<Option<Record>>> {
        let mut ids_by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for record in records {
            ids_by_user.entry(record.scope.namespace()).or_default().push(record.id);
        }
        let mut stored: BTreeMap<(Scope, RecordId), Record> = BTreeMap::new();
        for (user, ids) in ids_by_user {
            for record in self.indexed_store().get_all(&user, &ids).await?.into_iter().flatten() {
                stored.insert((record.scope.clone(), record.id), record);
            }
        }
        Ok(records.iter().map(|record| stored.get(&(record.scope.clone(), record.id)).cloned()).collect())
    }

    /// Returns a record of a reviewed source as it is stored. `None` if the stored one stays as it is.
    fn apply_review_policy(&self, source: ReviewSource, record: Record, stored: Option<&Record>) -> Option<Record> {
        let Some(stored) = stored else { return self.review_policy().apply(source, record) };
        // A reviewer has changed the text.
        let was_edited = Edit::all_of(stored).iter().any(|edit| edit.text == record.text);
        if stored.content_hash() != record.content_hash() {
            return if was_edited { None } else { self.review_policy().apply(source, record) };
        }
        match stored.state {
            State::Revoked if is_rejected(stored) => None,
            State::Active => Some(record),
            State::Revoked | State::Pending | State::Superseded | State::Deleted => {
                self.review_policy().apply(source, record)
            }
        }
    }
}

fn rejected(source: ReviewSource) -> Error {
    let message = format!(
        "the review policy rejects {source}; nothing was stored. Set it to automatic, or to review to decide on each"
    );
    Error::new(ErrorKind::Unauthorized, "review", message)
}

pub(super) fn is_blocked(written: &WriteResult) -> bool {
    matches!(written.outcome, Outcome::Blocked(_))
}

/// Returns true for a record that a person rejected.
fn is_rejected(record: &Record) -> bool {
    record.metadata.get(review_keys::REJECTED) == Some(&Value::Bool(true))
}
