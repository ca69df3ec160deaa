//! Filters: conditions over the fields of a record.

mod build;
mod field;
mod json;
#[cfg(test)]
mod tests;
mod value;

pub use field::{Field, FieldValue, ValueType};
pub use value::{FilterValue, Op, compare_numbers};

use crate::{
    error::{Error, Result},
    record::Record,
};

/// A condition over the fields of a record. [`Filter::matches`] defines its meaning.
///
/// Every backend compiles it to its own language and is tested against `matches`. A comparison with a missing field is
/// false, so its negation is true. A list field (tags, entities) compares equal if any element does.
///
/// In JSON a filter is an object. `op` is `eq` (the default), `lt`, `le`, `gt` or `ge`:
///
/// ```
/// use memory_engine_core::{Field, Filter, Kind};
///
/// let filter: Filter = serde_json::from_str(
///     r#"{"and": [
///         {"field": "kind", "value": "note"},
///         {"field": "occurred_at", "op": "ge", "value": "2024-05-01T00:00:00Z"},
///         {"field": "metadata.room", "in": [3, 4]},
///         {"not": {"field": "tags", "value": "answered"}},
///         {"field": "speaker", "exists": true}
///     ]}"#,
/// )?;
/// assert!(matches!(&filter, Filter::And(all) if all[0] == Filter::eq(Field::Kind, Kind::NOTE)));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// A later version may add conditions. A backend fails with `Unsupported` for one that it cannot compile. In the
/// `match` of a backend, `clippy::wildcard_enum_match_arm` reports the known conditions that the wildcard arm covers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// Compares the field with a value.
    Compare(Field, Op, FilterValue),
    /// The field equals one of the values. False if there are none.
    In(Field, Vec<FilterValue>),
    /// The field has a value.
    Exists(Field),
    /// All conditions are true. True if there are none.
    And(Vec<Filter>),
    /// At least one condition is true. False if there are none.
    Or(Vec<Filter>),
    /// The condition is false.
    Not(Box<Filter>),
}

impl Filter {
    /// Maximum nesting depth of a filter.
    pub const MAX_DEPTH: usize = 32;
    /// Maximum number of comparisons and values in a filter.
    pub const MAX_LEAVES: usize = 1000;

    /// Returns true if the record meets the condition. This function is the reference for every backend.
    pub fn matches(&self, record: &Record) -> bool {
        match self {
            Self::Compare(field, op, value) => field.of(record).compares(*op, value),
            Self::In(field, values) => values.iter().any(|value| field.of(record).compares(Op::Eq, value)),
            Self::Exists(field) => !matches!(field.of(record), FieldValue::Missing),
            Self::And(filters) => filters.iter().all(|filter| filter.matches(record)),
            Self::Or(filters) => filters.iter().any(|filter| filter.matches(record)),
            Self::Not(filter) => !filter.matches(record),
        }
    }

    /// Checks the filter.
    ///
    /// # Errors
    /// `InvalidInput` if a field is compared with a value of another type, a list or an id is compared by order, a
    /// metadata key has characters that are not allowed, or the filter exceeds [`MAX_DEPTH`](Self::MAX_DEPTH) or
    /// [`MAX_LEAVES`](Self::MAX_LEAVES). The message names the field and the values that it accepts.
    pub fn validate(&self) -> Result<()> {
        let mut leaves = 0;
        self.validate_at_depth(1, &mut leaves)
    }

    fn validate_at_depth(&self, depth: usize, leaves: &mut usize) -> Result<()> {
        if depth > Self::MAX_DEPTH {
            return Err(Error::invalid("filter", format!("it is nested more than {} deep", Self::MAX_DEPTH)));
        }
        *leaves += match self {
            Self::In(_, values) => values.len().max(1),
            Self::Compare(..) | Self::Exists(_) | Self::And(_) | Self::Or(_) | Self::Not(_) => 1,
        };
        if *leaves > Self::MAX_LEAVES {
            return Err(Error::invalid("filter", format!("it holds more than {} conditions", Self::MAX_LEAVES)));
        }
        match self {
            Self::Compare(field, op, value) => field.check_comparison(*op, value),
            Self::In(field, values) => values.iter().try_for_each(|value| field.check_comparison(Op::Eq, value)),
            Self::Exists(field) => field.validate(),
            Self::And(filters) | Self::Or(filters) => {
                filters.iter().try_for_each(|filter| filter.validate_at_depth(depth + 1, leaves))
            }
            Self::Not(filter) => filter.validate_at_depth(depth + 1, leaves),
        }
    }
}
