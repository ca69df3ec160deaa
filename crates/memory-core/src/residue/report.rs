//! The result of a search for traces.

use serde::{Deserialize, Serialize};

use crate::id::RecordId;

/// The kind of a searched place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// The rows of a table.
    Table,
    /// The entries of an index.
    Index,
    /// The bytes of a file.
    File,
    /// A structure in memory.
    Memory,
}

/// A place that was searched, and the traces in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchedPlace {
    /// Its kind.
    pub kind: PlaceKind,
    /// Its name.
    pub name: String,
    /// Number of searched rows, entries or bytes.
    pub searched: u64,
    /// Number of ids of deleted records.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ids: u64,
    /// Number of fragments of deleted texts, without those that remaining records also contain.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub texts: u64,
    /// Number of rows of deleted records: they refer to a record that does not exist.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub orphans: u64,
    /// Number of fragments of deleted texts that remaining records also contain.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared: u64,
    /// The reason why the ids in this place are expected; `None` if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_ids: Option<String>,
    /// The reason why this place could not be searched itself; `None` if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_searched: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SearchedPlace {
    /// Creates a place without traces.
    pub fn new(kind: PlaceKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            searched: 0,
            ids: 0,
            texts: 0,
            orphans: 0,
            shared: 0,
            keeps_ids: None,
            not_searched: None,
        }
    }

    crate::setters! {
        #![must_use]
        /// Sets the number of searched rows, entries or bytes.
        with_searched(searched: u64);
        /// Sets the reason why ids remain in this place.
        with_kept_ids(reason: impl Into<String>) => keeps_ids = Some(reason.into());
        /// Sets the reason why this place was not searched.
        with_not_searched(reason: impl Into<String>) => not_searched = Some(reason.into());
    }

    /// Returns the number of traces that should not be here.
    pub fn residue(&self) -> u64 {
        let ids = if self.keeps_ids.is_none() { self.ids } else { 0 };
        ids + self.texts + self.orphans
    }
}

/// The result of a search for traces of deleted records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResidueReport {
    /// The system that was searched, as `SQLite 3.50.1`.
    pub system: String,
    /// The identity of the database, if it has one: a copy has the same.
    pub store_id: Option<String>,
    /// The places, in the order of the search.
    pub places: Vec<SearchedPlace>,
    /// The deleted records without a tombstone, sorted.
    pub missing_tombstones: Vec<RecordId>,
    /// Remaining records with the content of a deleted one that are imported or derived: a tombstone would block them
    /// if they were written now. Sorted.
    pub blocked_copies: Vec<RecordId>,
    /// Number of other remaining records with the content of a deleted one: statements of a person, a model or a tool.
    pub other_copies: u64,
    /// The parts of the store that the search does not cover.
    pub limits: Vec<String>,
}

impl ResidueReport {
    /// The limit of every search with [`SearchExtent::Users`](super::SearchExtent::Users).
    pub const USERS_LIMIT: &'static str = "the rows of other users, rows without a user, the entries of indexes and \
         the bytes of files: the search was limited to the users whose records were deleted, and an administrator can \
         search the whole database";

    /// Creates an empty report.
    pub fn new(system: impl Into<String>) -> Self {
        Self { system: system.into(), ..Self::default() }
    }

    /// Returns the number of traces that should not be there.
    pub fn residue(&self) -> u64 {
        self.places.iter().map(SearchedPlace::residue).sum()
    }

    /// Adds a remaining record with the content of a deleted one.
    pub fn add_copy(&mut self, id: RecordId, is_blocked: bool) {
        if is_blocked {
            self.blocked_copies.push(id);
        } else {
            self.other_copies += 1;
        }
    }

    /// Adds the report about another part of the same store.
    pub fn extend(&mut self, other: Self) {
        if self.system.is_empty() {
            self.system = other.system;
            self.store_id = other.store_id;
        }
        self.places.extend(other.places);
        self.missing_tombstones.extend(other.missing_tombstones);
        self.blocked_copies.extend(other.blocked_copies);
        self.other_copies += other.other_copies;
        for limit in other.limits {
            if !self.limits.contains(&limit) {
                self.limits.push(limit);
            }
        }
        self.sort();
    }

    /// Sorts the ids.
    pub fn sort(&mut self) {
        for ids in [&mut self.missing_tombstones, &mut self.blocked_copies] {
            ids.sort_unstable();
            ids.dedup();
        }
    }
}
