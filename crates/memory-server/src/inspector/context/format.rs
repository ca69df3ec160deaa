//! The parts of a preview in JSON.

use std::collections::BTreeSet;

use memory_engine::{
    MemoryEngine, RecordId, Result, Scope,
    context::{ConsideredMemory, EstimatedTokens, Injection, InjectionTrace, LayerReport, MemoryOutcome, TokenCounter},
    recall::Degraded,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::record::RecordView;

/// The part of the server that adds memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ContextPath {
    /// The chat gateway, before a message is passed on.
    #[default]
    Gateway,
    /// The hooks of coding agents, before a prompt.
    Hook,
    /// The hooks of coding agents, at the start of a session.
    SessionStart,
    /// The library, for an application that asks for a context.
    Library,
}

/// The text that a model would get, and everything that decided about it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(in crate::inspector) struct ContextPreview {
    pub(super) path: ContextPath,
    /// True if this server serves the path.
    pub(super) served: bool,
    /// The text. Empty if nothing is added.
    pub(super) text: String,
    /// The size of the text, and its limit.
    pub(super) budget: Budget,
    /// Number of tokens of the text, estimated.
    pub(super) tokens: usize,
    /// The rule that decides. Null for a path without rules.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(super) decision: Option<Value>,
    /// The scene of the message. Null for a path without scenes.
    pub(super) scene: Option<String>,
    /// The number of the message in its conversation, from 1. Null for a path without conversations.
    pub(super) round: Option<u64>,
    /// The user whose memories are recalled. Null for all users.
    pub(super) user_id: Option<String>,
    /// The conversation of the message.
    pub(super) session_id: Option<String>,
    /// The settings that limit the text, and its place, by their names in the configuration.
    pub(super) settings: Map<String, Value>,
    /// The parts of the text, in the order in which they were filled.
    pub(super) layers: Vec<PreviewLayer>,
    /// Minimum relevance of a memory that the search finds. Null without a search.
    pub(super) min_relevance: Option<f64>,
    /// The memories that were considered, and why each is in the text or not.
    pub(super) candidates: Vec<Candidate>,
    /// The records that layers and candidates name, by id.
    pub(super) records: Vec<RecordView>,
    /// The stages that failed, with the reason.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub(super) degraded: Vec<Degraded>,
    /// The time of the preview.
    pub(super) took_ms: f64,
}

/// The size of a text, and its limit.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Budget {
    /// `characters` or `tokens`.
    pub(super) unit: &'static str,
    pub(super) used: usize,
    pub(super) limit: usize,
}

/// A part of the text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PreviewLayer {
    pub(super) name: String,
    /// The budget of the layer alone.
    pub(super) budget: usize,
    /// Size in addition to the budget, which the layers filled before did not use.
    pub(super) flowed: usize,
    pub(super) used: usize,
    /// The records in the text.
    #[schemars(with = "Vec<String>")]
    pub(super) included: Vec<RecordId>,
    pub(super) left_out: Vec<LeftOutRecord>,
    /// True if the last item is cut.
    pub(super) cut: bool,
}

/// A record that a layer has no room for.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LeftOutRecord {
    #[schemars(with = "String")]
    pub(super) id: RecordId,
    /// `layer`: the budget of the layer is used up. `whole`: that of the text. `too_large`: the record alone is larger.
    pub(super) reason: &'static str,
}

/// A memory that was considered.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Candidate {
    #[schemars(with = "String")]
    pub(super) id: RecordId,
    /// The reason why it was considered, such as `search`, `pinned` or `latest_turns`.
    pub(super) source: &'static str,
    /// The estimated probability (0–1) that it answers the message. Null if the search did not find it.
    pub(super) relevance: Option<f64>,
    /// `injected`, or the reason why it is not in the text, such as `not_relevant` or `no_room`.
    pub(super) outcome: &'static str,
}

