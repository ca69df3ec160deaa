//! Settings of a chat memory, as a settings page shows them.

use memory_engine::{
    Error, Result,
    context::{MAX_CONTEXT_CHARS, MAX_CONTEXT_MESSAGES},
};
use serde::{Deserialize, Serialize};

/// Settings for writing to and searching on a mem0 server. In JSON every field is optional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Mem0Settings {
    /// Number of latest rounds that are written when a chat is saved, 1 or 2. Default: 1.
    pub rounds: usize,
    /// Time limit of a write, in milliseconds. Default: 1500.
    pub write_limit_ms: u64,
    /// Maximum number of messages before the question in the second query. Default: 6.
    pub recent: usize,
    /// Maximum number of characters of the second query. Default: 1200.
    pub max_chars: usize,
    /// True if a question without a topic, such as "你还记得吗？", is only searched for with the second query. Default:
    /// false.
    pub weak_at_once: bool,
    /// Minimum score of a memory, 0 to 1. Default: 0.1.
    pub threshold: f64,
    /// Minimum score for the second query, 0 to 1; lower, because no memory matches both dialogue and question well.
    /// Default: 0.05.
    pub context_threshold: f64,
    /// Time limit of one search, in milliseconds. Default: 1500.
    pub search_limit_ms: u64,
    /// Maximum number of injected memories, 1 to 100. Default: 5.
    pub limit: u32,
    /// Maximum number of characters of their list. Default: 1500.
    pub inject_chars: usize,
    /// True if a model rewrites the question when both queries found nothing. Default: false.
    pub rewrite: bool,
    /// Prompt of that model. Default: empty, which means
    /// [the prompt of the engine](memory_engine::context::REWRITE_PROMPT).
    pub rewrite_prompt: String,
    /// Time limit of the rewrite, in milliseconds. Default: 2500.
    pub rewrite_limit_ms: u64,
}

impl Default for Mem0Settings {
    fn default() -> Self {
        Self {
            rounds: 1,
            write_limit_ms: 1500,
            recent: MAX_CONTEXT_MESSAGES,
            max_chars: MAX_CONTEXT_CHARS,
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
    /// Checks the ranges.
    ///
    /// # Errors
    /// `InvalidInput` with the name of the invalid setting.
    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |message: &str| Err(Error::invalid("settings", message));
        if !(1..=2).contains(&self.rounds) {
            return invalid("rounds must be 1 or 2");
        }
        if !(1..=100).contains(&self.limit) {
            return invalid("limit must be from 1 to 100");
        }
        let score = 0.0..=1.0;
        if !score.contains(&self.threshold) || !score.contains(&self.context_threshold) {
            return invalid("threshold and context_threshold must be from 0 to 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7_settings_are_parsed_with_defaults_and_checked() {
        let set: Mem0Settings = serde_json::from_str(r#"{"rewrite": true, "rounds": 2}"#).unwrap();
        assert_eq!(set, Mem0Settings { rewrite: true, rounds: 2, ..Mem0Settings::default() });
        set.check().unwrap();
        assert!(serde_json::from_str::<Mem0Settings>(r#"{"rewrites": true}"#).is_err());
        for (settings, name) in [
            (Mem0Settings { rounds: 3, ..set.clone() }, "rounds"),
            (Mem0Settings { limit: 0, ..set.clone() }, "limit"),
            (Mem0Settings { context_threshold: 1.5, ..set }, "context_threshold"),
        ] {
            assert!(settings.check().unwrap_err().message().contains(name));
        }
    }
}
