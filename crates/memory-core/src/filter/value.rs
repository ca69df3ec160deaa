//! Operators and values of comparisons.

use std::{fmt, time::SystemTime};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    id::RecordId,
    record::{Kind, Role, State, Trust},
    time::Timestamp,
};

/// A relation between a field and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Equal.
    Eq,
    /// Less: earlier, smaller, or before it byte by byte.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl Op {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Eq, Self::Lt, Self::Le, Self::Gt, Self::Ge];

    /// The name: `eq`, `lt`, `le`, `gt` or `ge`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
        }
    }

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

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Op {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = || Error::invalid("filter", format!("there is no operator '{text}'; it is eq, lt, le, gt or ge"));
        Self::ALL.into_iter().find(|op| op.as_str() == text).ok_or_else(known)
    }
}

/// A value that a field is compared with.
///
/// Roles, kinds, states, trust levels, ids, numbers and times convert into it. A number is stored as `f64`; an integer that
/// `f64` cannot hold exactly (beyond 2^53) makes a filter that [`Filter::validate`](crate::Filter::validate) refuses.
///
/// In JSON it is a text, a number, `true` or `false`. A time is a text in RFC 3339, which a
/// [`Filter`](crate::Filter) reads as a time if its field holds one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FilterValue {
    /// True or false; only for metadata, and only to be equal to.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text, compared byte by byte.
    Text(String),
    /// A point in time.
    #[serde(skip_deserializing)]
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

/// A number that `f64` holds exactly, or one that is no number, which every filter refuses.
fn exact(integer: i128) -> FilterValue {
    let number = integer as f64;
    FilterValue::Number(if number as i128 == integer { number } else { f64::NAN })
}
