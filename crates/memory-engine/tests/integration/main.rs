//! Tests of the engine's public interface. `tests/observe.rs` and `tests/metrics.rs` replace a recorder of the process,
//! so they are programs of their own.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod blocking;
mod branches;
mod builder;
mod deadline;
mod engine;
mod first_lines;
mod given;
mod graph;
mod injection;
mod json;
mod lag;
mod late_interaction;
mod lifecycle;
mod locale;
mod ranking;
mod recall;
mod repetitions;
mod requests;
mod screening;
mod undo;
mod verbs;
mod wrong_answers;
