//! Tests of the SQLite stores. The conformance suite runs in programs of its own, since its scenarios are the tests.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agreement;
mod audit;
mod cache_check;
mod damage;
mod embedding_versions;
mod encryption;
mod erasure;
mod file_watch;
mod fixtures;
mod index_caches;
mod leases;
mod metadata_order;
mod opening;
mod record_groups;
mod residue;
mod sharing;
mod sql_views;
mod vector_search;
mod without_encryption;
