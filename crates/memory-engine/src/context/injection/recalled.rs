//! The memories that are collected for one message.

use std::collections::BTreeSet;

use memory_engine_core::{ContentHash, Error, Kind, Language, Record, RecordId, Result};
use memory_engine_recall::Degraded;
use tokio::time::Instant;

use super::trace::ConsideredMemory;

/// The memories for one message, each list best first.
#[derive(Debug)]
pub(super) struct RecalledMemories {
    /// Memories that answer the message. They come before the others.
    pub(super) relevant: Vec<Record>,
    pub(super) summaries: Vec<Record>,
    pub(super) others: Vec<Record>,
    pub(super) degraded: Vec<Degraded>,
    /// The texts that the conversation already contains.
    conversation: BTreeSet<ContentHash>,
    /// Records that are not injected.
    excluded: BTreeSet<RecordId>,
    /// The memories that were considered; `None` if no trace is kept.
    pub(super) considered: Option<Vec<ConsideredMemory>>,
    pub(super) started: Instant,
}

impl RecalledMemories {
    pub(super) fn new(excluded: BTreeSet<RecordId>, traces: bool) -> Self {
        Self {
            relevant: Vec::new(),
            summaries: Vec::new(),
            others: Vec::new(),
            degraded: Vec::new(),
            conversation: BTreeSet::new(),
            excluded,
            considered: traces.then(Vec::new),
            started: Instant::now(),
        }
    }

    /// Sets the texts that the conversation already contains.
    pub(super) fn set_conversation(&mut self, texts: BTreeSet<ContentHash>) {
        self.conversation = texts;
    }

    /// Returns true if there are messages of the conversation, or excluded records, to compare with.
    pub(super) fn has_conversation(&self) -> bool {
        !(self.conversation.is_empty() && self.excluded.is_empty())
    }

    /// Returns true if the conversation contains the text of the record, or the record is excluded.
    pub(super) fn is_in_conversation(&self, record: &Record) -> bool {
        self.is_excluded(record) || self.conversation.contains(&record.content_hash())
    }

    pub(super) fn is_excluded(&self, record: &Record) -> bool {
        self.excluded.contains(&record.id)
    }

    /// Puts these records before all others, and removes them from the other lists.
    pub(super) fn put_first(&mut self, records: Vec<Record>) {
        let is_other = |record: &Record| records.iter().all(|first| first.id != record.id);
        for list in [&mut self.relevant, &mut self.summaries, &mut self.others] {
            list.retain(is_other);
        }
        self.relevant.splice(0..0, records);
    }

    pub(super) fn add_failure(&mut self, error: &Error) {
        self.degraded.push(Degraded { stage: "injection", reason: error.to_string() });
    }

    /// Returns the records, or none if they could not be read; the failure is added.
    pub(super) fn records_or_failure(&mut self, outcome: Result<Vec<Record>>) -> Vec<Record> {
        outcome.unwrap_or_else(|e| {
            self.add_failure(&e);
            Vec::new()
        })
    }

    /// Returns the language of most of the text.
    pub(super) fn language(&self) -> Language {
        let records = self.relevant.iter().chain(&self.summaries).chain(&self.others);
        let texts: Vec<&str> = records.map(|record| record.text.as_str()).collect();
        Language::of(&texts.join("\n"))
    }

    /// Returns all records: the relevant ones, the summaries, and the others.
    pub(super) fn into_records(self) -> Vec<Record> {
        self.relevant.into_iter().chain(self.summaries).chain(self.others).collect()
    }
}

/// Returns true if a record is worth injecting. Turns that only ask are not: an earlier question is often the most
/// similar record, but no answer. Turns without content ("Nice!") are not either.
pub(super) fn has_content(record: &Record) -> bool {
    let is_empty_turn =
        || memory_engine_context::is_question(&record.text) || memory_engine_context::is_backchannel(&record.text);
    record.kind != Kind::TURN || !is_empty_turn()
}
