#![doc = include_str!("../README.md")]

mod backlog;
mod connection;
mod delete;
mod failure;
mod filter_sql;
mod keyword_search;
mod keywords;
mod migration;
mod options;
mod origin;
mod packed;
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
mod vector_index;
mod vectors;
mod writer;

pub use migration::{SCHEMA, migrate_down};
pub use options::{Mismatch, SqliteOptions};
pub use store::SqliteStore;
