//! Keys of records in the tables.

use crate::{id::RecordId, record::Record, scope::Scope};

/// Identifies a record by namespace and id.
pub(super) type RecordKey = (Scope, RecordId);

/// Returns the key of a record.
pub(super) fn key(record: &Record) -> RecordKey {
    (record.scope.namespace(), record.id)
}
