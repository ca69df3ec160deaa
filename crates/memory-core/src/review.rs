//! The review of memories before they count: which sources wait for a person.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    enum_names,
    error::{Error, Result},
    record::{Record, State},
};

/// The metadata keys of records that wait, or have waited, for a review.
pub mod review_keys {
    /// The name of the [`ReviewSource`](super::ReviewSource). Acceptance removes it.
    pub const SOURCE: &str = "review_source";
    /// `true` for a record that a person rejected. Its sources are not processed again.
    pub const REJECTED: &str = "review_rejected";
    /// The id of the record that a waiting change replaces.
    pub const REPLACES: &str = "review_replaces";
}

/// The treatment of new memories from one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReviewMode {
    /// They count at once.
    #[default]
    Automatic,
    /// They are stored as [`State::Pending`] until a person accepts or rejects them.
    Review,
    /// They are not stored.
    Reject,
}

enum_names! {
    ReviewMode, "review mode" {
        Automatic => "automatic",
        Review => "review",
        Reject => "reject",
    }
}

/// A source of memories, for which a [`ReviewPolicy`] has a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReviewSource {
    /// Facts that rules extract from turns.
    RuleFacts,
    /// Facts that a language model extracts from turns, and facts of an extractor that names no rule.
    ModelFacts,
    /// Summaries of conversations.
    Summaries,
    /// Profiles of people.
    Profiles,
    /// Records of an import.
    Imports,
    /// Statements that a model or a program stores or changes through a tool, such as MCP's `add_memory`.
    Tools,
}

enum_names! {
    ReviewSource, "review source" {
        RuleFacts => "rule_facts",
        ModelFacts => "model_facts",
        Summaries => "summaries",
        Profiles => "profiles",
        Imports => "imports",
        Tools => "tools",
    }
}

impl ReviewSource {
    /// Returns the source of a record that waits for a review. `None` for a record that was stored as pending by
    /// someone else.
    pub fn of(record: &Record) -> Option<Self> {
        record.metadata.get(review_keys::SOURCE)?.as_str()?.parse().ok()
    }
}

/// The mode of each source of memories. Default: all automatic.
///
/// In text it is a list such as `model_facts=review,imports=reject`. `all` names every source, and `facts` both kinds
/// of facts; later entries override earlier ones. In JSON and TOML it is that text, or a table with the names of
/// sources.
///
/// ```
/// use memory_engine_core::{ReviewMode, ReviewPolicy, ReviewSource};
///
/// let policy: ReviewPolicy = "facts=review,summaries=reject".parse()?;
/// assert_eq!(policy.mode(ReviewSource::RuleFacts), ReviewMode::Review);
/// assert_eq!(policy.mode(ReviewSource::Imports), ReviewMode::Automatic);
/// assert_eq!(policy, ReviewPolicy::default()
///     .with(ReviewSource::RuleFacts, ReviewMode::Review)
///     .with(ReviewSource::ModelFacts, ReviewMode::Review)
///     .with(ReviewSource::Summaries, ReviewMode::Reject));
/// # Ok::<(), memory_engine_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct ReviewPolicy {
    rule_facts: ReviewMode,
    model_facts: ReviewMode,
    summaries: ReviewMode,
    profiles: ReviewMode,
    imports: ReviewMode,
    tools: ReviewMode,
}

impl ReviewPolicy {
    /// Creates a policy with one mode for all sources.
    #[must_use]
    pub fn all(mode: ReviewMode) -> Self {
        ReviewSource::ALL.into_iter().fold(Self::default(), |policy, source| policy.with(source, mode))
    }

    /// Sets the mode of a source.
    #[must_use]
    pub fn with(mut self, source: ReviewSource, mode: ReviewMode) -> Self {
        match source {
            ReviewSource::RuleFacts => self.rule_facts = mode,
            ReviewSource::ModelFacts => self.model_facts = mode,
            ReviewSource::Summaries => self.summaries = mode,
            ReviewSource::Profiles => self.profiles = mode,
            ReviewSource::Imports => self.imports = mode,
            ReviewSource::Tools => self.tools = mode,
        }
        self
    }

    /// Returns the mode of a source.
    pub fn mode(&self, source: ReviewSource) -> ReviewMode {
        match source {
            ReviewSource::RuleFacts => self.rule_facts,
            ReviewSource::ModelFacts => self.model_facts,
            ReviewSource::Summaries => self.summaries,
            ReviewSource::Profiles => self.profiles,
            ReviewSource::Imports => self.imports,
            ReviewSource::Tools => self.tools,
        }
    }

