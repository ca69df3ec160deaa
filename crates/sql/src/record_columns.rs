//! Describes the columns of the table `records` that store the fields of a record. The statements and the readers of
//! each backend, and the columns of filters, are generated from this description. CONTRIBUTING.md lists what else a new
//! column needs.

use memory_engine_core::{Field, Kind, RecordId, Role, State, Timestamp, Trust};
use serde_json::{Map, Value};

/// Calls the macro `$use` with the columns that store the fields of a record, except its id and its scope:
/// `column: type = field`. Each backend implements a trait of its own for the types.
#[macro_export]
macro_rules! record_columns {
    ($($use:tt)+) => {
        $($use)+! {
            kind: Kind = kind,
            text: String = text,
            role: Option<Role> = role,
            speaker: Option<String> = speaker,
            scene: Option<String> = scene,
            topic: Option<String> = topic,
            emotion: Option<String> = emotion,
            message_id: Option<String> = source.message_id,
            sequence: Option<i64> = source.sequence,
            round: Option<u32> = source.round,
            confidence: f64 = confidence,
            importance: f64 = importance,
            occurred_at: Timestamp = occurred_at,
            recorded_at: Timestamp = recorded_at,
            valid_from: Option<Timestamp> = valid_from,
            valid_until: Option<Timestamp> = valid_until,
            trust: Trust = trust,
            state: State = state,
            pinned: bool = pinned,
            expires_at: Option<Timestamp> = expires_at,
            revision: u64 = revision,
            entities: Vec<String> = entities,
            tags: Vec<String> = tags,
            derived_from: Vec<RecordId> = derived_from,
            metadata: Map<String, Value> = metadata,
        }
    };
}

/// The stored value of a field that is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnsetValue {
    /// The field is always set.
    Never,
    Null,
    EmptyText,
    EmptyList,
}

/// A type of a field whose column filters can compare.
trait FilterType {
    const UNSET: UnsetValue = UnsetValue::Never;
    /// True for integers. Conditions cast them to floating-point numbers, as `Filter::matches` does.
    const IS_INTEGER: bool = false;
}

macro_rules! filter_columns {
    ($($column:ident: $type:ty = $($field:ident).+),* $(,)?) => {
        /// The columns of `records` by the name of their field: SQL that reads the column, and the unset value.
        const FILTER_COLUMNS: &[(&str, &str, UnsetValue)] = &[
            $((
                stringify!($column),
                if <$type as FilterType>::IS_INTEGER {
                    concat!("CAST(r.", stringify!($column), " AS DOUBLE PRECISION)")
                } else {
                    concat!("r.", stringify!($column))
                },
                <$type as FilterType>::UNSET,
            )),*
        ];
    };
}

record_columns!(filter_columns);

macro_rules! filter_types {
    ($is_integer:literal: $($type:ty),*) => {
        $(impl FilterType for $type {
            const IS_INTEGER: bool = $is_integer;
        })*
    };
}
filter_types!(false: Kind, String, Role, f64, Timestamp, Trust, State, bool, RecordId, Map<String, Value>);
filter_types!(true: i64, u32, u64);

impl<T: FilterType> FilterType for Option<T> {
    const UNSET: UnsetValue = UnsetValue::Null;
    const IS_INTEGER: bool = T::IS_INTEGER;
}

impl<T: FilterType> FilterType for Vec<T> {
    const UNSET: UnsetValue = UnsetValue::EmptyList;
}

/// Returns the SQL of a field's column, and the value of that column if the field is not set; `None` for metadata, and
/// for a field that this version does not know. A column has the name of its field. `address` is the SQL of the agent,
/// the session and the branch, in this order.
pub(crate) fn filter_column(field: &Field, address: [&'static str; 3]) -> Option<(&'static str, UnsetValue)> {
    let dimensions = [Field::Agent, Field::Session, Field::Branch];
    if let Some(dimension) = dimensions.iter().position(|dimension| dimension == field) {
        return Some((address[dimension], UnsetValue::EmptyText));
    }
    if *field == Field::Id {
        return Some(("r.id", UnsetValue::Never));
    }
    let name = field.name();
    FILTER_COLUMNS.iter().find(|(column, ..)| *column == name).map(|(_, sql, unset)| (*sql, *unset))
}
