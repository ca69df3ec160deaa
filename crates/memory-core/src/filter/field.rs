//! The fields that a filter can name.

use std::fmt;

use serde_json::Value as Json;

use super::value::{FilterValue, Op};
use crate::{
    error::{Error, Result},
    id::RecordId,
    record::{Record, Role, State, Trust},
    time::Timestamp,
};

/// A field of a record that a filter can name.
///
/// Kinds, roles, scenes and other names are open sets: a filter for a kind that no record has, such as `turns` for
/// `turn`, is valid and matches nothing. Constants such as [`Kind::TURN`](crate::Kind::TURN) avoid the misspelling.
/// States and trust levels are closed sets, and [`Filter::validate`](crate::Filter::validate) refuses other names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The record's id. It is compared by equality only.
    Id,
    /// The agent of the record's address.
    Agent,
    /// The session of the record's address.
    Session,
    /// The branch of the record's address.
    Branch,
    /// [`Record::kind`].
    Kind,
    /// [`Record::role`].
    Role,
    /// [`Record::speaker`].
    Speaker,
    /// [`Record::scene`].
    Scene,
    /// [`Record::topic`].
    Topic,
    /// [`Record::emotion`].
    Emotion,
    /// [`Record::entities`]: a list.
    Entities,
    /// [`Record::tags`]: a list.
    Tags,
    /// [`Record::confidence`].
    Confidence,
    /// [`Record::importance`].
    Importance,
    /// The message id of [`Record::source`].
    MessageId,
    /// The sequence number of [`Record::source`].
    Sequence,
    /// The round of [`Record::source`].
    Round,
    /// [`Record::trust`].
    Trust,
    /// [`Record::state`].
    State,
    /// [`Record::occurred_at`].
    OccurredAt,
    /// [`Record::recorded_at`].
    RecordedAt,
    /// [`Record::valid_from`].
    ValidFrom,
    /// [`Record::valid_until`].
    ValidUntil,
    /// [`Record::pinned`].
    Pinned,
    /// [`Record::expires_at`].
    ExpiresAt,
    /// A top-level key of [`Record::metadata`]: letters, digits, `_`, `-` and `.`.
    Metadata(String),
}

/// The type of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A number.
    Number,
    /// A point in time.
    Time,
    /// True or false.
    Bool,
    /// A record's id.
    Id,
    /// Any JSON.
    Json,
}

crate::enum_names! {
    ValueType, "type of values" {
        Text => "text",
        Texts => "texts",
        Number => "number",
        Time => "time",
        Bool => "bool",
        Id => "id",
        Json => "json",
    }
}

