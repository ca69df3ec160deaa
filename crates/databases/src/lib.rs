#![doc = include_str!("../README.md")]

mod administration;
mod backend;
#[cfg(feature = "sqlite")]
mod backup;
mod copy;
mod database;
mod merge;
mod runtime;
mod stores;
mod transfer;

#[cfg(feature = "sqlite")]
pub use administration::rekey;
pub use administration::{
    Migrations, check_health, check_health_with_progress, find_residue, install_views, migrate_down, migrate_up,
    migrations, namespaces, remove_views, repair,
};
pub use backend::Backend;
#[cfg(feature = "sqlite")]
pub use backup::{BackupReport, backup, check_backup, fingerprint, restore_backup};
pub use copy::{Copier, CopyReport};
pub use database::Database;
pub use merge::{Merge, MergeConflict, MergeReason, MergeReport, MergeSide};
pub use runtime::check_timers;
pub use stores::Stores;
pub use transfer::TransferEnd;
