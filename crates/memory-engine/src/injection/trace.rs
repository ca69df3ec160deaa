//! The trace of an injection: the memories that were considered, and why each is in the text or not.

use memory_engine_context::{InjectionDecision, RenderedBlock};
use memory_engine_core::{Error, Language, Record, RecordId, enum_names};
use memory_engine_recall::RecallHit;
use serde::{Deserialize, Serialize};

use super::{Injector, recalled::RecalledMemories};

/// The memories that an injection considered, and the limits that decided about them.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InjectionTrace {
    /// The decision of the rules. [`Injection::decision`](crate::context::Injection::decision) differs from it if the
    /// rule only asks for relevant memories, and there are none.
    pub decision: InjectionDecision,
    /// Minimum relevance of a hit of the search.
    pub min_relevance: f64,
    /// Maximum number of memories of a search.
    pub max_memories: usize,
    /// The language of the heading and the labels of the text.
    pub language: Language,
    /// Maximum number of characters of the text.
    pub max_chars: usize,
    /// Maximum number of characters of one memory.
    pub max_chars_each: usize,
    /// The memories, in the order in which they were considered.
    pub considered: Vec<ConsideredMemory>,
}

/// A memory that an injection considered.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ConsideredMemory {
    /// The record.
    pub record: Record,
    /// The reason why it was considered. If there are several, the last one.
    pub source: MemorySource,
    /// The estimated probability (0–1) that it answers the message, if the search found it.
    pub relevance: Option<f64>,
    /// The reason why it is in the text or not.
    pub outcome: MemoryOutcome,
}

/// The reason why a memory is considered for an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemorySource {
    /// It is pinned.
    Pinned,
    /// The search with the message found it.
    Search,
    /// It is a fact of the topic of the message.
    Topic,
    /// It is one of the latest summaries.
    LatestSummaries,
    /// It is one of the latest turns.
    LatestTurns,
    /// It is one of the latest facts of the user.
    Facts,
    /// It belongs to the conversation before this one.
    PreviousSession,
    /// It shows the feeling of the message.
    Emotion,
}

enum_names! {
    MemorySource, "source of an injected memory" {
        Pinned => "pinned",
        Search => "search",
        Topic => "topic",
        LatestSummaries => "latest_summaries",
        LatestTurns => "latest_turns",
        Facts => "facts",
        PreviousSession => "previous_session",
        Emotion => "emotion",
    }
}

/// The reason why a considered memory is in the text or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryOutcome {
    /// It is in the text.
    Injected,
    /// Its relevance is less than [`InjectionTrace::min_relevance`].
    NotRelevant,
    /// It is a turn that only asks, or says nothing ("Nice!").
    NoContent,
    /// The conversation already contains it.
    InConversation,
    /// The caller excluded it, for example because it was injected before.
    Excluded,
    /// The conversation already contains all of its sources.
    DerivedFromConversation,
    /// Enough others of its kind come before it.
    OverLimit,
    /// The budget of pinned memories is used up.
    OverPinnedBudget,
    /// The text has no room for it: others rank before it.
    NoRoom,
}

enum_names! {
    MemoryOutcome, "outcome of a considered memory" {
        Injected => "injected",
        NotRelevant => "not_relevant",
        NoContent => "no_content",
        InConversation => "in_conversation",
        Excluded => "excluded",
        DerivedFromConversation => "derived_from_conversation",
        OverLimit => "over_limit",
        OverPinnedBudget => "over_pinned_budget",
        NoRoom => "no_room",
    }
}

/// The outcome of a memory that nothing has rejected yet. After rendering, [`outcome_in`] replaces it.
const UNDECIDED: MemoryOutcome = MemoryOutcome::Injected;

impl Injector {
    /// Returns the trace of the memories, if it is kept.
    pub(super) fn trace(
        &self,
        recalled: &mut RecalledMemories,
        rendered: &RenderedBlock,
        language: Language,
        decision: &InjectionDecision,
    ) -> Option<InjectionTrace> {
        let mut considered = recalled.considered.take()?;
        for memory in considered.iter_mut().filter(|memory| memory.outcome == UNDECIDED) {
            memory.outcome = outcome_in(rendered, memory.record.id);
        }
        let frame = language.pick(&self.block.chinese, &self.block.english);
        Some(InjectionTrace {
            decision: decision.clone(),
            min_relevance: self.engine.options().min_relevance,
            max_memories: self.limit,
            language,
            max_chars: frame.max_chars,
            max_chars_each: frame.max_chars_each,
            considered,
        })
    }
}

fn outcome_in(rendered: &RenderedBlock, id: RecordId) -> MemoryOutcome {
    if rendered.included.contains(&id) {
        MemoryOutcome::Injected
    } else if rendered.left_out.contains(&id) {
        MemoryOutcome::NoRoom
    } else {
        // The limit on the number of memories has cut it off before rendering.
        MemoryOutcome::OverLimit
    }
}

impl RecalledMemories {
    /// Notes that these records are considered. The outcome of a record that an earlier source rejected is reset.
    pub(super) fn consider(&mut self, source: MemorySource, records: &[Record]) {
        let Some(considered) = &mut self.considered else { return };
        for record in records {
            match considered.iter_mut().find(|known| known.record.id == record.id) {
                Some(known) => (known.source, known.outcome) = (source, UNDECIDED),
                None => considered.push(ConsideredMemory {
                    record: record.clone(),
                    source,
                    relevance: None,
                    outcome: UNDECIDED,
                }),
            }
        }
    }

    /// Notes the hits of the search, and which of them are not relevant.
    pub(super) fn consider_hits(&mut self, hits: &[RecallHit]) {
        if self.considered.is_none() {
            return;
        }
        for hit in hits {
            let record = std::slice::from_ref(&hit.record);
            self.consider(MemorySource::Search, record);
            if !hit.relevant {
                self.reject(record, MemoryOutcome::NotRelevant);
            }
            if let Some(known) = self.considered.iter_mut().flatten().find(|known| known.record.id == hit.record.id) {
                known.relevance = Some(hit.relevance);
            }
        }
    }

    /// Notes why these records are not injected.
    pub(super) fn reject(&mut self, records: &[Record], outcome: MemoryOutcome) {
        let Some(considered) = &mut self.considered else { return };
        for record in records {
            if let Some(known) = considered.iter_mut().find(|known| known.record.id == record.id) {
                known.outcome = outcome;
            }
        }
    }

    /// Removes the records that the conversation contains, and those that the caller excluded.
    pub(super) fn remove_conversation_and_excluded(&mut self, records: &mut Vec<Record>) {
        let is_known = |record: &Record| self.is_in_conversation(record);
        let (known, others): (Vec<Record>, Vec<Record>) = records.drain(..).partition(is_known);
        let (excluded, in_conversation): (Vec<Record>, Vec<Record>) =
            known.into_iter().partition(|record| self.is_excluded(record));
        self.reject(&excluded, MemoryOutcome::Excluded);
        self.reject(&in_conversation, MemoryOutcome::InConversation);
        *records = others;
    }
}
