#![doc = include_str!("../README.md")]

mod backlog;
mod changes;
mod checkup;
mod connection;
mod delete;
mod derivations;
mod directory;
mod failure;
mod filter_sql;
mod graph;
mod graph_walk;
mod keyword_index;
mod keyword_search;
mod keywords;
mod migration;
mod options;
mod origin;
mod put;
mod read;
mod readers;
mod record_store;
mod records;
mod scan;
mod scopes;
mod statement;
mod store;
mod synonyms;
mod timeline;
mod vector_index;
mod vectors;
mod writer;

pub use checkup::{checkup, namespaces};
pub use migration::{MIGRATIONS_BY_NAME, SCHEMA, migrate_down, migrate_up, schema};
pub use options::{Mismatch, SqliteOptions};
pub use store::SqliteStore;
