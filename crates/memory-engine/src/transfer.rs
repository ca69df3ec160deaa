//! Transfers of whole stores: backups, copies from one database into another, and merges of stores that have diverged.

mod backup;
mod copy;
mod merge;
mod pages;

pub use self::{
    backup::{BackupReport, backup, check_backup, fingerprint, restore_backup},
    copy::{Copier, CopyReport},
    merge::{Merge, MergeConflict, MergeReason, MergeReport, MergeSide},
};
