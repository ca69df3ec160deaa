//! Removes what a text would say twice.

use std::{borrow::Cow, collections::BTreeSet};

use memory_engine_context::{Statements, without_replies};
use memory_engine_core::{Kind, Record, RecordId, fact_keys};

use super::{
    recalled::{RecalledMemories, has_content},
    trace::MemoryOutcome,
};

/// Maximum size of the latest messages whose sentences are compared. Whole messages are compared at any distance.
const CONVERSATION_MAX_BYTES: usize = 32 * 1024;

/// Memories as they are shown: a sentence that stands elsewhere is cut out of them.
#[derive(Debug, Default)]
pub(super) struct ShownMemories {
    pub(super) core: Vec<Record>,
    pub(super) relevant: Vec<Record>,
    pub(super) summaries: Vec<Record>,
    pub(super) others: Vec<Record>,
}

impl RecalledMemories {
    /// Returns the memories without what the conversation or a memory of a higher rank states. Of a fact and the
    /// message that it was read from, the one that says more stays. Summaries come last.
    pub(super) fn without_repeats(&mut self, conversation: &[&str]) -> ShownMemories {
        let mut statements = Statements::default();
        let mut remaining_bytes = CONVERSATION_MAX_BYTES;
        for text in conversation.iter().rev() {
            let Some(rest) = remaining_bytes.checked_sub(text.len()) else { break };
            remaining_bytes = rest;
            statements.add(text);
        }
        let is_turn = |record: &&Record| record.kind == Kind::TURN && !self.past.contains(&record.id);
        let messages: BTreeSet<RecordId> =
            self.relevant.iter().chain(&self.others).filter(is_turn).map(|turn| turn.id).collect();
        let is_stated = |record: &Record| {
            record.kind == Kind::FACT && record.derived_from.iter().any(|source| messages.contains(source))
        };
        let says_less = |fact: &Record| quotes(fact).any(|quote| letters(quote) > letters(&fact.text));
        let (stated, core): (Vec<Record>, Vec<Record>) =
            self.core.iter().cloned().partition(|fact| is_stated(fact) && says_less(fact));
        self.reject(&stated, MemoryOutcome::Repeated);
        for fact in &core {
            statements.add(&fact.text);
            quotes(fact).filter(|_| !says_less(fact)).for_each(|quote| statements.add(quote));
        }
        let mut repeated = Vec::new();
        let mut shown = |records: &[Record], statements: &mut Statements| -> Vec<Record> {
            let mut kept = Vec::new();
            for record in records {
                let rest = if is_stated(record) { None } else { statements.new_part(&shown_text(record)) };
                let mut cut = record.clone();
                cut.text = rest.unwrap_or_default();
                if cut.text.is_empty() || !has_content(&cut) {
                    repeated.push(record.clone());
                } else {
                    kept.push(cut);
                }
            }
            kept
        };
        let (found_summaries, relevant): (Vec<Record>, Vec<Record>) =
            self.relevant.iter().cloned().partition(|record| record.kind == Kind::SUMMARY);
        let mut relevant = shown(&relevant, &mut statements);
        let others = shown(&self.others, &mut statements);
        relevant.extend(shown(&found_summaries, &mut statements));
        let summaries = shown(&self.summaries, &mut statements);
        self.reject(&repeated, MemoryOutcome::Repeated);
        ShownMemories { core, relevant, summaries, others }
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

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}
