//! Removes sentences that the block or the conversation already contains.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use memory_engine_context::{BlockMemories, Statements, without_replies};
use memory_engine_core::{Kind, Record, RecordId, fact_keys};

use super::{
    recalled::{RecalledMemories, has_content},
    trace::MemoryOutcome,
};

/// Maximum size of the latest messages whose sentences are compared. Texts of whole messages are compared by their
/// hashes, at any distance.
const CONVERSATION_MAX_BYTES: usize = 32 * 1024;

/// Memories as they are shown: a sentence that stands elsewhere is cut out of them.
#[derive(Debug, Default)]
pub(super) struct ShownMemories {
    pub(super) core: Vec<Record>,
    /// Facts of the core that are not shown because one of these messages states more.
    stated_core: Vec<(Record, BTreeSet<RecordId>)>,
    relevant: Vec<Record>,
    summaries: Vec<Record>,
    others: Vec<Record>,
}

impl ShownMemories {
    pub(super) fn as_block(&self, past: &BTreeSet<RecordId>) -> BlockMemories<'_> {
        BlockMemories {
            core: self.core.iter().collect(),
            relevant: self.relevant.iter().collect(),
            summaries: self.summaries.iter().collect(),
            others: self.others.iter().collect(),
            past: past.clone(),
        }
    }

    /// Adds the facts of the core again of which no message is among the included records, and returns them.
    pub(super) fn restore_unstated_core(&mut self, included: &[RecordId]) -> Vec<Record> {
        let mut restored = Vec::new();
        self.stated_core.retain(|(fact, messages)| {
            let is_stated = included.iter().any(|id| messages.contains(id));
            if !is_stated {
                restored.push(fact.clone());
            }
            is_stated
        });
        self.core.extend(restored.iter().cloned());
        restored
    }
}

impl RecalledMemories {
    /// Returns the memories without the sentences that the conversation or a memory of a higher rank contains. Of a
    /// fact of the core and a message from which it was read, the one with more letters stays; any other fact makes
    /// room for its message, which is not longer than `max_chars_each`. Summaries come last.
    pub(super) fn without_repeats(&mut self, conversation: &[&str], max_chars_each: usize) -> ShownMemories {
        let records = || self.relevant.iter().chain(&self.others);
        let speakers = records().filter_map(|record| record.named_speaker().map(str::to_owned)).collect();
        let mut statements = Statements::with_speakers(speakers);
        let mut remaining_bytes = CONVERSATION_MAX_BYTES;
        for text in conversation.iter().rev() {
            if let Some(rest) = remaining_bytes.checked_sub(text.len()) {
                remaining_bytes = rest;
                statements.add(text);
            }
        }
        // A message that is cut, or that states what does not hold any more, states nothing for others.
        let is_stating = |record: &&Record| {
            let is_whole = record.text.chars().nth(max_chars_each).is_none();
            record.kind == Kind::TURN && is_whole && !self.past.contains(&record.id)
        };
        let messages: BTreeMap<RecordId, &Record> = records().filter(is_stating).map(|turn| (turn.id, turn)).collect();
        let stating = |record: &Record| -> BTreeSet<RecordId> {
            let sources = record.derived_from.iter().filter(|source| messages.contains_key(source));
            if record.kind == Kind::FACT { sources.copied().collect() } else { BTreeSet::new() }
        };
        let mut core = Vec::new();
        let mut stated_core = Vec::new();
        for fact in &self.core {
            let messages = stating(fact);
            let says_less = quotes(fact).any(|quote| count_letters(quote) > count_letters(&fact.text));
            if says_less && !messages.is_empty() {
                stated_core.push((fact.clone(), messages));
                continue;
            }
            statements.add(&fact.text);
            if !says_less {
                quotes(fact).for_each(|quote| statements.add(quote));
            }
            core.push(fact.clone());
        }
        let mut repeated: Vec<Record> = stated_core.iter().map(|(fact, _)| fact.clone()).collect();
        let mut cut = |records: &mut dyn Iterator<Item = &Record>| -> Vec<Record> {
            let mut kept = Vec::new();
            for record in records {
                let whole = shown_text(record);
                let rest = if stating(record).is_empty() { statements.new_part(&whole) } else { None };
                let is_cut = rest.as_deref() != Some(whole.trim());
                let mut shown = record.clone();
                shown.text = rest.unwrap_or_default();
                // What is left of a message may say nothing by itself.
                if shown.text.is_empty() || (is_cut && !has_content(&shown)) {
                    repeated.push(record.clone());
                } else {
                    kept.push(shown);
                }
            }
            kept
        };
        let is_summary = |record: &&Record| record.kind == Kind::SUMMARY;
        let mut relevant = cut(&mut self.relevant.iter().filter(|record| !is_summary(record)));
        let others = cut(&mut self.others.iter());
        relevant.extend(cut(&mut self.relevant.iter().filter(is_summary)));
        let summaries = cut(&mut self.summaries.iter());
        self.reject(&repeated, MemoryOutcome::Repeated);
        ShownMemories { core, stated_core, relevant, summaries, others }
    }
}

/// Returns the sentences from which a fact was read.
fn quotes(fact: &Record) -> impl Iterator<Item = &str> {
    let quotes = fact.metadata.get(fact_keys::QUOTES).and_then(serde_json::Value::as_array);
    quotes.into_iter().flatten().filter_map(serde_json::Value::as_str)
}

fn shown_text(record: &Record) -> Cow<'_, str> {
    if record.kind == Kind::SUMMARY { without_replies(&record.text).into() } else { (&record.text).into() }
}

fn count_letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}
