//! The memories of a recall as of a time that are different today: superseded, retracted or edited since.

use memory_engine_core::{Hit, Record, RecordId};
use memory_engine_keyword_store::PackedTerms;
use memory_engine_vector_store::MemoryVectorStore;
use rustc_hash::{FxHashMap, FxHashSet};

/// The records that were different at the time of a recall.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Records that were current at the time, and have another text today or are not active any more.
    pub(crate) records: FxHashMap<RecordId, PastRecord>,
    /// Active records that were not current at the time.
    pub(crate) hidden: FxHashSet<RecordId>,
    /// Their vectors; `None` if they are not compared.
    pub(crate) vectors: Option<MemoryVectorStore>,
    /// Number of records within the scope, for the statistics of terms.
    pub(crate) documents: u64,
    /// True if there were more changed records than a recall reads.
    pub(crate) is_cut: bool,
}

/// A record as it was at the time, with the terms of its text.
#[derive(Debug)]
pub(crate) struct PastRecord {
    pub(crate) record: Record,
    pub(crate) terms: PackedTerms,
}

impl Past {
    /// Returns true if the stores have no valid entry of the record for the time of the recall.
    pub(crate) fn replaces(&self, id: RecordId) -> bool {
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

    /// Removes the hits whose entries in the stores do not apply to the time of the recall.
    pub(crate) fn retain_valid(&self, hits: &mut Vec<Hit>) {
        hits.retain(|hit| !self.replaces(hit.id));
    }
}
