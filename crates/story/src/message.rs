//! What happens in a story.

use memory_engine::Turn;
use memory_engine_core::{Role, Timestamp};
use memory_engine_summarizer::sentences;

/// A message of a story, as its application has persisted it.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct StoryMessage {
    /// Its id where it comes from: the same id again is the same message, with its new text.
    pub id: String,
    /// Its number on its branch, by which it is cited, inherited and rewound.
    pub sequence: i64,
    /// What it says.
    pub text: String,
    /// What sort of message it is: `timeline`, `intervention`, or the application's own name, such as `system_report`.
    pub kind: String,
    /// Who brought it about.
    pub role: Role,
    /// When, if not now.
    pub at: Option<Timestamp>,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
}

impl StoryMessage {
    /// The kind of what was told.
    pub const TIMELINE: &'static str = "timeline";
    /// The kind of what somebody had happen.
    pub const INTERVENTION: &'static str = "intervention";

    /// What was told: a message of the timeline.
    pub fn timeline(id: impl Into<String>, sequence: i64, text: impl Into<String>) -> Self {
        let (id, text, kind) = (id.into(), text.into(), Self::TIMELINE.to_owned());
        Self { id, sequence, text, kind, role: Role::ASSISTANT, at: None, confidence: 1.0 }
    }

    /// What somebody had happen, once it is consumed.
    pub fn intervention(id: impl Into<String>, sequence: i64, text: impl Into<String>) -> Self {
        let kind = Self::INTERVENTION.to_owned();
        Self { kind, role: Role::USER, ..Self::timeline(id, sequence, text) }
    }

    /// Another sort of message.
    pub fn with_kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = kind.into();
        self
    }

    /// When it happened, if not now.
    pub fn at(mut self, time: Timestamp) -> Self {
        self.at = Some(time);
        self
    }

    /// How sure it is: 0 to 1.
    pub fn with_confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// The turn that it is remembered as; its kind is a label.
    pub(super) fn into_turn(self) -> Turn {
        let turn = Turn::user(self.text).with_role(self.role).with_message_id(self.id).with_sequence(self.sequence);
        let turn = turn.with_tags([self.kind]).with_confidence(self.confidence);
        match self.at {
            Some(time) => turn.at(time),
            None => turn,
        }
    }
}

/// Where a story stands before its next message.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use]
#[non_exhaustive]
pub struct StoryTurn {
    /// The messages that the prompt holds anyway, the oldest first.
    pub recent: Vec<StoryMessage>,
    /// What is to happen: the interventions that wait.
    pub pending: Vec<String>,
}

impl StoryTurn {
    /// After these messages, the oldest first.
    pub fn after(recent: impl IntoIterator<Item = StoryMessage>) -> Self {
        Self { recent: recent.into_iter().collect(), pending: Vec::new() }
    }

    /// With this about to happen.
    pub fn with_pending<T: Into<String>>(mut self, pending: impl IntoIterator<Item = T>) -> Self {
        self.pending.extend(pending.into_iter().map(Into::into));
        self
    }

    /// What is asked, the most pressing first: each sentence of what is to happen, and then of the last message, from
    /// its end. A sentence by itself is about something; a page is about everything.
    pub(super) fn questions(&self, limit: usize) -> Vec<&str> {
        let pending = self.pending.iter().flat_map(|text| sentences(text).into_iter().map(|range| &text[range]));
        let last = self.recent.last().map_or("", |message| message.text.as_str());
        let last = sentences(last).into_iter().rev().map(|range| &last[range]);
        let mut asked: Vec<&str> = Vec::new();
        for sentence in pending.chain(last).filter(|sentence| sentence.chars().any(char::is_alphanumeric)) {
            if asked.len() < limit && !asked.contains(&sentence) {
                asked.push(sentence);
            }
        }
        asked
    }

    /// Everything that is said, the most pressing first: for the names in it.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.pending.iter().map(String::as_str).chain(self.recent.iter().rev().map(|message| message.text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_happen_is_asked_about_before_what_has_just_happened() {
        let recent = ["一。", "The gate fell. 龙骑士逃走了！… The gate fell."];
        let recent = recent.map(|text| StoryMessage::timeline("m", 1, text));
        let turn = StoryTurn::after(recent).with_pending(["女王醒来。她要找Mira。", ""]);
        assert_eq!(turn.questions(9), ["女王醒来。", "她要找Mira。", "The gate fell.", "龙骑士逃走了！…"]);
        assert_eq!(turn.questions(1), ["女王醒来。"]);
        assert!(turn.texts().last().unwrap() == "一。", "the oldest last");
        assert_eq!(StoryTurn::default().questions(3), [""; 0]);
    }
}
