//! What a settings page sets.

use memory_engine_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// What is written to a mem0 server and what it is asked for. What is not set is as here by default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Mem0Settings {
    /// How many of the last rounds are written when a chat is saved: 1 or 2. 1.
    pub rounds: usize,
    /// How long a write may take, in milliseconds. 1500.
    pub write_limit_ms: u64,
    /// How many messages before the question go into the second query. 6.
    pub recent: usize,
    /// How long that query may be, in characters. 1200.
    pub max_chars: usize,
    /// Whether a question that only points ("你还记得吗？") goes to the second query at once.
    pub weak_at_once: bool,
    /// The least score of a memory, 0 to 1. 0.1.
    pub threshold: f64,
    /// The same for the second query, since no memory fits both the dialogue and the question. 0.05.
    pub context_threshold: f64,
    /// How long one search may take, in milliseconds. 1500.
    pub search_limit_ms: u64,
    /// How many memories are injected at the most, 1 to 100. 5.
    pub limit: u32,
    /// How long their list may be, in characters. 1500.
    pub inject_chars: usize,
    /// Whether a model rewrites the question when both queries found nothing.
    pub rewrite: bool,
    /// What it is told; empty for [the prompt that comes with the engine](memory_engine_context::REWRITE_PROMPT).
    pub rewrite_prompt: String,
    /// How long it may take, in milliseconds. 2500.
    pub rewrite_limit_ms: u64,
}

impl Default for Mem0Settings {
    fn default() -> Self {
        Self {
            rounds: 1,
            write_limit_ms: 1500,
            recent: 6,
            max_chars: 1200,
            weak_at_once: false,
            threshold: 0.1,
            context_threshold: 0.05,
            search_limit_ms: 1500,
            limit: 5,
            inject_chars: 1500,
            rewrite: false,
            rewrite_prompt: String::new(),
            rewrite_limit_ms: 2500,
        }
    }
}

impl Mem0Settings {
    /// Whether these can be.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |message: &str| Err(Error::invalid("settings", message));
        if !(1..=2).contains(&self.rounds) {
            return wrong("rounds is 1 or 2");
        }
        if !(1..=100).contains(&self.limit) {
            return wrong("limit is from 1 to 100");
        }
        let score = 0.0..=1.0;
        if !score.contains(&self.threshold) || !score.contains(&self.context_threshold) {
            return wrong("threshold and context_threshold are from 0 to 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7_settings_are_read_as_far_as_they_are_set_and_checked() {
        let set: Mem0Settings = serde_json::from_str(r#"{"rewrite": true, "rounds": 2}"#).unwrap();
        assert_eq!(set, Mem0Settings { rewrite: true, rounds: 2, ..Mem0Settings::default() });
        set.check().unwrap();
        assert!(serde_json::from_str::<Mem0Settings>(r#"{"rewrites": true}"#).is_err());
        for (wrong, named) in [
            (Mem0Settings { rounds: 3, ..set.clone() }, "rounds"),
            (Mem0Settings { limit: 0, ..set.clone() }, "limit"),
            (Mem0Settings { context_threshold: 1.5, ..set }, "context_threshold"),
        ] {
            assert!(wrong.check().unwrap_err().message().contains(named));
        }
    }
}
