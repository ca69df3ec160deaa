//! The memories of an injection, without their texts.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_context::BlockMemories;
use memory_engine_core::{ContentHash, Record, RecordId};
use serde::{Deserialize, Serialize};

/// The memories of an injection. It contains no text, so that deleting a memory does not have to change it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InjectedMemories {
    pub(super) core: Vec<RecordId>,
    pub(super) relevant: Vec<RecordId>,
    pub(super) summaries: Vec<RecordId>,
    pub(super) others: Vec<RecordId>,
    /// The memories of which a part does not hold any more.
    pub(super) past: BTreeSet<RecordId>,
    /// A hash of all texts.
    hash: String,
}

impl InjectedMemories {
    /// Returns those of the block that are among the included records.
    pub(super) fn of(block: BlockMemories<'_>, included: &[Record]) -> Self {
        let included: BTreeMap<RecordId, &Record> = included.iter().map(|record| (record.id, record)).collect();
        let ids = |records: Vec<&Record>| {
            records.iter().map(|record| record.id).filter(|id| included.contains_key(id)).collect()
        };
        Self {
            core: ids(block.core),
            relevant: ids(block.relevant),
            summaries: ids(block.summaries),
            others: ids(block.others),
            past: block.past.into_iter().filter(|id| included.contains_key(id)).collect(),
            hash: hash(included.into_values()),
        }
    }

    pub(super) fn ids(&self) -> Vec<RecordId> {
        [&self.core, &self.relevant, &self.summaries, &self.others].into_iter().flatten().copied().collect()
    }

    /// Returns true if these records are all of the memories, with the same texts.
    pub(super) fn are_unchanged(&self, records: &BTreeMap<RecordId, Record>) -> bool {
        hash(records.values()) == self.hash
    }
}

/// Returns a hash of the texts of records, which are in the order of their ids.
fn hash<'r>(records: impl Iterator<Item = &'r Record>) -> String {
    let hashes: Vec<String> = records.map(|record| record.content_hash().to_string()).collect();
    ContentHash::of(&hashes.join(" ")).to_string()
}
