//! Tests of the server's protocols. Those with official clients, in a browser and on every database are programs of their
//! own, since each script or database is a test.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod audit;
mod audit_reads;
mod compatibility;
mod connections;
mod debugging;
mod deletions;
mod gateway;
mod hooks;
mod inspector_figures;
mod inspector_previews;
mod intake;
mod isolation;
mod limits;
mod mcp;
mod mem0;
mod metrics_key;
mod oauth;
mod openapi;
mod records;
mod review;
#[path = "../support/mod.rs"]
mod support;
mod tools;