    /// Applies the mode of a source to a new record: the record waits if the source is reviewed. Returns `None` if the
    /// source is rejected. A record that is not active stays as it is.
    pub fn apply(&self, source: ReviewSource, mut record: Record) -> Option<Record> {
        match self.mode(source) {
            ReviewMode::Automatic => Some(record),
            ReviewMode::Review => {
                if record.state == State::Active {
                    record.state = State::Pending;
                    record.metadata.insert(review_keys::SOURCE.to_owned(), source.as_str().into());
                }
                Some(record)
            }
            ReviewMode::Reject => None,
        }
    }
}

impl FromStr for ReviewPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut policy = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let Some((name, mode)) = entry.split_once('=') else {
                let message = format!("{entry:?} has no mode; write SOURCE=MODE, for example model_facts=review");
                return Err(Error::invalid("review policy", message));
            };
            let mode: ReviewMode = mode.trim().parse()?;
            policy = match name.trim() {
                "all" => Self::all(mode),
                "facts" => policy.with(ReviewSource::RuleFacts, mode).with(ReviewSource::ModelFacts, mode),
                name => policy.with(name.parse()?, mode),
            };
        }
        Ok(policy)
    }
}

impl fmt::Display for ReviewPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, source) in ReviewSource::ALL.into_iter().enumerate() {
            let separator = if n == 0 { "" } else { "," };
            write!(f, "{separator}{source}={}", self.mode(source))?;
        }
        Ok(())
    }
}

impl Serialize for ReviewPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ReviewPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;

        impl<'de> de::Visitor<'de> for TextOrTable {
            type Value = ReviewPolicy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of sources and modes, or a text such as \"model_facts=review\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ReviewPolicy, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ReviewPolicy, A::Error> {
                ReviewPolicy::deserialize(de::value::MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(TextOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Scope, SystemClock};

    #[test]
    fn a_policy_is_read_from_text_and_tables() {
        let policy: ReviewPolicy = "all=review, rule_facts=automatic,imports=reject".parse().unwrap();
        for source in ReviewSource::ALL {
            let expected = match source {
                ReviewSource::RuleFacts => ReviewMode::Automatic,
                ReviewSource::Imports => ReviewMode::Reject,
                ReviewSource::ModelFacts | ReviewSource::Summaries | ReviewSource::Profiles | ReviewSource::Tools => {
                    ReviewMode::Review
                }
            };
            assert_eq!(policy.mode(source), expected, "{source}");
        }
        assert_eq!(policy.to_string().parse::<ReviewPolicy>().unwrap(), policy);
        let json = serde_json::to_value(policy).unwrap();
        assert_eq!(json["imports"], "reject");
        assert_eq!(serde_json::from_value::<ReviewPolicy>(json).unwrap(), policy);
        let text = serde_json::json!("summaries=review");
        let expected = ReviewPolicy::default().with(ReviewSource::Summaries, ReviewMode::Review);
        assert_eq!(serde_json::from_value::<ReviewPolicy>(text).unwrap(), expected);
        assert_eq!("".parse::<ReviewPolicy>().unwrap(), ReviewPolicy::default());
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_known_ones() {
        for (text, expected) in [("facts", "SOURCE=MODE"), ("facts=later", "automatic"), ("notes=review", "rule_facts")]
        {
            let error = text.parse::<ReviewPolicy>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let table = serde_json::json!({"fact": "review"});
        let error = serde_json::from_value::<ReviewPolicy>(table).unwrap_err().to_string();
        assert!(error.contains("fact") && error.contains("model_facts"), "{error}");
    }

    #[test]
    fn only_active_records_wait_for_a_review() {
        let policy = ReviewPolicy::default()
            .with(ReviewSource::Tools, ReviewMode::Review)
            .with(ReviewSource::Imports, ReviewMode::Reject);
        let record = Record::new(Scope::user("lin").unwrap(), Kind::NOTE, "x", &SystemClock);
        assert_eq!(policy.apply(ReviewSource::Summaries, record.clone()), Some(record.clone()));
        assert_eq!(policy.apply(ReviewSource::Imports, record.clone()), None);
        let pending = policy.apply(ReviewSource::Tools, record.clone()).unwrap();
        assert_eq!((pending.state, ReviewSource::of(&pending)), (State::Pending, Some(ReviewSource::Tools)));
        let superseded = Record { state: State::Superseded, ..record };
        assert_eq!(policy.apply(ReviewSource::Tools, superseded.clone()), Some(superseded));
    }
}
