//! The chat gateway between a scripted client and a scripted model service.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod dialects;
mod fixtures;
mod forwarding;
mod prompts;
mod regeneration;
mod scenes;
mod storing;
mod streams;
#[path = "../support/mod.rs"]
mod support;
