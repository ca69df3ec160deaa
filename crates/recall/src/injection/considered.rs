//! Collects the trace of an injection.

use memory_engine_context::{InjectionDecision, RenderedBlock};
use memory_engine_core::{Kind, Language, Record, RecordId, Role};

use super::{
    Injector,
    recalled::RecalledMemories,
    trace::{ConsideredMemory, InjectionTrace, MemoryOutcome, MemorySource},
};
use crate::hit::{RecallHit, Retriever};

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
            min_relevance: self.pipeline.parts().options.min_relevance,
            max_memories: self.limit,
            language,
            max_chars: frame.max_chars,
            max_chars_each: frame.max_chars_each,
            considered,
        })
    }
}

/// Returns why a hit is considered.
fn source_of(hit: &RecallHit) -> MemorySource {
    let is_found_by = |retriever| hit.found_by.iter().any(|found| found.retriever == retriever);
    match (is_found_by(Retriever::Update), is_found_by(Retriever::Topic)) {
        (true, _) => MemorySource::Update,
        (false, true) => MemorySource::Topic,
        (false, false) => MemorySource::Search,
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
            self.consider(source_of(hit), record);
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

    /// Removes replies of the model, unless the message may ask for what it said.
    pub(super) fn remove_unasked_replies(&mut self, records: &mut Vec<Record>) {
        if self.includes_replies {
            return;
        }
        let is_reply = |record: &Record| record.kind == Kind::TURN && record.role.as_ref() == Some(&Role::ASSISTANT);
        let (replies, others): (Vec<Record>, Vec<Record>) = records.drain(..).partition(is_reply);
        self.reject(&replies, MemoryOutcome::NotAsked);
        *records = others;
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
