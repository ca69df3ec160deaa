#![doc = include_str!("../README.md")]

mod audit;
mod backup;
mod database;
mod events;
mod filter_sql;
mod graph;
mod health_check;
mod keywords;
mod queue;
mod reconcile;
mod records;
mod residue;
mod rows;
mod store;
mod stores;
mod synonyms;
mod vectors;

#[doc(hidden)]
pub use backup::tables;
pub use backup::{BackupMessage, fingerprint, receive_backup, send_backup};
pub use database::{
    migration::{MigrationStatus, SCHEMA, install_views, migrate_down, migrate_up, migration_status, remove_views},
    options::PostgresOptions,
};
pub use events::{EventQuery, MemoryEvent};
#[doc(hidden)]
pub use filter_sql::compiled_filter;
pub use health_check::{check_health, check_health_with_progress, namespaces, repair};
pub use memory_engine_sql::options::{Mismatch, StoreOptions};
pub use residue::find_residue;
pub use store::PostgresStore;
pub use stores::explain::Lookup;

/// The database driver. [`PostgresStore::from_pool`] takes one of its pools.
pub use sqlx;
