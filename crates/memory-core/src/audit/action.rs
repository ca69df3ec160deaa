//! The actions of an audit log.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The action that an audit entry records. Its name, such as `write`, is the same in text and in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditAction {
    /// New records were stored, or records replaced by new versions.
    Write,
    /// Existing records were changed.
    Change,
    /// Records were retracted, so that they can be restored.
    Retract,
    /// Retracted records were restored.
    Restore,
    /// Records were deleted.
    Delete,
    /// Records or tombstones of another store or program were stored.
    Import,
    /// Records were read in order to be taken elsewhere.
    Export,
    /// Records that waited for a review were accepted or rejected.
    Review,
    /// Parts of texts were removed.
    Redact,
    /// Records were derived from others: chunks, facts, summaries, profiles.
    Derive,
    /// Records were deleted because their time was over.
    Expire,
    /// Old entries of the audit log were removed.
    Prune,
    /// Auditing began.
    Start,
}

crate::enum_names! {
    AuditAction, "audit action" {
        Write => "write",
        Change => "change",
        Retract => "retract",
        Restore => "restore",
        Delete => "delete",
        Import => "import",
        Export => "export",
        Review => "review",
        Redact => "redact",
        Derive => "derive",
        Expire => "expire",
        Prune => "prune",
        Start => "start",
    }
}
