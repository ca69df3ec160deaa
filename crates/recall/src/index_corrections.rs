//! Corrections of the indexes for a recall as of a time. The indexes have the records of today; records that were
//! superseded, retracted or edited since were different then.

use memory_engine_core::{Hit, PackedTerms, Record, RecordId};
use memory_engine_vector_store::MemoryVectorStore;
use rustc_hash::{FxHashMap, FxHashSet};

/// The differences between the indexes and the records at the time of a recall.
#[derive(Debug, Default)]
pub(crate) struct IndexCorrections {
    /// Records that were current at the time, and have another text today or are not active any more.
    pub(crate) records: FxHashMap<RecordId, PastRecord>,
    /// Changed records that the recall must not return.
    pub(crate) hidden: FxHashSet<RecordId>,
    /// The vectors of `records`; `None` if they are not compared.
    pub(crate) vectors: Option<MemoryVectorStore>,
    /// Number of records within the scope, for the statistics of terms.
    pub(crate) scope_records: u64,
    /// True if there were more changed records than a recall reads.
    pub(crate) is_truncated: bool,
}

/// A record as it was at the time, with the terms of its text.
#[derive(Debug)]
pub(crate) struct PastRecord {
    pub(crate) record: Record,
    pub(crate) terms: PackedTerms,
}

impl IndexCorrections {
    /// Returns true if the index entries of the record do not apply to the time of the recall.
    pub(crate) fn invalidates(&self, id: RecordId) -> bool {
        self.hidden.contains(&id) || self.records.contains_key(&id)
    }

    /// Replaces the terms of records whose text was another one.
    pub(crate) fn set_terms(&self, ids: &[RecordId], terms: &mut [Option<PackedTerms>]) {
        for (id, terms) in ids.iter().zip(terms) {
            if let Some(past) = self.records.get(id) {
                *terms = Some(past.terms.clone());
            }
        }
    }

    /// Removes the hits whose index entries do not apply to the time of the recall.
    pub(crate) fn retain_valid(&self, hits: &mut Vec<Hit>) {
        hits.retain(|hit| !self.invalidates(hit.id));
    }
}
