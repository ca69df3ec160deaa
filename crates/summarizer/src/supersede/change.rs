//! Changes to the records of facts.

use std::fmt;

use memory_engine_core::{Record, RecordId, Timestamp};
use serde::{Deserialize, Serialize};

/// A change to a record of a fact. It contains the record before and after, so that it can be undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The kind of change.
    pub what: ChangeKind,
    /// The record before the change; `None` if it is new.
    pub before: Option<Record>,
    /// The record after the change; `None` if it is deleted.
    pub after: Option<Record>,
}

/// The kind of a [`Change`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The fact is new and holds.
    Add,
    /// The fact repeats another one and becomes further evidence for it.
    Merge {
        /// The other fact.
        into: RecordId,
    },
    /// A newer fact supersedes it. A fact that arrives late may be new and superseded at once.
    Supersede {
        /// The newer fact.
        by: RecordId,
        /// The time until which it held.
        valid_until: Timestamp,
    },
    /// The person denied it, or said that it no longer holds.
    Retract {
        /// The fact with the denial.
        by: RecordId,
        /// The time until which it held.
        valid_until: Timestamp,
    },
    /// Only the list of facts that confirm it has changed.
    Confirm {
        /// The facts that confirm it.
        by: Vec<RecordId>,
    },
    /// It holds again: the fact that superseded it is gone, or is older.
    Reopen,
    /// A change was undone.
    Undo,
}

impl ChangeKind {
    /// Returns the name: `add`, `merge`, `supersede`, `retract`, `confirm`, `reopen` or `undo`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Merge { .. } => "merge",
            Self::Supersede { .. } => "supersede",
            Self::Retract { .. } => "retract",
            Self::Confirm { .. } => "confirm",
            Self::Reopen => "reopen",
            Self::Undo => "undo",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Change {
    /// Returns the change that undoes this one.
    pub fn undo(&self) -> Self {
        Self { what: ChangeKind::Undo, before: self.after.clone(), after: self.before.clone() }
    }

    /// Returns the id of the changed record.
    pub fn id(&self) -> Option<RecordId> {
        self.after.as_ref().or(self.before.as_ref()).map(|record| record.id)
    }

    /// Applies the change to a list of records.
    pub fn apply(&self, records: &mut Vec<Record>) {
        let Some(id) = self.id() else { return };
        let index = records.iter().position(|record| record.id == id);
        match (index, &self.after) {
            (Some(index), Some(after)) => records[index] = after.clone(),
            (Some(index), None) => drop(records.remove(index)),
            (None, Some(after)) => records.push(after.clone()),
            (None, None) => {}
        }
    }
}
