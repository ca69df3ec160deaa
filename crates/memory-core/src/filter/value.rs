//! Operators and values of comparisons.

use std::{cmp::Ordering, fmt, time::SystemTime};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};
use serde_json::Number;

use crate::{
    error::Error,
    id::RecordId,
    record::{Kind, Role, State, Trust},
    time::Timestamp,
};

/// Maximum integer up to which `f64` represents every integer: 2^53.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Op {
    /// Equal.
    Eq,
    /// Less: smaller, earlier, or before the value in byte order.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

crate::enum_names! {
    Op, "operator" {
        Eq => "eq",
        Lt => "lt",
        Le => "le",
        Gt => "gt",
        Ge => "ge",
    }
}

impl Op {
    pub(super) fn holds<T: PartialOrd + ?Sized>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Eq => left == right,
            Self::Lt => left < right,
            Self::Le => left <= right,
            Self::Gt => left > right,
            Self::Ge => left >= right,
        }
    }
}

/// A value that a field is compared with.
///
/// Roles, kinds, states, trust levels, ids, numbers and times convert into it. A number is stored as `f64`. A filter
/// with an integer beyond 2^53, which `f64` rounds, fails [`Filter::validate`](crate::Filter::validate).
///
/// In JSON it is a text, a number, `true` or `false`. Deserialization rejects an integer beyond 2^53. A
/// time is a text in RFC 3339, which a [`Filter`](crate::Filter) converts if its field has times.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FilterValue {
    /// True or false, for equality with metadata.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text, compared byte by byte.
    Text(String),
    /// A point in time.
    Time(Timestamp),
}

macro_rules! value_from {
    ($($from:ty => |$v:ident| $value:expr;)*) => {
        $(impl From<$from> for FilterValue {
            fn from($v: $from) -> Self {
                $value
            }
        })*
    };
}

value_from! {
    &str => |v| Self::Text(v.into());
    String => |v| Self::Text(v);
    &String => |v| Self::Text(v.clone());
    Role => |v| Self::Text(v.as_str().into());
    &Role => |v| Self::Text(v.as_str().into());
    Kind => |v| Self::Text(v.as_str().into());
    &Kind => |v| Self::Text(v.as_str().into());
    State => |v| Self::Text(v.as_str().into());
    Trust => |v| Self::Text(v.as_str().into());
    RecordId => |v| Self::Text(v.to_string());
    bool => |v| Self::Bool(v);
    Timestamp => |v| Self::Time(v);
    SystemTime => |v| Self::Time(v.into());
    jiff::Timestamp => |v| Self::Time(v.into());
    jiff::Zoned => |v| Self::Time(v.timestamp().into());
    f64 => |v| Self::Number(v);
    f32 => |v| Self::Number(v.into());
    i8 => |v| Self::Number(v.into());
    i16 => |v| Self::Number(v.into());
    i32 => |v| Self::Number(v.into());
    u8 => |v| Self::Number(v.into());
    u16 => |v| Self::Number(v.into());
    u32 => |v| Self::Number(v.into());
    i64 => |v| exact(v.into());
    u64 => |v| exact(v.into());
    isize => |v| exact(v as i128);
    usize => |v| exact(v as i128);
}

/// Returns the number, or NaN if `f64` cannot represent it. Validation rejects NaN.
fn exact(integer: i128) -> FilterValue {
    FilterValue::Number(to_exact_f64(integer).unwrap_or(f64::NAN))
}

fn to_exact_f64(integer: i128) -> Option<f64> {
    // A greater integer may be a number of `f64`, but the values that it is compared with are rounded to the same one.
    (integer.unsigned_abs() <= 1 << 53).then_some(integer as f64)
}

/// Compares two numbers exactly, also integers that `f64` cannot represent. `None` if one is not a finite number.
pub fn compare_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Returns the number if it is whole. Beyond 2^100 every number counts as a fraction.
fn whole(number: &Number) -> Option<i128> {
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < 2_f64.powi(100);
    let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    integer.or_else(|| number.as_f64().filter(is_whole).map(|number| number as i128))
}

/// Writes whole numbers without a fraction.
impl Serialize for FilterValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Number(number) if number.fract() == 0.0 && number.abs() <= MAX_EXACT_INTEGER => {
                serializer.serialize_i64(*number as i64)
            }
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Time(time) => time.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FilterValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl Visitor<'_> for ValueVisitor {
    type Value = FilterValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false")
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> std::result::Result<FilterValue, E> {
        Ok(FilterValue::Bool(truth))
    }

    fn visit_i64<E: de::Error>(self, integer: i64) -> std::result::Result<FilterValue, E> {
        self.visit_i128(integer.into())
    }

    fn visit_u64<E: de::Error>(self, integer: u64) -> std::result::Result<FilterValue, E> {
        self.visit_i128(integer.into())
    }

    fn visit_i128<E: de::Error>(self, integer: i128) -> std::result::Result<FilterValue, E> {
        let inexact = || E::custom(format!("the number {integer} loses digits; an integer is at most 2^53"));
        to_exact_f64(integer).map(FilterValue::Number).ok_or_else(inexact)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> std::result::Result<FilterValue, E> {
        Ok(FilterValue::Number(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<FilterValue, E> {
        Ok(FilterValue::Text(text.to_owned()))
    }
}
