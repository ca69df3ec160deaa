//! The memories that are collected for one message.

use std::collections::BTreeSet;

use memory_engine_core::{ContentHash, Error, Kind, Language, Record, RecordId, Result};
use tokio::time::Instant;

use super::trace::ConsideredMemory;
use crate::hit::Degraded;

/// The memories for one message, each list best first.
#[derive(Debug)]
pub(super) struct RecalledMemories {
    /// Memories that always matter. They come before all others.
    pub(super) core: Vec<Record>,
    /// Memories that answer the message. They come before the others.
    pub(super) relevant: Vec<Record>,
    pub(super) summaries: Vec<Record>,
    pub(super) others: Vec<Record>,
    /// The memories of which a part does not hold any more.
    pub(super) past: BTreeSet<RecordId>,
    pub(super) degraded: Vec<Degraded>,
    /// True if replies of the model may be injected: the message may ask for them.
    pub(super) includes_replies: bool,
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
            core: Vec::new(),
            relevant: Vec::new(),
            summaries: Vec::new(),
            others: Vec::new(),
            past: BTreeSet::new(),
            degraded: Vec::new(),
            includes_replies: true,
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

    /// Removes the memories of the core from the other lists.
    pub(super) fn remove_core_from_others(&mut self) {
        for list in [&mut self.relevant, &mut self.summaries, &mut self.others] {
            list.retain(|record| self.core.iter().all(|core| core.id != record.id));
        }
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
        let records = self.core.iter().chain(&self.relevant).chain(&self.summaries).chain(&self.others);
        let texts: Vec<&str> = records.map(|record| record.text.as_str()).collect();
        Language::of(&texts.join("\n"))
    }

    /// Returns all records: the core, the relevant ones, the summaries, and the others.
    pub(super) fn into_records(self) -> Vec<Record> {
        self.core.into_iter().chain(self.relevant).chain(self.summaries).chain(self.others).collect()
    }
}

/// Returns true if a record is worth injecting. Turns that only ask are not: an earlier question is often the most
/// similar record, but no answer. Turns without content ("Nice!") are not either.
pub(super) fn has_content(record: &Record) -> bool {
    let is_empty_turn =
        || memory_engine_context::is_question(&record.text) || memory_engine_context::is_backchannel(&record.text);
    record.kind != Kind::TURN || !is_empty_turn()
}
