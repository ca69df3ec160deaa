//! The chat gateway between a client and a service with models, both scripted.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod given;
mod passing;
mod prompts;
mod storing;
mod streams;
#[path = "../support/mod.rs"]
mod support;
