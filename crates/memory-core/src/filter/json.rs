//! The JSON form of a filter.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Field, Filter, FilterValue, Op, ValueType};
use crate::{error::Error, time::Timestamp};

/// A filter as an object: exactly one of `and`, `or`, `not`, `in`, `exists` and `value` is there.
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
        let of = |field: &Field| Self { field: Some(field.name()), ..Self::default() };
        match filter {
            Filter::Compare(field, op, value) => {
                let op = Some(*op).filter(|op| *op != Op::Eq);
                Self { op, value: Some(value.clone()), ..of(field) }
            }
            Filter::In(field, values) => Self { r#in: Some(values.clone()), ..of(field) },
            Filter::Exists(field) => Self { exists: Some(true), ..of(field) },
            Filter::And(all) => Self { and: Some(all.clone()), ..Self::default() },
            Filter::Or(any) => Self { or: Some(any.clone()), ..Self::default() },
            Filter::Not(one) => Self { not: Some(one.clone()), ..Self::default() },
        }
    }
}

const FORMS: &str = "a filter is {\"field\", \"op\", \"value\"}, {\"field\", \"in\": [...]}, {\"field\", \"exists\": true}, \
                     {\"and\": [...]}, {\"or\": [...]} or {\"not\": {...}}";

impl TryFrom<FilterObject> for Filter {
    type Error = Error;

    fn try_from(object: FilterObject) -> Result<Self, Error> {
        let FilterObject { field, op, value, r#in, exists, and, or, not } = object;
        let field = field.map(|name| name.parse::<Field>()).transpose()?;
        match (field, op, value, r#in, exists, and, or, not) {
            (Some(field), op, Some(value), None, None, None, None, None) => {
                let value = typed(&field, value)?;
                Ok(Self::Compare(field, op.unwrap_or(Op::Eq), value))
            }
            (Some(field), None, None, Some(values), None, None, None, None) => {
                let values = values.into_iter().map(|value| typed(&field, value)).collect::<Result<_, Error>>()?;
                Ok(Self::In(field, values))
            }
            (Some(field), None, None, None, Some(true), None, None, None) => Ok(Self::Exists(field)),
            (Some(field), None, None, None, Some(false), None, None, None) => Ok(!Self::Exists(field)),
            (None, None, None, None, None, Some(all), None, None) => Ok(Self::And(all)),
            (None, None, None, None, None, None, Some(any), None) => Ok(Self::Or(any)),
            (None, None, None, None, None, None, None, Some(one)) => Ok(Self::Not(one)),
            _ => Err(Error::invalid("filter", FORMS)),
        }
    }
}

/// Reads a text as a time if the field holds times.
fn typed(field: &Field, value: FilterValue) -> Result<FilterValue, Error> {
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