/// A field's value in one record.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldValue<'a> {
    /// No value: the field is unset, an empty list, or null in JSON.
    Missing,
    /// A text.
    Text(&'a str),
    /// A list that is not empty.
    Texts(&'a [String]),
    /// A number.
    Number(f64),
    /// A point in time.
    Time(Timestamp),
    /// True or false.
    Bool(bool),
    /// An id.
    Id(RecordId),
    /// JSON other than null.
    Json(&'a Json),
}

/// All fields other than metadata keys, with their names and types.
const PLAIN_FIELDS: [(Field, &str, ValueType); 25] = [
    (Field::Id, "id", ValueType::Id),
    (Field::Agent, "agent", ValueType::Text),
    (Field::Session, "session", ValueType::Text),
    (Field::Branch, "branch", ValueType::Text),
    (Field::Kind, "kind", ValueType::Text),
    (Field::Role, "role", ValueType::Text),
    (Field::Speaker, "speaker", ValueType::Text),
    (Field::Scene, "scene", ValueType::Text),
    (Field::Topic, "topic", ValueType::Text),
    (Field::Emotion, "emotion", ValueType::Text),
    (Field::Entities, "entities", ValueType::Texts),
    (Field::Tags, "tags", ValueType::Texts),
    (Field::Confidence, "confidence", ValueType::Number),
    (Field::Importance, "importance", ValueType::Number),
    (Field::MessageId, "message_id", ValueType::Text),
    (Field::Sequence, "sequence", ValueType::Number),
    (Field::Round, "round", ValueType::Number),
    (Field::Trust, "trust", ValueType::Text),
    (Field::State, "state", ValueType::Text),
    (Field::OccurredAt, "occurred_at", ValueType::Time),
    (Field::RecordedAt, "recorded_at", ValueType::Time),
    (Field::ValidFrom, "valid_from", ValueType::Time),
    (Field::ValidUntil, "valid_until", ValueType::Time),
    (Field::Pinned, "pinned", ValueType::Bool),
    (Field::ExpiresAt, "expires_at", ValueType::Time),
];

impl Field {
    /// Returns all fields other than metadata keys.
    pub fn plain() -> impl Iterator<Item = Field> {
        PLAIN_FIELDS.iter().map(|(field, ..)| field.clone())
    }

    /// Returns the name; `metadata.KEY` for a metadata key.
    pub fn name(&self) -> String {
        if let Self::Metadata(key) = self {
            return format!("metadata.{key}");
        }
        self.entry().map(|(_, name, _)| (*name).to_owned()).unwrap_or_default()
    }

    /// Returns the type of the field's values.
    pub fn value_type(&self) -> ValueType {
        self.entry().map_or(ValueType::Json, |(.., value_type)| *value_type)
    }

    fn entry(&self) -> Option<&'static (Field, &'static str, ValueType)> {
        PLAIN_FIELDS.iter().find(|(field, ..)| field == self)
    }

    /// Returns the field's value in a record.
    pub fn of<'a>(&self, record: &'a Record) -> FieldValue<'a> {
        let text = |value: Option<&'a str>| value.map_or(FieldValue::Missing, FieldValue::Text);
        let time = |value: Option<Timestamp>| value.map_or(FieldValue::Missing, FieldValue::Time);
        let texts = |list: &'a [String]| if list.is_empty() { FieldValue::Missing } else { FieldValue::Texts(list) };
        let number = |value: Option<f64>| value.map_or(FieldValue::Missing, FieldValue::Number);
        match self {
            Self::Id => FieldValue::Id(record.id),
            Self::Agent => text(record.scope.agent()),
            Self::Session => text(record.scope.session()),
            Self::Branch => text(record.scope.branch()),
            Self::Kind => FieldValue::Text(record.kind.as_str()),
            Self::Role => text(record.role.as_ref().map(Role::as_str)),
            Self::Speaker => text(record.speaker.as_deref()),
            Self::Scene => text(record.scene.as_deref()),
            Self::Topic => text(record.topic.as_deref()),
            Self::Emotion => text(record.emotion.as_deref()),
            Self::Entities => texts(&record.entities),
            Self::Tags => texts(&record.tags),
            Self::Confidence => FieldValue::Number(record.confidence),
            Self::Importance => FieldValue::Number(record.importance),
            Self::MessageId => text(record.source.message_id.as_deref()),
            Self::Sequence => number(record.source.sequence.map(|n| n as f64)),
            Self::Round => number(record.source.round.map(f64::from)),
            Self::Trust => FieldValue::Text(record.trust.as_str()),
            Self::State => FieldValue::Text(record.state.as_str()),
            Self::OccurredAt => FieldValue::Time(record.occurred_at),
            Self::RecordedAt => FieldValue::Time(record.recorded_at),
            Self::ValidFrom => time(record.valid_from),
            Self::ValidUntil => time(record.valid_until),
            Self::Pinned => FieldValue::Bool(record.pinned),
            Self::ExpiresAt => time(record.expires_at),
            Self::Metadata(key) => match record.metadata.get(key) {
                None | Some(Json::Null) => FieldValue::Missing,
                Some(json) => FieldValue::Json(json),
            },
        }
    }

    /// Checks the characters and the length of a metadata key.
    ///
    /// # Errors
    /// `InvalidInput` if it has other characters than letters, digits, `_`, `-` and `.`, or not 1 to 128 bytes.
    pub fn validate(&self) -> Result<()> {
        let Self::Metadata(key) = self else { return Ok(()) };
        let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !key.is_empty() && key.len() <= 128 && key.chars().all(is_allowed) {
            return Ok(());
        }
        Err(Error::invalid(
            "filter",
            "a metadata key to filter by has 1 to 128 bytes: letters, digits, '_', '-' and '.'",
        ))
    }

    /// Checks that the type of the field supports this comparison.
    ///
    /// # Errors
    /// `InvalidInput`. The message names the field and the values that it accepts.
    pub(super) fn check_comparison(&self, op: Op, value: &FilterValue) -> Result<()> {
        self.validate()?;
        let is_ordering = op != Op::Eq;
        let is_supported = match (self.value_type(), value) {
            (ValueType::Text, FilterValue::Text(_)) | (ValueType::Time, FilterValue::Time(_)) => true,
            (ValueType::Number, FilterValue::Number(n)) => n.is_finite(),
            (ValueType::Texts, FilterValue::Text(_)) => !is_ordering,
            (ValueType::Id, FilterValue::Text(id)) => !is_ordering && id.parse::<RecordId>().is_ok(),
            (ValueType::Json, FilterValue::Text(_)) => true,
            (ValueType::Json, FilterValue::Number(n)) => n.is_finite(),
            (ValueType::Json | ValueType::Bool, FilterValue::Bool(_)) => !is_ordering,
            (
                ValueType::Text
                | ValueType::Time
                | ValueType::Number
                | ValueType::Texts
                | ValueType::Bool
                | ValueType::Id
                | ValueType::Json,
                _,
            ) => false,
        };
        if is_supported {
            return self.check_name(value);
        }
        let accepted = match self.value_type() {
            ValueType::Text => "a text",
            ValueType::Texts => "a text to be equal to (it is a list and has no order)",
            ValueType::Number => "a finite number, an integer of at most 2^53",
            ValueType::Time => "a point in time",
            ValueType::Bool => "true or false to be equal to",
            ValueType::Id => "an id to be equal to",
            ValueType::Json => "a text or a finite number, or true or false to be equal to",
        };
        Err(Error::invalid("filter", format!("'{}' is compared with {accepted}", self.name())))
    }
}

