//! Reads the parts of a record that its deletion needs. Its content is not read, because it may be damaged.

use memory_engine_core::{ContentHash, Kind, RecordId};
use memory_engine_sql::write::RecordStub;
use rusqlite::{Connection, Row};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::{row, scopes::CoveredScope},
};

/// A record to delete, with the numbers of its row and address.
#[derive(Debug)]
pub(crate) struct StoredStub {
    pub(crate) row: i64,
    pub(crate) namespace: i64,
    /// `None` if the record has a scope that is not one of its user.
    pub(crate) scope: Option<i64>,
    pub(crate) stub: RecordStub,
}

/// Selects the stubs of records `r`, up to the conditions. `$before` is a table joined before `records`.
macro_rules! stubs {
    ($before:literal) => {
        concat!(
            "SELECT n.namespace, s.scope, r.record, r.id, r.kind, r.text, r.derived_from FROM ",
            $before,
            "records r CROSS JOIN namespaces n ON n.namespace = r.namespace
             LEFT JOIN scopes s ON s.scope = r.scope AND s.namespace = r.namespace "
        )
    };
}
pub(crate) use stubs;

/// Reads a row of a statement that begins with [`stubs!`].
pub(crate) fn read(row: &Row<'_>) -> Result<StoredStub, SqliteError> {
    let bytes = |column| Ok::<_, SqliteError>(row.get_ref(column)?.as_bytes().unwrap_or_default());
    let text = String::from_utf8_lossy(bytes("text")?);
    let stub = RecordStub {
        id: row::readable_id(bytes("id")?),
        kind: Kind::new(String::from_utf8_lossy(bytes("kind")?)),
        content_hash: ContentHash::of(&text),
        derived_from: serde_json::from_slice(bytes("derived_from")?).ok(),
    };
    Ok(StoredStub { row: row.get("record")?, namespace: row.get("namespace")?, scope: row.get("scope")?, stub })
}

/// Returns the covered records of this id, of which several users may have one.
pub(crate) fn find_all(
    connection: &Connection,
    covered: &CoveredScope,
    id: RecordId,
) -> Result<Vec<StoredStub>, SqliteError> {
    let mut statement = Statement::new(concat!(stubs!(""), "WHERE r.id = "));
    statement.bind(id.as_bytes().to_vec()).push(" AND ");
    covered.push_stub_condition(&mut statement);
    statement.read_all(connection, read)
}

/// Returns the record of this id in a namespace.
pub(crate) fn find(connection: &Connection, namespace: i64, id: RecordId) -> Result<Option<StoredStub>, SqliteError> {
    let mut statement = Statement::new(concat!(stubs!(""), "WHERE r.id = "));
    statement.bind(id.as_bytes().to_vec()).push(" AND r.namespace = ").bind(namespace);
    Ok(statement.read_all(connection, read)?.pop())
}

/// Returns the records of the covered users that no scan and no id finds: their address is not one of their user, or
/// their id does not have 16 bytes.
pub(crate) fn find_unreachable(
    connection: &Connection,
    covered: &CoveredScope,
) -> Result<Vec<StoredStub>, SqliteError> {
    let mut statement = Statement::new(concat!(stubs!(""), "WHERE "));
    covered.push_namespace_condition("r.namespace", &mut statement);
    statement.push(" AND (s.scope IS NULL OR typeof(r.id) <> 'blob' OR length(r.id) <> 16)");
    statement.read_all(connection, read)
}
