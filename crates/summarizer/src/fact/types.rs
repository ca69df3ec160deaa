//! A fact and its parts.

use memory_engine_core::{RecordId, RuleId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::fact::value_key::value_key;

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
    /// The rule that made it, [`RuleId::MODEL`] for a model; `None` for a fact stored before rules had ids.
    #[serde(default)]
    pub rule: Option<RuleId>,
}

impl Fact {
    /// The subject of what a user says of themselves.
    pub const USER: &'static str = "user";
    /// Every value of a slot.
    pub const ANY: &'static str = "*";

    /// The value, folded so that what means the same is the same: without case, marks, articles and a plural's `s`.
    pub fn value_key(&self) -> String {
        if self.value == Self::ANY { self.value.clone() } else { value_key(&self.value) }
    }

    /// Returns true if another fact states the same, whatever its evidence.
    pub(crate) fn states_same(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.slot == other.slot
            && self.polarity == other.polarity
            && self.value_key() == other.value_key()
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