impl Field {
    /// Rejects unknown names of states and trust levels, which are closed sets.
    fn check_name(&self, value: &FilterValue) -> Result<()> {
        match (self, value) {
            (Self::State, FilterValue::Text(name)) => name.parse::<State>().map(drop),
            (Self::Trust, FilterValue::Text(name)) => name.parse::<Trust>().map(drop),
            _ => Ok(()),
        }
    }
}

impl std::str::FromStr for Field {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let field = match text.strip_prefix("metadata.") {
            Some(key) => Self::Metadata(key.into()),
            None => PLAIN_FIELDS
                .iter()
                .find(|(_, name, _)| *name == text)
                .map(|(field, ..)| field.clone())
                .ok_or_else(|| {
                    let names = PLAIN_FIELDS.iter().map(|(_, name, _)| *name).collect::<Vec<_>>().join(", ");
                    Error::invalid("filter", format!("there is no such field; it is one of {names}, or metadata.KEY"))
                })?,
        };
        field.validate().map(|()| field)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FieldValue<'_> {
    /// Returns true if the comparison is true. For a list, it must be true for one of the elements.
    pub fn compares(&self, op: Op, value: &FilterValue) -> bool {
        match (self, value) {
            (Self::Text(left), FilterValue::Text(right)) => op.holds(left.as_bytes(), right.as_bytes()),
            (Self::Texts(list), FilterValue::Text(right)) => op == Op::Eq && list.iter().any(|left| left == right),
            (Self::Number(left), FilterValue::Number(right)) => op.holds(left, right),
            (Self::Time(left), FilterValue::Time(right)) => op.holds(left, right),
            (Self::Bool(left), FilterValue::Bool(right)) => op == Op::Eq && left == right,
            (Self::Id(left), FilterValue::Text(right)) => {
                op == Op::Eq && right.parse().is_ok_and(|id: RecordId| id == *left)
            }
            (Self::Json(Json::Array(list)), _) => list.iter().any(|left| json_compares(left, op, value)),
            (Self::Json(left), _) => json_compares(left, op, value),
            (
                Self::Missing
                | Self::Text(_)
                | Self::Texts(_)
                | Self::Number(_)
                | Self::Time(_)
                | Self::Bool(_)
                | Self::Id(_),
                _,
            ) => false,
        }
    }
}

fn json_compares(left: &Json, op: Op, value: &FilterValue) -> bool {
    match (left, value) {
        (Json::String(left), FilterValue::Text(right)) => op.holds(left.as_bytes(), right.as_bytes()),
        (Json::Number(left), FilterValue::Number(right)) => left.as_f64().is_some_and(|left| op.holds(&left, right)),
        (Json::Bool(left), FilterValue::Bool(right)) => op == Op::Eq && left == right,
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_), _) => false,
    }
}
