//! Reads and removes tombstones.

use memory_engine_core::{ContentHash, DamagedRecord, ErrorKind, RecordId, Timestamp, Tombstone};
use memory_engine_sql::rows::sql_limit;
use rusqlite::{Connection, Row, params};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::{
        row,
        scopes::{self, CoveredScope},
    },
};

/// Returns up to `limit` tombstones of the covered scope with an id greater than `after`, in the order of their ids.
pub(crate) fn tombstones(
    connection: &Connection,
    covered: &CoveredScope,
    after: Option<RecordId>,
    limit: usize,
) -> Result<Vec<Tombstone>, SqliteError> {
    let mut statement = Statement::new(
        "SELECT t.name, n.user, s.agent, s.session, s.branch, b.id, b.content_hash, b.deleted_at, b.cascade_deleted
         FROM tombstones b CROSS JOIN scopes s ON s.scope = b.scope CROSS JOIN namespaces n ON n.namespace = b.namespace
         CROSS JOIN tenants t ON t.tenant = n.tenant WHERE ",
    );
    covered.push_namespace_condition("b.namespace", &mut statement);
    covered.push_scope_condition(statement.push(" AND "));
    if let Some(after) = after {
        statement.push(" AND b.id > ").bind(after.as_bytes().to_vec());
    }
    statement.push(if covered.namespace.is_some() { " ORDER BY b.id" } else { " ORDER BY b.id, n.user" });
    statement.limit(sql_limit(limit));
    let mut tombstones = Vec::new();
    statement.for_each(connection, |row| {
        match read(row) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let id = row::readable_id(row.get_ref("id")?.as_bytes().unwrap_or_default());
                DamagedRecord::new(id, "tombstones", "content_hash").warn();
            }
            tombstone => tombstones.push(tombstone?),
        }
        Ok(())
    })?;
    Ok(tombstones)
}

fn read(row: &Row<'_>) -> Result<Tombstone, SqliteError> {
    let id = RecordId::from_bytes(row.get("id")?);
    let content_hash = ContentHash::from_bytes(row.get("content_hash")?);
    let deleted_at = Timestamp::from_micros(row.get("deleted_at")?);
    let tombstone = Tombstone::new(id, scopes::read_or_user(row)?, content_hash, deleted_at);
    Ok(tombstone.with_cascade_deleted(row.get("cascade_deleted")?))
}

/// Removes the tombstones of these ids in the covered scope, and unblocks contents that no other tombstone blocks.
/// Returns their number.
pub(crate) fn remove(connection: &Connection, covered: &CoveredScope, ids: &[RecordId]) -> Result<u64, SqliteError> {
    let mut removed = 0;
    for id in ids {
        let mut statement = Statement::new("DELETE FROM tombstones AS b WHERE b.id = ");
        statement.bind(id.as_bytes().to_vec()).push(" AND ");
        covered.push_namespace_condition("b.namespace", &mut statement);
        covered
            .push_scope_condition(statement.push(" AND EXISTS (SELECT 1 FROM scopes s WHERE s.scope = b.scope AND "));
        statement.push(") RETURNING namespace, content_hash");
        let blocked: Vec<(i64, [u8; 32])> =
            statement.read_all(connection, |row| Ok((row.get("namespace")?, row.get("content_hash")?)))?;
        for (namespace, hash) in blocked {
            connection
                .prepare_cached(
                    "DELETE FROM blocked_contents WHERE namespace = ?1 AND content_hash = ?2 AND NOT EXISTS
                     (SELECT 1 FROM tombstones WHERE namespace = ?1 AND content_hash = ?2)",
                )?
                .execute(params![namespace, hash])?;
            removed += 1;
        }
    }
    Ok(removed)
}
