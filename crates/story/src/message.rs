//! The messages of a story, and its state before the next message.

use memory_engine::Turn;
use memory_engine_core::{Role, Timestamp};
use memory_engine_summarizer::sentences;

/// A message of a story that its application has persisted.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct StoryMessage {
    /// The id in the application. A message with the id of an earlier one replaces it.
    pub id: String,
    /// The number on its branch. Citations, forks and rewinds refer to it.
    pub sequence: i64,
    /// The text.
    pub text: String,
    /// The kind: `timeline`, `intervention`, or a kind of the application, such as `system_report`.
    pub kind: String,
    /// The author: the model for the timeline, the user for an intervention.
    pub role: Role,
    /// The time. Default: now.
    pub at: Option<Timestamp>,
    /// Confidence, 0 to 1. Default: 1.
    pub confidence: f64,
}

impl StoryMessage {
    /// The kind of messages that tell the story.
    pub const TIMELINE: &'static str = "timeline";
    /// The kind of messages by which a user changes the story.
    pub const INTERVENTION: &'static str = "intervention";

    /// Creates a message of the timeline, which tells a part of the story.
    pub fn timeline(id: impl Into<String>, sequence: i64, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            sequence,
            text: text.into(),
            kind: Self::TIMELINE.to_owned(),
            role: Role::ASSISTANT,
            at: None,
            confidence: 1.0,
        }
    }

    /// Creates an intervention of the user that has become part of the story.
    pub fn intervention(id: impl Into<String>, sequence: i64, text: impl Into<String>) -> Self {
        let kind = Self::INTERVENTION.to_owned();
        Self { kind, role: Role::USER, ..Self::timeline(id, sequence, text) }
    }

    memory_engine_core::setters! {
        /// Sets the kind.
        with_kind(kind: impl Into<String>) => kind = kind.into();
        /// Sets the time.
        at(time: Timestamp) => at = Some(time);
        /// Sets the confidence, 0 to 1.
        with_confidence(confidence: f64);
    }

    /// Returns the turn that is remembered. Its tag is the kind.
    pub(super) fn into_turn(self) -> Turn {
        let turn = Turn::user(self.text).with_role(self.role).with_message_id(self.id).with_sequence(self.sequence);
        let turn = turn.with_tags([self.kind]).with_confidence(self.confidence);
        match self.at {
            Some(time) => turn.at(time),
            None => turn,
        }
    }
}

/// The state of a story before its next message.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use]
#[non_exhaustive]
pub struct StoryTurn {
    /// The messages that are already in the prompt, oldest first.
    pub recent: Vec<StoryMessage>,
    /// The texts of pending interventions: the events that come next.
    pub pending: Vec<String>,
}

impl StoryTurn {
    /// Creates the state after these messages, oldest first.
    pub fn after(recent: impl IntoIterator<Item = StoryMessage>) -> Self {
        Self { recent: recent.into_iter().collect(), pending: Vec::new() }
    }

    /// Adds pending interventions.
    pub fn with_pending<T: Into<String>>(mut self, pending: impl IntoIterator<Item = T>) -> Self {
        self.pending.extend(pending.into_iter().map(Into::into));
        self
    }

    /// Returns at most `limit` search queries, most important first: the sentences of the pending interventions, then
    /// those of the last message from its end. Single sentences are used because a page has no single topic.
    pub(super) fn questions(&self, limit: usize) -> Vec<&str> {
        let pending = self.pending.iter().flat_map(|text| sentences(text).into_iter().map(|range| &text[range]));
        let last = self.recent.last().map_or("", |message| message.text.as_str());
        let last = sentences(last).into_iter().rev().map(|range| &last[range]);
        let mut questions: Vec<&str> = Vec::new();
        for sentence in pending.chain(last).filter(|sentence| sentence.chars().any(char::is_alphanumeric)) {
            if questions.len() < limit && !questions.contains(&sentence) {
                questions.push(sentence);
            }
        }
        questions
    }

    /// Returns all texts, most important first, for the names in them.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.pending.iter().map(String::as_str).chain(self.recent.iter().rev().map(|message| message.text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_interventions_are_searched_before_the_last_message() {
        let recent = ["一。", "The gate fell. 龙骑士逃走了！… The gate fell."];
        let recent = recent.map(|text| StoryMessage::timeline("m", 1, text));
        let turn = StoryTurn::after(recent).with_pending(["女王醒来。她要找Mira。", ""]);
        assert_eq!(turn.questions(9), ["女王醒来。", "她要找Mira。", "The gate fell.", "龙骑士逃走了！…"]);
        assert_eq!(turn.questions(1), ["女王醒来。"]);
        assert!(turn.texts().last().unwrap() == "一。", "the oldest message is last");
        assert_eq!(StoryTurn::default().questions(3), [""; 0]);
    }
}
