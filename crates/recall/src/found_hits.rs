//! The hits of a retriever, with the records that it has read.

use memory_engine_core::{FoundRecord, Hit, RecordId, RecordWithTerms};
use rustc_hash::FxHashMap;

/// The hits of a retriever, best first.
#[derive(Debug, Default)]
pub(crate) struct FoundHits {
    pub(crate) hits: Vec<Hit>,
    pub(crate) records: FoundRecords,
}

/// Records that were read by the search that found them, with their terms.
#[derive(Debug, Default)]
pub(crate) struct FoundRecords(FxHashMap<RecordId, RecordWithTerms>);

impl From<Vec<Hit>> for FoundHits {
    fn from(hits: Vec<Hit>) -> Self {
        Self { hits, records: FoundRecords::default() }
    }
}

impl From<Vec<FoundRecord>> for FoundHits {
    fn from(found: Vec<FoundRecord>) -> Self {
        let mut hits = Vec::with_capacity(found.len());
        let mut records = FoundRecords::default();
        for FoundRecord { hit, record } in found {
            hits.push(hit);
            records.insert(record);
        }
        Self { hits, records }
    }
}

impl FoundRecords {
    /// Adds a record. Of several users' records with the same id, that of the first user by name is kept.
    fn insert(&mut self, found: RecordWithTerms) {
        let user = found.record.scope.user_name();
        if self.0.get(&found.record.id).is_none_or(|first| user < first.record.scope.user_name()) {
            self.0.insert(found.record.id, found);
        }
    }

    /// Adds the records of another search.
    pub(crate) fn extend(&mut self, others: Self) {
        others.0.into_values().for_each(|found| self.insert(found));
    }

    /// Returns true if every one of these records was read.
    pub(crate) fn contains_all(&self, mut ids: impl Iterator<Item = RecordId>) -> bool {
        ids.all(|id| self.0.contains_key(&id))
    }

    /// Removes and returns a record.
    pub(crate) fn take(&mut self, id: RecordId) -> Option<RecordWithTerms> {
        self.0.remove(&id)
    }
}
