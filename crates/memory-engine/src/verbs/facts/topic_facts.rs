//! Facts that a question asks for in other words than those of the fact.

use memory_engine_context::is_question;
use memory_engine_core::Record;
use memory_engine_summarizer::{ExtractedFact, FactTopic};

/// Returns the topics of a message about the user. Most topics only count in a question.
pub(super) fn topics_of(message: &str) -> Vec<FactTopic> {
    if is_question(message) { FactTopic::of_question(message) } else { FactTopic::of_request(message) }
}

/// Returns true for a fact that belongs to one of the topics.
pub(super) fn is_of_topic(record: &Record, topics: &[FactTopic]) -> bool {
    ExtractedFact::from_record(record).is_some_and(|fact| topics.iter().any(|topic| topic.includes(&fact)))
}
