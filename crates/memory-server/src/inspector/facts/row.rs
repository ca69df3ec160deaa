//! One fact of an answer.

use std::cmp::{Ordering, Reverse};

use memory_engine::{
    Record, RecordId, State, Timestamp,
    enrichment::{ExtractedFact, fact_keys},
    facts::{Fact, FactKind, Polarity},
    history::Edit,
    review::review_keys,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::inspector::clip::{LIST_MAX_CHARS, clip};

/// The state of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FactState {
    /// It holds, or will hold.
    Current,
    /// It waits for a review.
    Pending,
    /// It held until a newer fact superseded it, or until its stated end.
    Ended,
    /// It was retracted or rejected.
    Retired,
}

impl FactState {
    pub(super) fn of(record: &Record, now: Timestamp) -> Self {
        match record.state {
            State::Active if record.is_valid(now) => Self::Current,
            State::Active | State::Superseded => Self::Ended,
            State::Pending => Self::Pending,
            State::Revoked | State::Deleted => Self::Retired,
        }
    }

    /// Returns true if the fact holds, or will hold once it is accepted.
    pub(super) const fn is_open(self) -> bool {
        match self {
            Self::Current | Self::Pending => true,
            Self::Ended | Self::Retired => false,
        }
    }
}

/// A fact.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FactRow {
    #[schemars(with = "String")]
    pub(super) id: RecordId,
    /// The fact as a sentence. Lists contain at most 600 characters of it.
    pub(super) text: String,
    /// The person: `user` or a name, with a relative after a dot, as in `user.sister`.
    pub(super) subject: String,
    /// The attribute, such as `home`; `note` for a fact that was written by hand.
    pub(super) attribute: String,
    /// The value of the attribute. Lists contain at most 600 characters of it.
    pub(super) value: String,
    /// True if the value is denied.
    is_denied: bool,
    /// True if the attribute has one value at a time.
    is_single: bool,
    #[schemars(with = "String")]
    pub(super) kind: FactKind,
    pub(super) state: FactState,
    /// True if a person rejected it instead of accepting it.
    is_rejected: bool,
    valid_from: String,
    valid_until: Option<String>,
    #[schemars(with = "Option<String>")]
    pub(super) superseded_by: Option<RecordId>,
    /// The time at which it was said.
    occurred_at: String,
    /// The time at which it was stored.
    recorded_at: String,
    confidence: f64,
    /// The rule that extracted it, or `model`.
    rule: Option<String>,
    importance: f64,
    is_pinned: bool,
    expires_at: Option<String>,
    user_id: Option<String>,
    agent_id: Option<String>,
    session_id: Option<String>,
    branch: Option<String>,
    /// Number of records that it was derived from.
    sources: usize,
    /// Number of facts that repeat it.
    repeats: usize,
    /// Number of former texts.
    edits: usize,
    /// Number of current or pending facts that contradict it.
    pub(super) contradictions: usize,
    #[serde(skip)]
    position: (Timestamp, i64, RecordId),
}

impl FactRow {
    /// Returns the row of a fact for a list, with its texts clipped.
    pub(super) fn clipped(record: &Record, now: Timestamp) -> Self {
        let mut row = Self::new(record, now);
        row.text = clip(&row.text, LIST_MAX_CHARS).0;
        row.value = clip(&row.value, LIST_MAX_CHARS).0;
        row
    }

    /// Returns the row of a fact with its complete texts.
    pub(super) fn new(record: &Record, now: Timestamp) -> Self {
        let fact = Fact::from_record(record);
        let cardinality = record.metadata.get(fact_keys::CARDINALITY).and_then(serde_json::Value::as_str);
        let repeats = record.metadata.get(fact_keys::CONFIRMED_BY).and_then(serde_json::Value::as_array);
        Self {
            id: record.id,
            text: fact.text,
            subject: fact.subject,
            attribute: fact.attribute,
            value: fact.value,
            is_denied: fact.polarity == Polarity::Negative,
            is_single: cardinality == Some("single"),
            kind: fact.kind,
            state: FactState::of(record, now),
            is_rejected: record.state == State::Revoked && record.metadata.contains_key(review_keys::REJECTED),
            valid_from: fact.valid_from.to_string(),
            valid_until: fact.valid_until.map(|until| until.to_string()),
            superseded_by: fact.superseded_by,
            occurred_at: record.occurred_at.to_string(),
            recorded_at: record.recorded_at.to_string(),
            confidence: fact.confidence,
            rule: fact.rule.map(|rule| rule.to_string()),
            importance: record.importance,
            is_pinned: record.pinned,
            expires_at: record.expires_at.map(|at| at.to_string()),
            user_id: record.scope.user_name().map(str::to_owned),
            agent_id: record.scope.agent().map(str::to_owned),
            session_id: record.scope.session().map(str::to_owned),
            branch: record.scope.branch().map(str::to_owned),
            sources: record.derived_from.len(),
            repeats: repeats.map_or(0, Vec::len),
            edits: Edit::all_of(record).len(),
            // Counted by callers that have read the other facts.
            contradictions: 0,
            position: record.position(),
        }
    }

    /// Returns true if the attribute has several values at a time and this one is not denied. Two such facts never
    /// contradict each other.
    pub(super) const fn is_one_of_many(&self) -> bool {
        !self.is_single && !self.is_denied
    }

    /// Returns true if both facts are about the same subject and attribute of the same user.
    pub(super) fn is_of_same_attribute(&self, other: &Self) -> bool {
        self.attribute_key() == other.attribute_key()
    }

    /// Compares two facts in the order of a list: by user, by subject (the user first), by attribute, newest first.
    pub(super) fn cmp_in_list(&self, other: &Self) -> Ordering {
        let by_attribute = self.attribute_key().cmp(&other.attribute_key());
        by_attribute.then_with(|| Reverse(self.position).cmp(&Reverse(other.position)))
    }

    fn attribute_key(&self) -> (Option<&str>, bool, &str, &str) {
        let is_about_user = self.subject == ExtractedFact::USER;
        (self.user_id.as_deref(), !is_about_user, &self.subject, &self.attribute)
    }
}

/// Returns the fact that a fact repeats.
pub(super) fn merged_into(record: &Record) -> Option<RecordId> {
    if record.state != State::Superseded {
        return None;
    }
    serde_json::from_value(record.metadata.get(fact_keys::MERGED_INTO)?.clone()).ok()
}
