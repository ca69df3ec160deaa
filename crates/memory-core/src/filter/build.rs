//! Short ways to write a filter.

use std::ops::{BitAnd, BitOr, Not};

use jiff::{civil::Date, tz::TimeZone};

use super::{Field, Filter, FilterValue, Op};
use crate::time::Timestamp;

impl Field {
    /// A top-level key of the metadata.
    pub fn meta(key: impl Into<String>) -> Self {
        Self::Metadata(key.into())
    }
}

impl Filter {
    /// Compares the field by an operator.
    pub fn compare(field: Field, op: Op, value: impl Into<FilterValue>) -> Self {
        Self::Compare(field, op, value.into())
    }

    /// The field equals the value.
    ///
    /// ```
    /// use memory_engine_core::{Field, Filter, Kind, Role};
    ///
    /// let notes = Filter::eq(Field::Kind, Kind::NOTE) & Filter::meta("room", 3_u64);
    /// let asked = Filter::eq(Field::Role, Role::USER) | !Filter::eq(Field::Tags, "answered");
    /// (notes | asked).validate()?;
    /// # Ok::<(), memory_engine_core::Error>(())
    /// ```
    pub fn eq(field: Field, value: impl Into<FilterValue>) -> Self {
        Self::compare(field, Op::Eq, value)
    }

    /// The field differs from the value, or is missing.
    #[must_use]
    pub fn ne(field: Field, value: impl Into<FilterValue>) -> Self {
        !Self::eq(field, value)
    }

    /// The field equals one of the values; never, if there are none.
    pub fn any_of<V: Into<FilterValue>>(field: Field, values: impl IntoIterator<Item = V>) -> Self {
        Self::In(field, values.into_iter().map(Into::into).collect())
    }

    /// The metadata has this value under this key.
    pub fn meta(key: impl Into<String>, value: impl Into<FilterValue>) -> Self {
        Self::eq(Field::meta(key), value)
    }

    /// The record occurred at this time or later.
    pub fn since(time: impl Into<Timestamp>) -> Self {
        Self::compare(Field::OccurredAt, Op::Ge, time.into())
    }

    /// The record occurred before this time.
    pub fn until(time: impl Into<Timestamp>) -> Self {
        Self::compare(Field::OccurredAt, Op::Lt, time.into())
    }

    /// The record occurred on this day of this time zone.
    ///
    /// ```
    /// use jiff::{civil::date, tz::TimeZone};
    /// use memory_engine_core::Filter;
    ///
    /// Filter::on_day(date(2024, 5, 1), &TimeZone::UTC).validate()?;
    /// # Ok::<(), memory_engine_core::Error>(())
    /// ```
    pub fn on_day(day: Date, zone: &TimeZone) -> Self {
        let midnight = |day: Date| day.to_zoned(zone.clone()).map_or(jiff::Timestamp::MAX, |day| day.timestamp());
        let next = day.tomorrow().unwrap_or(Date::MAX);
        Self::since(midnight(day)) & Self::until(midnight(next))
    }

    /// Both hold. An `And` gets one more part.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::And(mut all) => {
                all.push(other);
                Self::And(all)
            }
            one @ (Self::Compare(..) | Self::In(..) | Self::Exists(_) | Self::Or(_) | Self::Not(_)) => {
                Self::And(vec![one, other])
            }
        }
    }

    /// At least one holds. An `Or` gets one more part.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Or(mut any) => {
                any.push(other);
                Self::Or(any)
            }
            one @ (Self::Compare(..) | Self::In(..) | Self::Exists(_) | Self::And(_) | Self::Not(_)) => {
                Self::Or(vec![one, other])
            }
        }
    }
}

impl BitAnd for Filter {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOr for Filter {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl Not for Filter {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}
