//! Pins, importance and expiry of stored records.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    Error, ErrorKind, PutMode, Record, RecordId, Result, Scope, Timestamp, Trust, Write,
    retry::{WRITE_ATTEMPTS, retry_on_conflict},
};
use memory_engine_indexing::inherit_expiry;

use crate::curation::Curation;

/// A change of the pin, the importance or the expiry of records. What is not set stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[must_use]
pub struct RecordPatch {
    /// True to pin the records, false to unpin them.
    pinned: Option<bool>,
    /// Importance, 0 to 1.
    importance: Option<f64>,
    /// `Some(None)` if the records do not expire.
    expires_at: Option<Option<Timestamp>>,
}

impl RecordPatch {
    memory_engine_core::setters! {
        /// Pins or unpins the records.
        pinned(pinned: bool) => pinned = Some(pinned);
        /// Sets the importance, 0 to 1.
        importance(importance: f64) => importance = Some(importance);
        /// Sets the time at which the records expire.
        expires_at(time: impl Into<Timestamp>) => expires_at = Some(Some(time.into()));
    }

    /// Removes the expiry of the records.
    pub fn never_expires(mut self) -> Self {
        self.expires_at = Some(None);
        self
    }

    /// Returns true if the patch changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn apply(&self, record: &mut Record) {
        record.pinned = self.pinned.unwrap_or(record.pinned);
        record.importance = self.importance.unwrap_or(record.importance);
        record.expires_at = self.expires_at.unwrap_or(record.expires_at);
    }
}

impl Curation {
    /// Changes the pin, the importance or the expiry of records within `scope`, and the expiry of those derived from
    /// them. Returns the number of changed records, without derived ones.
    ///
    /// # Errors
    /// `InvalidInput` for an empty patch or an importance that is not between 0 and 1; `NotFound` if one of the records
    /// does not exist within `scope`: nothing is changed then; `Conflict` if others keep changing the records; the
    /// store's error.
    pub async fn patch(&self, scope: &Scope, ids: &[RecordId], patch: RecordPatch) -> Result<u64> {
        if patch.is_empty() {
            return Err(Error::invalid("patch", "it changes nothing; set pinned, importance or expires_at"));
        }
        let ids: Vec<RecordId> = ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        retry_on_conflict(WRITE_ATTEMPTS, || self.try_patch(scope, &ids, &patch)).await
    }

    async fn try_patch(&self, scope: &Scope, ids: &[RecordId], patch: &RecordPatch) -> Result<u64> {
        let found = self.indexed_store().get_unexpired(scope, ids).await?;
        let mut patched: BTreeMap<RecordId, Record> = BTreeMap::new();
        let mut changed = BTreeSet::new();
        for (id, record) in ids.iter().zip(found) {
            let Some(mut record) = record.filter(|record| !record.kind.is_ledger()) else {
                let message = format!("there is no record {id} in this scope");
                return Err(Error::new(ErrorKind::NotFound, "patch", message));
            };
            let old = record.clone();
            patch.apply(&mut record);
            if record != old {
                changed.insert(record.id);
            }
            patched.insert(record.id, record);
        }
        let count = changed.len() as u64;
        let derived = self.renew_derived_expiry(scope, &patched).await?;
        let writes = patched.into_values().filter(|record| changed.contains(&record.id)).chain(derived);
        let writes: Vec<Write> = writes
            .map(|record| {
                let revision = record.revision;
                Write::new(record, PutMode::Update { revision })
            })
            .collect();
        if !writes.is_empty() {
            self.write(&scope.namespace(), writes).await?;
        }
        Ok(count)
    }

    /// Returns the records that the engine derived from the patched ones, with the expiry of their sources, if that
    /// changes.
    async fn renew_derived_expiry(&self, scope: &Scope, patched: &BTreeMap<RecordId, Record>) -> Result<Vec<Record>> {
        let user = scope.namespace();
        let ids: Vec<RecordId> = patched.keys().copied().collect();
        let derived = self.indexed_store().get_derived(&user, &ids).await?;
        let derived: Vec<Record> = derived
            .into_iter()
            .filter(|record| record.trust == Trust::Derived && !patched.contains_key(&record.id))
            .collect();
        let others: BTreeSet<RecordId> = derived
            .iter()
            .flat_map(|record| &record.derived_from)
            .filter(|id| !patched.contains_key(id))
            .copied()
            .collect();
        let others: Vec<RecordId> = others.into_iter().collect();
        let others = self.indexed_store().get_all(&user, &others).await?;
        let sources: BTreeMap<RecordId, &Record> =
            others.iter().flatten().chain(patched.values()).map(|source| (source.id, source)).collect();
        let mut renewed = Vec::new();
        for mut record in derived {
            let old = record.expires_at;
            let own_sources: Vec<&Record> =
                record.derived_from.iter().filter_map(|id| sources.get(id).copied()).collect();
            inherit_expiry(&mut record, own_sources);
            if record.expires_at != old {
                renewed.push(record);
            }
        }
        Ok(renewed)
    }
}
