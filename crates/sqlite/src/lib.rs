#![doc = include_str!("../README.md")]

// The SQLite of `rusqlite` in a build with encryption.
extern crate memory_engine_sqlite3mc as _;

mod audit;
mod backup;
mod cache;
mod database;
mod filter_sql;
mod graph;
mod health_check;
mod keywords;
mod metadata_sql;
mod queue;
mod reconcile;
mod records;
mod residue;
mod rows;
mod store;
mod stores;
mod synonyms;
mod vectors;

pub use backup::{BackupReport, BackupWriter, back_up, check_backup, fingerprint, read_backup, restore_backup};
pub use database::{
    encryption::EncryptionKey,
    file::DatabaseFile,
    migration::{install_views, installed_views, migrate_down, migrate_up, remove_views, schema},
    options::{SqliteOptions, Synchronous},
    rekey::rekey,
    schema::{SCHEMA, migration_names},
};
pub use health_check::{check_health, check_health_with_progress, namespaces, repair};
pub use memory_engine_sql::options::{Mismatch, StoreOptions};
pub use residue::find_residue;
pub use store::SqliteStore;
