//! Summaries of several turns, written by a model or extracted by rules.

mod chat;
mod extractive;
mod graph_rank;
mod record;
mod types;

pub use chat::{ChatSummarizer, SUMMARY_PROMPT};
pub use extractive::ExtractiveSummarizer;
pub use types::{Summarizer, Summary, SummaryRequest};
