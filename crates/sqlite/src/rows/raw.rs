//! Reads the values of rows without interpreting them.

use std::fmt::Write;

use memory_engine_core::RecordId;
use rusqlite::{Connection, types::ValueRef};
use serde_json::{Map, Value, json};

use crate::{
    database::error::SqliteError,
    rows::{row, scopes::CoveredScope},
};

const SELECT_ROW: &str = "SELECT t.name AS tenant, n.user, s.agent, s.session, s.branch, r.*
    FROM records r LEFT JOIN scopes s ON s.scope = r.scope LEFT JOIN namespaces n ON n.namespace = r.namespace
    LEFT JOIN tenants t ON t.tenant = n.tenant WHERE r.record = ?1";

/// Returns the rows of the covered records of these ids, by column.
pub(crate) fn rows(
    connection: &Connection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<Vec<Value>, SqliteError> {
    let mut prepared = connection.prepare(SELECT_ROW)?;
    let columns: Vec<String> = prepared.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for id in ids {
        for number in row::find_rows(connection, covered, *id)? {
            let mut found = prepared.query([number])?;
            while let Some(row) = found.next()? {
                let mut values = Map::new();
                for (number, column) in columns.iter().enumerate() {
                    values.insert(column.clone(), value(row.get_ref(number)?));
                }
                values.insert("id".to_owned(), id.to_string().into());
                rows.push(Value::Object(values));
            }
        }
    }
    Ok(rows)
}

/// Returns a value as JSON. Bytes, and a text that is not UTF-8, are written in hexadecimal digits.
fn value(stored: ValueRef<'_>) -> Value {
    match stored {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match (stored.as_str(), bytes) {
            (Ok(text), _) => text.into(),
            (Err(_), bytes) => {
                let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}");
                    hex
                });
                json!({ "hex": hex })
            }
        },
    }
}
