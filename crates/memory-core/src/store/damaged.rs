//! Stored records that cannot be read.

use std::{
    collections::BTreeSet,
    error, fmt,
    sync::{Mutex, Once, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind},
    id::RecordId,
    store::groups::RecordGroup,
};

/// Maximum number of damaged records of which a process logs a warning.
const MAX_WARNINGS: usize = 1000;

/// The damaged records of which this process has logged a warning.
static WARNED: Mutex<BTreeSet<DamagedRecord>> = Mutex::new(BTreeSet::new());

/// A stored record that cannot be read, because a value of its row is damaged.
///
/// Calls that return several records leave it out and report it. Calls that read one record by its id fail with
/// [`ErrorKind::Corrupt`] and name it. It can be deleted like any other record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DamagedRecord {
    /// The id of the record.
    pub id: RecordId,
    /// The table of the damaged value.
    pub table: String,
    /// The column of the damaged value.
    pub column: String,
}

impl DamagedRecord {
    /// Creates the report of a damaged value.
    pub fn new(id: RecordId, table: impl Into<String>, column: impl Into<String>) -> Self {
        Self { id, table: table.into(), column: column.into() }
    }

    /// Logs that the record was left out: one warning in a process.
    pub fn warn(&self) {
        let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() < MAX_WARNINGS && warned.insert(self.clone()) {
            let Self { id, table, column } = self;
            tracing::warn!(%id, table, column, "{self}; `memory doctor` lists such records");
        }
    }

    /// Returns the error of a call that reads the record by its id.
    pub fn into_error(self, operation: &'static str) -> Error {
        let message = format!("{self}; restore it from a backup, or delete it");
        Error::new(ErrorKind::Corrupt, operation, message).with_source(self)
    }

    /// Returns the damaged record that an error of [`into_error`](Self::into_error) is about.
    pub fn of(error: &Error) -> Option<&Self> {
        error::Error::source(error)?.downcast_ref()
    }
}

impl RecordGroup {
    /// Logs that a group of records was left out of the counts, because its state or address is damaged: one warning in
    /// a process.
    pub fn warn_of_damage() {
        static WARNED_OF_GROUP: Once = Once::new();
        WARNED_OF_GROUP.call_once(|| {
            tracing::warn!("records with a damaged state or address were left out of the counts: see `memory doctor`");
        });
    }
}

impl error::Error for DamagedRecord {}

impl fmt::Display for DamagedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, table, column } = self;
        write!(f, "record {id} cannot be read: its `{column}` in the table `{table}` is damaged")
    }
}
