//! mem0's routes, as its clients send and read them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "mem0/fixtures.rs"]
mod fixtures;

#[path = "mem0/access.rs"]
mod access;
#[path = "mem0/extraction.rs"]
mod extraction;
#[path = "mem0/faults.rs"]
mod faults;
#[path = "mem0/filtering.rs"]
mod filtering;
#[path = "mem0/open_source.rs"]
mod open_source;
#[path = "mem0/platform.rs"]
mod platform;
#[allow(dead_code, reason = "each test takes what it needs of it")]
#[path = "support/store.rs"]
mod store;