impl From<&ConsideredMemory> for Candidate {
    fn from(memory: &ConsideredMemory) -> Self {
        Self {
            id: memory.record.id,
            source: memory.source.as_str(),
            relevance: memory.relevance,
            outcome: memory.outcome.as_str(),
        }
    }
}

impl From<LayerReport> for PreviewLayer {
    fn from(layer: LayerReport) -> Self {
        let left_out = layer.left_out.iter();
        let left_out = left_out.filter_map(|left| Some(LeftOutRecord { id: left.id?, reason: left.reason.as_str() }));
        let left_out = left_out.collect();
        Self {
            name: layer.name,
            budget: layer.budget,
            flowed: layer.flowed,
            used: layer.tokens,
            included: layer.included,
            left_out,
            cut: layer.cut,
        }
    }
}

impl ContextPreview {
    /// Adds an injection that has a trace.
    pub(super) fn with_injection(mut self, injection: Injection) -> Self {
        let used = injection.text.chars().count();
        self.tokens = EstimatedTokens.count(&injection.text);
        self.text = injection.text;
        self.degraded.extend(injection.degraded);
        self.decision = serde_json::to_value(&injection.decision).ok();
        let Some(trace) = injection.trace else { return self };
        self.decision = serde_json::to_value(&trace.decision).ok();
        self.min_relevance = Some(trace.min_relevance);
        self.budget = Budget { unit: "characters", used, limit: trace.max_chars };
        self.layers = vec![PreviewLayer {
            name: "block".into(),
            budget: trace.max_chars,
            flowed: 0,
            used,
            included: injection.records.iter().map(|record| record.id).collect(),
            left_out: left_out_of_block(&trace),
            cut: false,
        }];
        self.settings.insert("max_memories".into(), trace.max_memories.into());
        self.settings.insert("max_chars".into(), trace.max_chars.into());
        self.settings.insert("max_chars_each".into(), trace.max_chars_each.into());
        self.candidates = trace.considered.iter().map(Candidate::from).collect();
        self.records = trace.considered.iter().map(|memory| RecordView::of(&memory.record)).collect();
        self
    }

    /// Adds the text of a plan with layers.
    pub(super) fn with_layers(mut self, text: String, tokens: usize, limit: usize, layers: Vec<LayerReport>) -> Self {
        self.text = text;
        self.tokens = tokens;
        self.budget = Budget { unit: "tokens", used: tokens, limit };
        self.layers = layers.into_iter().map(PreviewLayer::from).collect();
        self
    }

    /// Adds the records that the layers name and that are not there yet.
    ///
    /// # Errors
    /// The error of the store.
    pub(super) async fn with_records(mut self, engine: &MemoryEngine, scope: &Scope) -> Result<Self> {
        // The candidates have theirs.
        let known: BTreeSet<RecordId> = self.candidates.iter().map(|candidate| candidate.id).collect();
        let mut ids = BTreeSet::new();
        for layer in &self.layers {
            ids.extend(layer.included.iter().copied());
            ids.extend(layer.left_out.iter().map(|left| left.id));
        }
        let ids: Vec<RecordId> = ids.difference(&known).copied().collect();
        let records = engine.get_all(scope, &ids).await?;
        self.records.extend(records.iter().flatten().map(RecordView::of));
        Ok(self)
    }

    /// Adds stages of the memory that failed, without a reason.
    pub(super) fn with_failed_stages(mut self, stages: Vec<&'static str>) -> Self {
        for stage in stages {
            if self.degraded.iter().all(|known| known.stage != stage) {
                self.degraded.push(Degraded { stage, reason: "it failed, or was not ready in time".into() });
            }
        }
        self
    }
}

fn left_out_of_block(trace: &InjectionTrace) -> Vec<LeftOutRecord> {
    let left_out = trace.considered.iter().filter(|memory| memory.outcome == MemoryOutcome::NoRoom);
    left_out.map(|memory| LeftOutRecord { id: memory.record.id, reason: "whole" }).collect()
}
