#![doc = include_str!("../README.md")]

mod cache;
mod checkup;
mod database;
mod filter_sql;
mod graph;
mod keywords;
mod options;
mod queue;
mod records;
mod store;
mod synonyms;
mod vectors;

pub use checkup::{checkup, namespaces};
pub use database::migration::{MIGRATIONS_BY_NAME, SCHEMA, migrate_down, migrate_up, schema};
pub use options::{Mismatch, SqliteOptions};
pub use store::SqliteStore;
