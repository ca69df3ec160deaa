//! The result of a deletion.
//!
//! Reasons: `docs/design/decisions/0022-deletions-are-counted-in-place.md`.

use std::{collections::BTreeMap, ops::AddAssign};

use serde::Serialize;

use crate::id::RecordId;

/// The result of a deletion: the deleted records, and the numbers of items removed with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeletionReport {
    /// The ids of the deleted records: first the requested ones, in the order of the request, then those derived from
    /// them, ordered by id.
    pub ids: Vec<RecordId>,
    /// The numbers of removed items.
    pub removed: RemovalCounts,
}

/// Numbers of removed items, counted by the statements that remove them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct RemovalCounts {
    /// Number of records of each kind.
    pub records: BTreeMap<String, u64>,
    /// Number of these records that were deleted in a cascade, because they were derived from deleted ones.
    pub cascade_deleted: u64,
    /// Number of records with terms in the keyword index.
    pub keywords: u64,
    /// Number of vectors.
    pub vectors: u64,
    /// Number of mentions of entities in the graph.
    pub mentions: u64,
    /// Number of aliases of entities in the graph.
    pub aliases: u64,
    /// Number of relations in the graph.
    pub relations: u64,
    /// Number of queue entries.
    pub queued: u64,
    /// Number of new tombstones.
    pub tombstones: u64,
}

impl RemovalCounts {
    /// Returns the number of records of all kinds.
    pub fn total(&self) -> u64 {
        self.records.values().sum()
    }

    /// Counts a removed record of this kind.
    pub fn count(&mut self, kind: &str) {
        *self.records.entry(kind.to_owned()).or_default() += 1;
    }
}

impl AddAssign for RemovalCounts {
    fn add_assign(&mut self, other: Self) {
        for (kind, count) in other.records {
            *self.records.entry(kind).or_default() += count;
        }
        self.cascade_deleted += other.cascade_deleted;
        self.keywords += other.keywords;
        self.vectors += other.vectors;
        self.mentions += other.mentions;
        self.aliases += other.aliases;
        self.relations += other.relations;
        self.queued += other.queued;
        self.tombstones += other.tombstones;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_per_kind() {
        let mut total = RemovalCounts { vectors: 2, queued: 1, ..RemovalCounts::default() };
        total.count("turn");
        let mut added = RemovalCounts { vectors: 1, cascade_deleted: 1, tombstones: 2, ..RemovalCounts::default() };
        added.count("turn");
        added.count("fact");
        total += added;
        assert_eq!(total.records, [("fact".to_owned(), 1), ("turn".to_owned(), 2)].into());
        let counts = (total.total(), total.cascade_deleted, total.vectors, total.queued, total.tombstones);
        assert_eq!(counts, (3, 1, 3, 1, 2));
    }
}
