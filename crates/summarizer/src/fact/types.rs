//! Types of a fact: subject, slot, value, polarity and evidence.

use memory_engine_core::{Error, Record, RecordId, RuleId, Timestamp, enum_names};
use serde::{Deserialize, Serialize};

use crate::fact::value_key::value_key;

/// A statement about a person: the `value` of a `slot` of a `subject`.
///
/// A slot is a property of a person, such as `home`, `allergy` or `like`. The name of some slots has a second part
/// after a dot: `family.sister`, `favorite.food`, `plan.interview`.
///
/// A fact extractor of an application builds it by its fields, or by [`ExtractedFact::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtractedFact {
    /// The person: [`ExtractedFact::USER`] or a name, with a relative after a dot, as in `user.sister`.
    pub subject: String,
    /// The slot, such as `home` or `favorite.food`.
    pub slot: String,
    /// The value; [`ExtractedFact::ANY`] in a negative fact that ends every value of the slot.
    pub value: String,
    /// True or denied.
    pub polarity: Polarity,
    /// Number of values that the slot holds at a time.
    pub cardinality: Cardinality,
    /// The kind of fact.
    pub kind: FactKind,
    /// The time from which it holds, if stated.
    pub valid_from: Option<Timestamp>,
    /// The time until which it holds, if stated.
    pub valid_until: Option<Timestamp>,
    /// The time at which it was said.
    pub said_at: Timestamp,
    /// The sequence number of its message, which orders facts of the same time.
    pub sequence: Option<i64>,
    /// The records and quotations that state it. An extractor gives at least one.
    pub evidence: Vec<FactEvidence>,
    /// The fact as a sentence, in the language of its source.
    pub text: String,
    /// Confidence, 0 to 1.
    pub confidence: f64,
    /// The rule that made it, [`RuleId::MODEL`] for a model; `None` for a fact stored before rules had ids.
    #[serde(default)]
    pub rule: Option<RuleId>,
    /// The fact that a person corrected with this one. It is superseded in any slot.
    #[serde(default)]
    pub corrects: Option<RecordId>,
}

impl ExtractedFact {
    /// The subject of statements of users about themselves.
    pub const USER: &'static str = "user";
    /// The wildcard for every value of a slot.
    pub const ANY: &'static str = "*";
    /// The slot of a fact that takes back what was said about its value, in any slot.
    pub const WITHDRAWN: &'static str = "withdrawn";
    /// The family of slots of facts that end others by the name of their value. The part after the dot is the kind of
    /// end, which says in which slots: `ended.quit`.
    pub const ENDED: &'static str = "ended";
    /// The slot of a lasting request to the assistant, in the words of the person. A negative fact ends the wishes that
    /// are about its value.
    pub const WISH: &'static str = "wish";
    /// The slot of a statement that the person asked to remember, if no other slot fits.
    pub const REMEMBERED: &'static str = "remembered";

    /// Creates a fact that a turn states: of the user, positive, of kind `fact`, in a slot that holds many values, with
    /// the whole text of the turn as evidence, and with confidence 0.9. `text` is the fact as a sentence.
    pub fn new(slot: impl Into<String>, value: impl Into<String>, text: impl Into<String>, turn: &Record) -> Self {
        Self {
            subject: Self::USER.to_owned(),
            slot: slot.into(),
            value: value.into(),
            polarity: Polarity::Positive,
            cardinality: Cardinality::Many,
            kind: FactKind::Fact,
            valid_from: None,
            valid_until: None,
            said_at: turn.occurred_at,
            sequence: turn.source.sequence,
            evidence: vec![FactEvidence { record: turn.id, quote: turn.text.clone() }],
            text: text.into(),
            confidence: 0.9,
            rule: None,
            corrects: None,
        }
    }

    /// Returns the value without case, punctuation, articles and plural `s`, so that equal values compare as equal.
    pub fn value_key(&self) -> String {
        if self.value == Self::ANY { self.value.clone() } else { value_key(&self.value) }
    }

    /// Returns true if both are equal except for their values, and the value of this fact contains that of the other.
    /// In a slot with many values, also if the other denies every value: this fact names the denied one.
    pub(crate) fn includes_statement(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.slot == other.slot
            && self.polarity == other.polarity
            && (self.value_key().contains(&other.value_key()) || (other.value == Self::ANY && !self.is_single()))
    }

    /// Returns true if it says that something is over, in the slots of its kind of end.
    pub(crate) fn is_end(&self) -> bool {
        self.slot.split('.').next() == Some(Self::ENDED)
    }

    /// Returns true if both have the same subject, slot, polarity and value, even with other evidence.
    pub(crate) fn is_same_statement(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.slot == other.slot
            && self.polarity == other.polarity
            && self.value_key() == other.value_key()
    }
}

/// A record that states a fact, with the quotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactEvidence {
    /// The record.
    pub record: RecordId,
    /// The quotation from its text.
    pub quote: String,
}

/// Assertion or denial of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    /// It holds.
    Positive,
    /// It does not hold, or no longer.
    Negative,
}

enum_names! {
    Polarity, "polarity" {
        Positive => "positive",
        Negative => "negative",
    }
}

/// The number of values that a slot holds at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cardinality {
    /// One: a newer value supersedes the older.
    Single,
    /// Any number.
    Many,
}

enum_names! {
    Cardinality, "cardinality" {
        Single => "single",
        Many => "many",
    }
}

/// The kind of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// A like, dislike or wish of a person.
    Preference,
    /// A lasting fact.
    Fact,
    /// A fact for a limited time: a plan, an activity of these weeks.
    State,
}

enum_names! {
    FactKind, "kind of fact" {
        Preference => "preference",
        Fact => "fact",
        State => "state",
    }
}
