//! What is known of the user, in a few lines.

use std::collections::BTreeMap;

use memory_engine_core::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Language, Stage};

/// What is known of the user. An empty field is not known, and not told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Profile {
    /// What the user wants to be called.
    pub nickname: String,
    /// What the user is like.
    pub personality: String,
    /// What the user likes and does not like.
    pub preferences: String,
    /// What a pack asks for besides, by its label, such as `交易风格`.
    pub details: BTreeMap<String, String>,
    /// How the user has been lately, and what about.
    pub recent_topics: String,
    /// How the two stand to each other.
    pub relationship: String,
}

impl Profile {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The section of the context, with the affection as it was when the profile was made.
    pub fn section(&self, language: Language, affection: i32, chapter: u32, stage: &Stage) -> String {
        let affection = format!("{affection}{}", language.chapter(chapter, &stage.name));
        self.lines(language, &affection)
    }

    /// What is known, a line for each field, without a companion.
    pub fn text(&self, language: Language) -> String {
        self.lines(language, "")
    }

    fn lines(&self, language: Language, affection: &str) -> String {
        let words = language.words();
        let lines = [(words.nickname, self.nickname.as_str()), (words.affection, affection)];
        let known = [(words.personality, self.personality.as_str()), (words.preferences, self.preferences.as_str())];
        let details = self.details.iter().map(|(label, text)| (label.as_str(), text.as_str()));
        let rest = [(words.lately, self.recent_topics.as_str()), (words.relationship, self.relationship.as_str())];
        let lines = lines.into_iter().chain(known).chain(details).chain(rest).filter(|(_, text)| !text.is_empty());
        let lines = lines.map(|(label, text)| format!("{label}{}{}", words.colon, one_line(text, language)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The fields under the names of the columns of the table `user_profiles`.
    pub(crate) fn to_metadata(&self) -> Map<String, Value> {
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

    /// Reads the fields of a record of the kind `profile`, whoever wrote it; a summary in one text is what the user is like.
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

    /// With what another one says, wherever that says something.
    #[must_use]
    pub fn with_all_of(mut self, other: Self) -> Self {
        let told = |text: String, own: &mut String| {
            if !text.is_empty() {
                *own = text;
            }
        };
        told(other.nickname, &mut self.nickname);
        told(other.personality, &mut self.personality);
        told(other.preferences, &mut self.preferences);
        told(other.recent_topics, &mut self.recent_topics);
        told(other.relationship, &mut self.relationship);
        self.details.extend(other.details.into_iter().filter(|(_, text)| !text.is_empty()));
        self
    }

    /// Without control characters and within lengths that a line of a prompt may have.
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
        for (text, most) in fields.into_iter().chain(details) {
            *text = cut(&folded(text), most);
        }
        self.details.retain(|_, text| !text.is_empty());
        self
    }
}

/// White space and control characters folded to single blanks.
pub(crate) fn folded(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most so many characters, marked where something is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn one_line(text: &str, language: Language) -> String {
    memory_engine_context::quoted(&folded(text), &language.marks())
}
