//! Reads and writes the columns of a record's fields, by the type of the field.

use memory_engine_core::{Kind, RecordId, Role, SortedJson, State, Timestamp, Trust};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::{Row, postgres::PgRow, types::Json};
use uuid::Uuid;

use crate::rows::scopes::{record_id, uuids};

/// A type of a field of a record.
pub(crate) trait PostgresField: Sized {
    /// The type of the column.
    const TYPE: &'static str;

    /// Reads a column; `None` if its value is not one of this type.
    fn read(row: &PgRow, column: &'static str) -> Option<Self>;

    /// Returns the value in a JSON row of `json_to_recordset`.
    fn to_json(&self) -> impl Serialize + '_;
}

/// Describes a type: the type, that of the column, the type that the driver reads, and the functions that convert the
/// value that was read, and a value for a JSON row.
macro_rules! stored_as {
    ($type:ty, $sql:literal, $stored:ty, $read:expr, $write:expr) => {
        impl PostgresField for $type {
            const TYPE: &'static str = $sql;

            fn read(row: &PgRow, column: &'static str) -> Option<Self> {
                let stored: $stored = row.try_get(column).ok()?;
                $read(stored)
            }

            fn to_json(&self) -> impl Serialize + '_ {
                $write(self)
            }
        }
    };
}
stored_as!(String, "text", String, Some, Self::as_str);
stored_as!(Option<String>, "text", Option<String>, Some, Self::as_deref);
stored_as!(Kind, "text", String, |name: String| Some(Self::new(name)), Self::as_str);
stored_as!(Option<Role>, "text", Option<String>, |name: Option<String>| Some(name.map(Role::new)), role_name);
stored_as!(Trust, "text", &str, |name: &str| name.parse().ok(), |trust: &Self| trust.as_str());
stored_as!(State, "text", &str, |name: &str| name.parse().ok(), |state: &Self| state.as_str());
stored_as!(f64, "double precision", f64, Some, |number: &Self| *number);
stored_as!(bool, "boolean", bool, Some, |value: &Self| *value);
stored_as!(u64, "bigint", i64, |number| Self::try_from(number).ok(), |number: &Self| *number);
stored_as!(Option<i64>, "bigint", Option<i64>, Some, |number: &Self| *number);
stored_as!(
    Option<u32>,
    "bigint",
    Option<i64>,
    |number: Option<i64>| number.map(u32::try_from).transpose().ok(),
    |number: &Self| *number
);
stored_as!(Timestamp, "bigint", i64, |micros| Some(Self::from_micros(micros)), |time: &Self| time.as_micros());
stored_as!(
    Option<Timestamp>,
    "bigint",
    Option<i64>,
    |micros: Option<i64>| Some(micros.map(Timestamp::from_micros)),
    |time: &Self| time.map(Timestamp::as_micros)
);
stored_as!(Vec<String>, "text[]", Self, Some, Self::as_slice);
stored_as!(
    Vec<RecordId>,
    "uuid[]",
    Vec<Uuid>,
    |ids: Vec<Uuid>| Some(ids.into_iter().map(record_id).collect()),
    |ids: &Self| uuids(ids)
);
stored_as!(Map<String, Value>, "json", Json<Self>, |Json(map)| Some(map), SortedJson);

fn role_name(role: &Option<Role>) -> Option<&str> {
    role.as_ref().map(Role::as_str)
}
