//! Reads and writes the columns of a record's fields, by the type of the field.

use memory_engine_core::{Error, ErrorKind, Kind, RecordId, Role, SortedJson, State, Timestamp, Trust};
use rusqlite::types::{FromSql, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::database::error::SqliteError;

/// A type of a field of a record.
pub(crate) trait SqliteField: Sized {
    /// Reads a stored value; `None` if it is not one of this type.
    fn read(value: ValueRef<'_>) -> Option<Self>;

    /// Returns the value to store.
    fn write(&self) -> Result<ToSqlOutput<'_>, SqliteError>;
}

/// Types that the driver stores.
macro_rules! stored_by_the_driver {
    ($($type:ty),*) => {
        $(impl SqliteField for $type {
            fn read(value: ValueRef<'_>) -> Option<Self> {
                FromSql::column_result(value).ok()
            }

            fn write(&self) -> Result<ToSqlOutput<'_>, SqliteError> {
                Ok(self.to_sql()?)
            }
        })*
    };
}
stored_by_the_driver!(String, Option<String>, Option<i64>, Option<u32>, f64, bool);

/// Types that are stored as another one: the type, the stored type, and the functions that read and write it.
macro_rules! stored_as {
    ($type:ty, $stored:ty, $read:expr, $write:expr) => {
        impl SqliteField for $type {
            fn read(value: ValueRef<'_>) -> Option<Self> {
                let stored: $stored = FromSql::column_result(value).ok()?;
                $read(stored)
            }

            fn write(&self) -> Result<ToSqlOutput<'_>, SqliteError> {
                Ok($write(self).into())
            }
        }
    };
}
stored_as!(Kind, String, |name| Some(Self::new(name)), Self::as_str);
stored_as!(Trust, String, |name: String| name.parse().ok(), |trust: &Self| trust.as_str());
stored_as!(State, String, |name: String| name.parse().ok(), |state: &Self| state.as_str());
stored_as!(Timestamp, i64, |micros| Some(Self::from_micros(micros)), |time: &Self| time.as_micros());
stored_as!(u64, i64, |number: i64| Self::try_from(number).ok(), |number: &Self| {
    i64::try_from(*number).unwrap_or(i64::MAX)
});

impl SqliteField for Option<Role> {
    fn read(value: ValueRef<'_>) -> Option<Self> {
        Some(Option::<String>::column_result(value).ok()?.map(Role::new))
    }

    fn write(&self) -> Result<ToSqlOutput<'_>, SqliteError> {
        Ok(ToSqlOutput::Borrowed(self.as_ref().map(Role::as_str).into()))
    }
}

impl SqliteField for Option<Timestamp> {
    fn read(value: ValueRef<'_>) -> Option<Self> {
        Some(Option::<i64>::column_result(value).ok()?.map(Timestamp::from_micros))
    }

    fn write(&self) -> Result<ToSqlOutput<'_>, SqliteError> {
        Ok(ToSqlOutput::Owned(self.map(Timestamp::as_micros).into()))
    }
}

/// Types that are stored as JSON: the type, its empty value in JSON, which most records have, and the function that
/// converts a value to what is written.
macro_rules! stored_as_json {
    ($type:ty, $empty:literal, $written:expr) => {
        impl SqliteField for $type {
            fn read(value: ValueRef<'_>) -> Option<Self> {
                match value.as_str().ok()? {
                    $empty => Some(Self::default()),
                    json => serde_json::from_str(json).ok(),
                }
            }

            fn write(&self) -> Result<ToSqlOutput<'_>, SqliteError> {
                write_json(&$written(self))
            }
        }
    };
}
stored_as_json!(Vec<String>, "[]", std::convert::identity);
stored_as_json!(Vec<RecordId>, "[]", std::convert::identity);
stored_as_json!(Map<String, Value>, "{}", SortedJson);

fn write_json(value: &impl Serialize) -> Result<ToSqlOutput<'static>, SqliteError> {
    let json = serde_json::to_string(value).map_err(|error| {
        Error::new(ErrorKind::Internal, "put", "a field cannot be written as JSON").with_source(error)
    })?;
    Ok(json.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_another_type_is_not_read() {
        let text = |json: &'static str| ValueRef::Text(json.as_bytes());
        assert_eq!(<Vec<String>>::read(text("[]")), Some(Vec::new()));
        assert_eq!(<Map<String, Value>>::read(text("{}")), Some(Map::new()));
        assert_eq!(<Vec<String>>::read(text("{}")), None);
        assert_eq!(<Map<String, Value>>::read(text("[]")), None);
        assert_eq!(<Vec<String>>::read(ValueRef::Integer(1)), None);
    }
}
