//! Conditions over the fields of a record.

mod build;
mod field;
mod json;
#[cfg(test)]
mod tests;
mod value;

pub use field::{Field, FieldValue, ValueType};
pub use value::{FilterValue, Op};

use crate::{
    error::{Error, Result},
    record::Record,
};

/// A condition over the fields of a record. [`Filter::matches`] defines its meaning.
///
/// Every backend compiles it to its own language and is tested against `matches`. A comparison with a missing field is
/// false, and so `Not` of it is true. A list field (tags, entities) compares equal when any element does.
///
/// In JSON a filter is an object. `op` is `eq`, `lt`, `le`, `gt` or `ge`, and `eq` if it is left out:
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
/// A later version may add conditions. A backend fails with `Unsupported` for one that it does not compile; in its
/// match, `clippy::wildcard_enum_match_arm` reports every condition that is known and left to the wildcard.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// Compares the field with a value.
    Compare(Field, Op, FilterValue),
    /// The field equals one of the values; never, when there are none.
    In(Field, Vec<FilterValue>),
    /// The field is there.
    Exists(Field),
    /// All hold; true when there are none.
    And(Vec<Filter>),
    /// At least one holds; false when there are none.
    Or(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
}

impl Filter {
    /// Maximum depth of a filter.
    pub const MAX_DEPTH: usize = 32;
    /// Maximum number of comparisons and values in a filter.
    pub const MAX_LEAVES: usize = 1000;

    /// Returns true if the record fulfils the condition. Every backend agrees with this function.
    pub fn matches(&self, record: &Record) -> bool {
        match self {
            Self::Compare(field, op, value) => field.of(record).compares(*op, value),
            Self::In(field, values) => values.iter().any(|value| field.of(record).compares(Op::Eq, value)),
            Self::Exists(field) => !matches!(field.of(record), FieldValue::Missing),
            Self::And(all) => all.iter().all(|f| f.matches(record)),
            Self::Or(any) => any.iter().any(|f| f.matches(record)),
            Self::Not(one) => !one.matches(record),
        }
    }

    /// Refuses a filter that makes no sense: a field compared with a value of another type, a list or an id ordered,
    /// a metadata key that is no plain name, or a tree that is too deep or too large.
    ///
    /// # Errors
    /// `InvalidInput`, naming the field and what it takes.
    pub fn validate(&self) -> Result<()> {
        let mut leaves = 0;
        self.validate_below(1, &mut leaves)
    }

    fn validate_below(&self, depth: usize, leaves: &mut usize) -> Result<()> {
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
            Self::Compare(field, op, value) => field.accepts(*op, value),
            Self::In(field, values) => values.iter().try_for_each(|value| field.accepts(Op::Eq, value)),
            Self::Exists(field) => field.validate(),
            Self::And(all) | Self::Or(all) => all.iter().try_for_each(|f| f.validate_below(depth + 1, leaves)),
            Self::Not(one) => one.validate_below(depth + 1, leaves),
        }
    }
}
