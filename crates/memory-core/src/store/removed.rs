//! What a deletion has removed.

use std::{collections::BTreeMap, ops::AddAssign};

use serde::Serialize;

use crate::id::RecordId;

/// What became of a deletion: which records are gone, and what went with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deleted {
    /// The ids that were there, in the order in which they were asked for, and after them those of what had been made from
    /// them, by id.
    pub ids: Vec<RecordId>,
    /// What was removed, and where.
    pub removed: Removed,
}

/// How much was removed where. Each number is counted by the statement that removes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Removed {
    /// How many records of each kind.
    pub records: BTreeMap<String, u64>,
    /// How many of these records nobody named: they had been made from others that went.
    pub withdrawn: u64,
    /// The terms of how many records.
    pub keywords: u64,
    /// How many vectors.
    pub vectors: u64,
    /// How many mentions of entities in the graph.
    pub mentions: u64,
    /// How many other names of entities in the graph.
    pub aliases: u64,
    /// How many statements in the graph about how two entities are related.
    pub relations: u64,
    /// How many places in the queue.
    pub queued: u64,
    /// How many tombstones were left that had not been there.
    pub tombstones: u64,
}

impl Removed {
    /// How many records, of whatever kind.
    pub fn total(&self) -> u64 {
        self.records.values().sum()
    }

    /// Notes that a record of this kind was removed.
    pub fn count(&mut self, kind: &str) {
        *self.records.entry(kind.to_owned()).or_default() += 1;
    }
}

impl AddAssign for Removed {
    fn add_assign(&mut self, other: Self) {
        for (kind, count) in other.records {
            *self.records.entry(kind).or_default() += count;
        }
        self.withdrawn += other.withdrawn;
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
    fn what_was_removed_in_two_steps_is_added_up_kind_by_kind() {
        let mut all = Removed { vectors: 2, queued: 1, ..Removed::default() };
        all.count("turn");
        let mut more = Removed { vectors: 1, withdrawn: 1, tombstones: 2, ..Removed::default() };
        more.count("turn");
        more.count("fact");
        all += more;
        assert_eq!(all.records, [("fact".to_owned(), 1), ("turn".to_owned(), 2)].into());
        assert_eq!((all.total(), all.withdrawn, all.vectors, all.queued, all.tombstones), (3, 1, 3, 1, 2));
    }
}
