//! Operators and values of comparisons.

use crate::time::Timestamp;

/// A relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// What a field is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text, compared byte by byte.
    Text(String),
    /// A number.
    Number(f64),
    /// True or false; only for metadata, and only to be equal to.
    Bool(bool),
    /// A point in time.
    Time(Timestamp),
}

macro_rules! value_from {
    ($($from:ty => |$v:ident| $value:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($v: $from) -> Self {
                $value
            }
        })*
    };
}

value_from! {
    &str => |v| Value::Text(v.into());
    String => |v| Value::Text(v);
    f64 => |v| Value::Number(v);
    i32 => |v| Value::Number(v.into());
    bool => |v| Value::Bool(v);
    Timestamp => |v| Value::Time(v);
}
