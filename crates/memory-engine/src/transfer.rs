//! Transfers of whole stores: backups, copies from one database into another, and merges of stores that have diverged.

#[cfg(feature = "sqlite")]
pub use memory_engine_databases::{BackupReport, backup, check_backup, fingerprint, restore_backup};
pub use memory_engine_databases::{
    Copier, CopyReport, Merge, MergeConflict, MergeReason, MergeReport, MergeSide, TransferEnd,
};
