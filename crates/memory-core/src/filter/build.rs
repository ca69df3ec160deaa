//! Constructors and operators for filters.

use std::ops::{BitAnd, BitOr, Not};

use jiff::{civil::Date, tz::TimeZone};

use super::{Field, Filter, FilterValue, Op};
use crate::time::Timestamp;

impl Field {
    /// Returns the field of a top-level metadata key.
    pub fn meta(key: impl Into<String>) -> Self {
        Self::Metadata(key.into())
    }
}

impl Filter {
    /// Compares the field with a value.
    pub fn compare(field: Field, op: Op, value: impl Into<FilterValue>) -> Self {
        Self::Compare(field, op, value.into())
    }

    /// True if the field equals the value.
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

    /// True if the field differs from the value, or has none.
    #[must_use]
    pub fn ne(field: Field, value: impl Into<FilterValue>) -> Self {
        !Self::eq(field, value)
    }

    /// True if the field equals one of the values. False if there are none.
    pub fn any_of<V: Into<FilterValue>>(field: Field, values: impl IntoIterator<Item = V>) -> Self {
        Self::In(field, values.into_iter().map(Into::into).collect())
    }

    /// True if the metadata key has this value.
    pub fn meta(key: impl Into<String>, value: impl Into<FilterValue>) -> Self {
        Self::eq(Field::meta(key), value)
    }

    /// True if the record occurred at this time or later.
    pub fn since(time: impl Into<Timestamp>) -> Self {
        Self::compare(Field::OccurredAt, Op::Ge, time.into())
    }

    /// True if the record occurred before this time.
    pub fn until(time: impl Into<Timestamp>) -> Self {
        Self::compare(Field::OccurredAt, Op::Lt, time.into())
    }

    /// True if the record occurred on this day of this time zone.
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

    /// True if both are true. Appends `other` to an `And`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::And(mut filters) => {
                filters.push(other);
                Self::And(filters)
            }
            filter @ (Self::Compare(..) | Self::In(..) | Self::Exists(_) | Self::Or(_) | Self::Not(_)) => {
                Self::And(vec![filter, other])
            }
        }
    }

    /// True if at least one is true. Appends `other` to an `Or`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Or(mut filters) => {
                filters.push(other);
                Self::Or(filters)
            }
            filter @ (Self::Compare(..) | Self::In(..) | Self::Exists(_) | Self::And(_) | Self::Not(_)) => {
                Self::Or(vec![filter, other])
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
