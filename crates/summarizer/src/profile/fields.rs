//! The profile of a user and its texts.

use std::collections::BTreeMap;

use memory_engine_core::{Language, Record};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    labels::labels,
    text::{cut, folded, quoted_line},
};

/// A summary of one user, one text for each field. An empty field is unknown and is left out of every text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Profile {
    /// The name by which the user wants to be called.
    pub nickname: String,
    /// The personality of the user.
    pub personality: String,
    /// Likes and dislikes of the user.
    pub preferences: String,
    /// Further fields by label, such as `交易风格`.
    pub details: BTreeMap<String, String>,
    /// The latest mood and topics.
    pub recent_topics: String,
    /// The relationship between user and companion.
    pub relationship: String,
}

impl Profile {
    /// Returns true if every field is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns one line for each field that is not empty.
    pub fn text(&self, language: Language) -> String {
        self.text_with_affection(language, "")
    }

    /// Returns the same lines with `affection` in second place; an empty text adds no line.
    pub fn text_with_affection(&self, language: Language, affection: &str) -> String {
        let labels = labels(language);
        let details = self.details.iter().map(|(label, text)| (label.as_str(), text));
        let affection = affection.to_owned();
        let before = [
            (labels.nickname, &self.nickname),
            (labels.affection, &affection),
            (labels.personality, &self.personality),
            (labels.preferences, &self.preferences),
        ];
        let after = [(labels.recent_topics, &self.recent_topics), (labels.relationship, &self.relationship)];
        let lines = before.into_iter().chain(details).chain(after).filter(|(_, text)| !text.is_empty());
        let lines = lines.map(|(label, text)| format!("{label}{}{}", labels.colon, quoted_line(text, language)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the fields that are not empty as record metadata.
    pub(super) fn to_metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        for (name, text) in [
            ("nickname", &self.nickname),
            ("personality_summary", &self.personality),
            ("preferences_summary", &self.preferences),
            ("relationship_summary", &self.relationship),
            ("recent_topics", &self.recent_topics),
        ] {
            if !text.is_empty() {
                metadata.insert(name.into(), json!(text));
            }
        }
        if !self.details.is_empty() {
            metadata.insert("details".into(), json!(self.details));
        }
        metadata
    }

    /// Returns the profile in a record of the kind `profile`. A record without metadata fields becomes the field
    /// `personality`.
    pub fn of(record: &Record) -> Self {
        let text = |name: &str| record.metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let details = record.metadata.get("details").cloned().unwrap_or_default();
        let profile = Self {
            nickname: text("nickname"),
            personality: text("personality_summary"),
            preferences: text("preferences_summary"),
            details: serde_json::from_value(details).unwrap_or_default(),
            recent_topics: text("recent_topics"),
            relationship: text("relationship_summary"),
        };
        if profile.is_empty() { Self { personality: record.text.clone(), ..profile } } else { profile }
    }

    /// Replaces each field that is not empty in `other` with its text.
    #[must_use]
    pub fn with_all_of(mut self, other: Self) -> Self {
        for (text, own) in [
            (other.nickname, &mut self.nickname),
            (other.personality, &mut self.personality),
            (other.preferences, &mut self.preferences),
            (other.recent_topics, &mut self.recent_topics),
            (other.relationship, &mut self.relationship),
        ] {
            if !text.is_empty() {
                *own = text;
            }
        }
        self.details.extend(other.details.into_iter().filter(|(_, text)| !text.is_empty()));
        self
    }

    /// Returns the profile without control characters, with fields short enough for a line of a prompt.
    #[must_use]
    pub fn tidied(mut self) -> Self {
        let fields = [
            (&mut self.nickname, 32),
            (&mut self.personality, 200),
            (&mut self.preferences, 200),
            (&mut self.recent_topics, 200),
            (&mut self.relationship, 200),
        ];
        let details = self.details.values_mut().map(|text| (text, 200));
        for (text, max_chars) in fields.into_iter().chain(details) {
            *text = cut(&folded(text), max_chars);
        }
        self.details.retain(|_, text| !text.is_empty());
        self
    }
}
