//! The JSON form of a filter.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Field, Filter, FilterValue, Op, ValueType};
use crate::{error::Error, time::Timestamp};

/// A filter as an object. Exactly one of `and`, `or`, `not`, `in`, `exists` and `value` is set.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a filter: an object with 'field', or with 'and', 'or' or 'not'")]
struct FilterObject {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    op: Option<Op>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<FilterValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    r#in: Option<Vec<FilterValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exists: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    and: Option<Vec<Filter>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    or: Option<Vec<Filter>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not: Option<Box<Filter>>,
}

impl From<&Filter> for FilterObject {
    fn from(filter: &Filter) -> Self {
        let with_field = |field: &Field| Self { field: Some(field.name()), ..Self::default() };
        match filter {
            Filter::Compare(field, op, value) => {
                let op = Some(*op).filter(|op| *op != Op::Eq);
                Self { op, value: Some(value.clone()), ..with_field(field) }
            }
            Filter::In(field, values) => Self { r#in: Some(values.clone()), ..with_field(field) },
            Filter::Exists(field) => Self { exists: Some(true), ..with_field(field) },
            Filter::And(filters) => Self { and: Some(filters.clone()), ..Self::default() },
            Filter::Or(filters) => Self { or: Some(filters.clone()), ..Self::default() },
            Filter::Not(filter) => Self { not: Some(filter.clone()), ..Self::default() },
        }
    }
}

/// The message for an object that is no filter.
const EXPECTED_FORMS: &str = "a filter is {\"field\", \"op\", \"value\"}, {\"field\", \"in\": [...]}, \
                              {\"field\", \"exists\": true}, {\"and\": [...]}, {\"or\": [...]} or {\"not\": {...}}";

impl TryFrom<FilterObject> for Filter {
    type Error = Error;

    fn try_from(object: FilterObject) -> Result<Self, Error> {
        let FilterObject { field, op, value, r#in, exists, and, or, not } = object;
        let field = field.map(|name| name.parse::<Field>()).transpose()?;
        match (field, op, value, r#in, exists, and, or, not) {
            (Some(field), op, Some(value), None, None, None, None, None) => {
                let value = with_field_type(&field, value)?;
                Ok(Self::Compare(field, op.unwrap_or(Op::Eq), value))
            }
            (Some(field), None, None, Some(values), None, None, None, None) => {
                let values =
                    values.into_iter().map(|value| with_field_type(&field, value)).collect::<Result<_, Error>>()?;
                Ok(Self::In(field, values))
            }
            (Some(field), None, None, None, Some(true), None, None, None) => Ok(Self::Exists(field)),
            (Some(field), None, None, None, Some(false), None, None, None) => Ok(!Self::Exists(field)),
            (None, None, None, None, None, Some(filters), None, None) => Ok(Self::And(filters)),
            (None, None, None, None, None, None, Some(filters), None) => Ok(Self::Or(filters)),
            (None, None, None, None, None, None, None, Some(filter)) => Ok(Self::Not(filter)),
            _ => Err(Error::invalid("filter", EXPECTED_FORMS)),
        }
    }
}

/// Converts a text to a time if the field has times.
fn with_field_type(field: &Field, value: FilterValue) -> Result<FilterValue, Error> {
    match value {
        FilterValue::Text(text) if field.value_type() == ValueType::Time => Ok(text.parse::<Timestamp>()?.into()),
        value @ (FilterValue::Text(_) | FilterValue::Number(_) | FilterValue::Bool(_) | FilterValue::Time(_)) => {
            Ok(value)
        }
    }
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FilterObject::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(FilterObject::deserialize(deserializer)?).map_err(|error| D::Error::custom(error.message()))
    }
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|error: Error| D::Error::custom(error.message()))
    }
}
