//! Reads tombstones.

use memory_engine_core::{ContentHash, RecordId, Timestamp, Tombstone};
use memory_engine_sql::rows::sql_limit;
use rusqlite::Connection;

use crate::{
    database::{error::SqliteError, statement::Statement},
    records::scopes::{self, CoveredScope},
};

/// Returns up to `limit` tombstones of the covered scope with an id greater than `after`, in the order of their ids.
pub(crate) fn tombstones(
    connection: &Connection,
    covered: &CoveredScope,
    after: Option<RecordId>,
    limit: usize,
) -> Result<Vec<Tombstone>, SqliteError> {
    let mut statement = Statement::new(
        "SELECT t.name, n.user, s.agent, s.session, s.branch, b.id, b.content_hash, b.deleted_at, b.withdrawn
         FROM tombstones b CROSS JOIN scopes s ON s.scope = b.scope CROSS JOIN namespaces n ON n.namespace = b.namespace
         CROSS JOIN tenants t ON t.tenant = n.tenant WHERE ",
    );
    covered.push_namespace_condition("b.namespace", &mut statement);
    covered.push_scope_condition(statement.push(" AND "));
    if let Some(after) = after {
        statement.push(" AND b.id > ").bind(after.as_bytes().to_vec());
    }
    statement.push(if covered.namespace.is_some() { " ORDER BY b.id" } else { " ORDER BY b.id, n.user" });
    statement.push(" LIMIT ").bind(sql_limit(limit));
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut tombstones = Vec::new();
    while let Some(row) = rows.next()? {
        let id = RecordId::from_bytes(row.get("id")?);
        let content_hash = ContentHash::from_bytes(row.get("content_hash")?);
        let deleted_at = Timestamp::from_micros(row.get("deleted_at")?);
        let tombstone = Tombstone::new(id, scopes::read(row)?, content_hash, deleted_at);
        tombstones.push(tombstone.with_withdrawn(row.get("withdrawn")?));
    }
    Ok(tombstones)
}
