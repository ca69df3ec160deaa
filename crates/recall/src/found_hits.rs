//! The hits of a retriever, with the records that it has read.

use memory_engine_core::{FoundRecord, Hit, PackedTerms, Record, RecordId};
use rustc_hash::FxHashMap;

/// The hits of a retriever, best first.
#[derive(Debug, Default)]
pub(crate) struct FoundHits {
    pub(crate) hits: Vec<Hit>,
    pub(crate) records: FoundRecords,
}

/// Records that were read by the search that found them, with their terms.
#[derive(Debug, Default)]
pub(crate) struct FoundRecords(FxHashMap<RecordId, (Record, Option<PackedTerms>)>);

impl From<Vec<Hit>> for FoundHits {
    fn from(hits: Vec<Hit>) -> Self {
        Self { hits, records: FoundRecords::default() }
    }
}

impl From<Vec<FoundRecord>> for FoundHits {
    fn from(found: Vec<FoundRecord>) -> Self {
        let mut hits = Vec::with_capacity(found.len());
        let mut records: FxHashMap<RecordId, (Record, Option<PackedTerms>)> = FxHashMap::default();
        for FoundRecord { hit, record, terms } in found {
            hits.push(hit);
            // If several users of the tenant have a record of this id, the first user by name is taken.
            let is_first =
                records.get(&hit.id).is_none_or(|(first, _)| record.scope.user_name() < first.scope.user_name());
            if is_first {
                records.insert(hit.id, (record, terms));
            }
        }
        Self { hits, records: FoundRecords(records) }
    }
}

impl FoundRecords {
    /// Adds the records of another search.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Returns true if every one of these records was read.
    pub(crate) fn contain_all(&self, mut ids: impl Iterator<Item = RecordId>) -> bool {
        !self.0.is_empty() && ids.all(|id| self.0.contains_key(&id))
    }

    /// Removes and returns a record with its terms.
    pub(crate) fn take(&mut self, id: RecordId) -> Option<(Record, Option<PackedTerms>)> {
        self.0.remove(&id)
    }
}
