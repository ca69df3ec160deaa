//! Facts that a question asks for in other words than those of the fact.

use memory_engine_context::is_question;
use memory_engine_core::{Record, Timestamp};
use memory_engine_summarizer::{ExtractedFact, FactTopic};

/// Returns the topics of a message about the user. Most topics only count in a question.
pub(crate) fn topics_of(message: &str) -> Vec<FactTopic> {
    if is_question(message) { FactTopic::of_question(message) } else { FactTopic::of_request(message) }
}

/// Returns the facts that hold at this time and belong to one of the topics, in their order.
pub(crate) fn facts_of_topics(mut facts: Vec<Record>, topics: &[FactTopic], now: Timestamp) -> Vec<Record> {
    facts.retain(|record| record.valid_until.is_none_or(|until| now < until) && is_of_topic(record, topics));
    facts
}

/// Returns true for a fact that belongs to one of the topics.
pub(super) fn is_of_topic(record: &Record, topics: &[FactTopic]) -> bool {
    ExtractedFact::from_record(record).is_some_and(|fact| topics.iter().any(|topic| topic.includes(&fact)))
}
