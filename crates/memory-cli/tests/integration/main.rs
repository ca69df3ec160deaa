//! Tests that run the command `memory` as a process. Those of Postgres are in `tests/postgres.rs`.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod backup;
mod certificate;
mod chat_imports;
mod cli;
mod cli_fixture;
mod context;
mod copy;
mod crash;
mod damaged_records;
mod database;
mod digest_crash;
mod doors;
mod encryption;
mod first_contact;
mod graph;
mod hook;
mod imports;
mod input_output;
mod install;
mod interrupted_digest;
mod interrupted_reindex;
mod lifecycle;
mod models;
mod open_formats;
mod packaging;
mod regression;
mod reindex_crash;
mod remote;
mod review;
mod running_server;
mod sample_store;
mod screening;
mod serve;
mod serve_memory;
mod synonyms;
mod ui;
