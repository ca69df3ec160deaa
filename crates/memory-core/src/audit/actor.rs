//! The actor of an entry.

use serde::{Deserialize, Serialize};

/// The actor of an action: the name of a key and the program that uses it.
///
/// ```
/// use memory_engine_core::audit::Actor;
///
/// let actor = Actor::new(Some("laptop"), Some("claude-code/2.1"));
/// assert_eq!(actor.key(), Some("laptop"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Actor {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
}

impl Actor {
    /// The key of background work of the engine.
    pub const ENGINE: &'static str = "engine";
    /// Maximum length of a name, in bytes. Longer ones are cut.
    pub const MAX_NAME_BYTES: usize = 256;

    /// Creates an actor. `key` is the name of a key, never the key itself. `agent` is the name of the program or agent,
    /// as it states itself. Control characters become spaces, long names are cut, and empty names count as none.
    pub fn new(key: Option<&str>, agent: Option<&str>) -> Self {
        Self { key: key.and_then(clean_name), agent: agent.and_then(clean_name) }
    }

    /// Returns the actor with these names, as a store has read them. They are not cleaned, so that a changed name does
    /// not pass for the original.
    pub fn stored(key: Option<String>, agent: Option<String>) -> Self {
        Self { key, agent }
    }

    /// Returns the actor of background work.
    pub fn engine() -> Self {
        Self::new(Some(Self::ENGINE), None)
    }

    /// Returns the name of the key. `None` for a program that uses the library and names none.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the name of the program or agent, as it states itself.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }
}

fn clean_name(name: &str) -> Option<String> {
    let mut clean: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let end = (0..=Actor::MAX_NAME_BYTES.min(clean.len())).rev().find(|end| clean.is_char_boundary(*end));
    clean.truncate(end.unwrap_or_default());
    let trimmed = clean.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned_and_cut_between_characters() {
        let actor = Actor::new(Some(" a\nb "), Some("\u{1}"));
        assert_eq!((actor.key(), actor.agent()), (Some("a b"), None));
        let long = Actor::new(Some(&"记".repeat(100)), None);
        assert_eq!(long.key().map(str::len), Some(255));
    }
}
