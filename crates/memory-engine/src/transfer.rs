//! Transfers of whole stores: backups, copies from one database into another, and merges of stores that have diverged.

use std::sync::Arc;

use memory_engine_core::audit::Actor;
use memory_engine_curation::Curation;

#[cfg(feature = "sqlite")]
pub use memory_engine_databases::{BackupReport, backup, check_backup, fingerprint, restore_backup};
pub use memory_engine_databases::{
    Copier, CopyReport, Merge, MergeConflict, MergeReason, MergeReport, MergeSide, TransferEnd,
};

use crate::engine::MemoryEngine;

impl TransferEnd for MemoryEngine {
    fn curation(&self) -> &Curation {
        self.curation()
    }

    fn actor(&self) -> Option<&Arc<Actor>> {
        self.own_actor()
    }
}
