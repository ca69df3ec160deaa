//! The memories that are added to one prompt.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use memory_engine::{
    RecordId,
    context::{EstimatedTokens, InjectedMemories, Injection, RequestNotice, TokenCounter},
};

use super::identity::escaped;

/// The memories that are added to the prompt of one request.
#[derive(Debug, Clone, Default)]
pub(super) struct Prompt {
    /// The text to add to the request. Empty for none.
    pub(super) block: String,
    /// The records in the text.
    pub(super) ids: Vec<RecordId>,
    /// The records by their parts of the text.
    pub(super) memories: InjectedMemories,
    /// The notice about a request of the user, which is in the text.
    pub(super) notice: Option<RequestNotice>,
    /// The scene of the message.
    pub(super) scene: Option<String>,
    /// The scene of the session after the message.
    pub(super) session_scene: Option<String>,
    /// The injection rule that applied, for a header.
    pub(super) rule: &'static str,
    /// The stages that failed.
    pub(super) degraded: Vec<&'static str>,
}

impl Prompt {
    /// Sets the memories of an injection.
    pub(super) fn set_memories(&mut self, injection: &Injection) {
        self.rule = injection.decision.rule.as_str();
        self.ids = injection.records.iter().map(|record| record.id).collect();
        self.memories.clone_from(&injection.memories);
        self.block.clone_from(&injection.text);
    }

    /// Counts the prompt by the injection rule that applied, and by its outcome: `injected`, `empty`, or `degraded` if
    /// nothing was injected and a stage failed.
    pub(super) fn count(&self) {
        let rule = if self.rule.is_empty() { "none" } else { self.rule };
        let outcome = match (self.block.is_empty(), self.degraded.is_empty()) {
            (false, _) => "injected",
            (true, true) => "empty",
            (true, false) => "degraded",
        };
        metrics::counter!("memory_gateway_prompts_total", "rule" => rule, "outcome" => outcome).increment(1);
    }

    /// Returns the response headers that report on the memory. `failed_stage` is reported in addition to those that
    /// failed before.
    pub(super) fn headers(&self, failed_stage: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut set = |name: &'static str, value: Option<HeaderValue>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        set("x-memory-rule", HeaderValue::from_str(self.rule).ok());
        set("x-memory-scene", self.scene.as_deref().and_then(escaped));
        if !self.block.is_empty() {
            let ids: Vec<String> = self.ids.iter().map(RecordId::to_string).collect();
            set("x-memory-ids", HeaderValue::try_from(ids.join(",")).ok());
            set("x-memory-tokens", Some(HeaderValue::from(EstimatedTokens.count(&self.block))));
        }
        let degraded: Vec<&str> = self.degraded.iter().copied().chain(failed_stage).collect();
        set("x-memory-degraded", HeaderValue::try_from(degraded.join(", ")).ok());
        headers
    }
}
