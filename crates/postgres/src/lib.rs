#![doc = include_str!("../README.md")]

mod backlog;
mod checkup;
mod delete;
mod explain;
mod failure;
mod filter_sql;
mod fuzzy;
mod keyword_search;
mod keywords;
mod lexeme;
mod migration;
mod namespaces;
mod options;
mod origin;
mod packed;
mod put;
mod read;
mod record_store;
mod records;
mod routed;
mod scan;
mod scopes;
mod server;
mod statement;
mod store;
mod synonyms;
mod transaction;
mod vector_index;
mod vector_search;
mod vectors;

pub use checkup::{checkup, namespaces};
pub use explain::Lookup;
pub use migration::{MigrationStatus, SCHEMA, migrate_down, migrate_up, migration_status};
pub use options::{Mismatch, PostgresOptions};
pub use routed::RoutedStore;
pub use store::PostgresStore;
