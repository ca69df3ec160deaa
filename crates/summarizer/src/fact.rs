//! What is known of somebody, one thing at a time.

mod chat;
mod extractor;
mod guard;
mod patterns;
mod plan;
mod record;
mod relatives;
mod rules;
mod slot;
mod value;

pub(crate) use value::one_line;

use memory_engine_core::{RecordId, Timestamp, text::normalize};
use serde::{Deserialize, Serialize};

pub use chat::ChatFacts;
pub use extractor::{FactExtractor, Facts};
pub use patterns::FactPatterns;
pub use record::{fact_keys, render};
pub use rules::RuleFacts;

/// One thing that is known of somebody: of a `subject`, in a `slot`, a `value`.
///
/// A slot is the question that the value answers: `home`, `allergy`, `like`. Some slots have a part behind a dot that says
/// which one of its kind is meant: `family.sister`, `favorite.food`, `plan.interview`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fact {
    /// Whom it is about: [`Fact::USER`], or a name; a relative of theirs behind a dot, as in `user.sister`.
    pub subject: String,
    /// Which question it answers.
    pub slot: String,
    /// The answer; [`Fact::ANY`] in a negative fact that no value of the slot holds any more.
    pub value: String,
    /// Whether it is so, or is not.
    pub polarity: Polarity,
    /// How many values the slot holds at a time.
    pub cardinality: Cardinality,
    /// What sort of thing is known.
    pub kind: FactKind,
    /// From when on it is so, if that was said.
    pub valid_from: Option<Timestamp>,
    /// Until when it is so, if that was said.
    pub valid_until: Option<Timestamp>,
    /// When it was said.
    pub said_at: Timestamp,
    /// The number of the message in which it was said, if there is one: it orders what was said at the same time.
    pub sequence: Option<i64>,
    /// Where it was said: never empty when it comes from an extractor.
    pub evidence: Vec<Evidence>,
    /// The fact as a sentence, in the language that it was said in.
    pub text: String,
    /// How sure it is: 0 to 1.
    pub confidence: f64,
}

impl Fact {
    /// The subject of what a user says of themselves.
    pub const USER: &'static str = "user";
    /// Every value of a slot.
    pub const ANY: &'static str = "*";

    /// The value, folded so that what means the same is the same: without case, marks, articles and a plural's `s`.
    pub fn value_key(&self) -> String {
        value_key(&self.value)
    }
}

/// A place where a fact was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The record.
    pub record: RecordId,
    /// The words of it that say so.
    pub quote: String,
}

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    /// It is.
    Positive,
    /// It is not, or no longer.
    Negative,
}

/// How many values a slot holds at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cardinality {
    /// One: a newer value takes the place of the older.
    Single,
    /// Any number.
    Many,
}

/// What sort of thing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// What somebody likes, wants or avoids.
    Preference,
    /// What is so.
    Fact,
    /// What is so for a while: a plan, an occupation of these weeks.
    State,
}

pub(crate) fn value_key(value: &str) -> String {
    if value == Fact::ANY {
        return value.to_owned();
    }
    let folded = normalize(value);
    let words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    let mut key: Vec<String> = Vec::new();
    for word in words {
        let filler = matches!(word, "a" | "an" | "the" | "any" | "all" | "some" | "my" | "really" | "very" | "of");
        if filler {
            continue;
        }
        let plural =
            word.len() > 3 && word.is_ascii() && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
        key.push(if plural { word[..word.len() - 1].to_owned() } else { word.to_owned() });
    }
    let key = key.join(" ");
    let bare = ["所有的", "所有", "任何", "各种", "一切"].iter().find_map(|all| key.strip_prefix(all));
    bare.filter(|rest| !rest.is_empty()).map(str::to_owned).unwrap_or(key)
}
