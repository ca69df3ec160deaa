//! Reads and removes tombstones.

use memory_engine_core::{ContentHash, RecordId, Timestamp, Tombstone};
use memory_engine_sql::rows::sql_limit;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::scopes::{self, CoveredScope, uuid, uuids},
};

/// Reads the column `content_hash` of a row.
pub(crate) fn content_hash(row: &PgRow) -> Result<ContentHash, PostgresError> {
    let bytes: Vec<u8> = row.try_get("content_hash")?;
    <[u8; 32]>::try_from(bytes).map(ContentHash::from_bytes).map_err(|_| PostgresError::corrupt("a content hash"))
}

/// Returns a page of the tombstones in a scope, ordered by id.
pub(crate) async fn tombstones(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    after: Option<RecordId>,
    limit: usize,
) -> Result<Vec<Tombstone>, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT n.tenant, n.username, a.agent, a.session, a.branch, b.id, b.content_hash, b.deleted_at,
             b.cascade_deleted
         FROM tombstones b JOIN namespaces n ON n.namespace = b.namespace
         JOIN scopes a ON a.namespace = b.namespace AND a.scope = b.scope WHERE ",
    );
    covered.push_row_condition("b", &mut statement);
    if let Some(after) = after {
        statement.push(" AND b.id > ").bind(uuid(after));
    }
    statement.push(if covered.is_tenant_wide() { " ORDER BY b.id, n.username" } else { " ORDER BY b.id" });
    statement.push(" LIMIT ").bind(sql_limit(limit));
    let read = |row: &PgRow| {
        let id = scopes::record_id(row.try_get("id")?);
        let deleted_at = Timestamp::from_micros(row.try_get("deleted_at")?);
        let tombstone = Tombstone::new(id, scopes::read_or_user(row)?, content_hash(row)?, deleted_at);
        Ok(tombstone.with_cascade_deleted(row.try_get("cascade_deleted")?))
    };
    statement.fetch_all(connection).await?.iter().map(read).collect()
}

/// Removes the tombstones of these ids in a scope, and unblocks contents that no other tombstone blocks. Returns their
/// number.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<u64, PostgresError> {
    let mut statement = StatementBuilder::new("DELETE FROM tombstones b WHERE b.id = ANY (");
    statement.bind(uuids(ids)).push(") AND ");
    covered.push_row_condition("b", &mut statement);
    statement.push(" RETURNING b.namespace, b.content_hash");
    let removed = statement.fetch_all(connection).await?;
    let mut namespaces: Vec<Uuid> = Vec::with_capacity(removed.len());
    let mut hashes: Vec<Vec<u8>> = Vec::with_capacity(removed.len());
    for row in &removed {
        namespaces.push(row.try_get("namespace")?);
        hashes.push(row.try_get("content_hash")?);
    }
    sqlx::query(
        "DELETE FROM blocked_contents c USING unnest($1::uuid[], $2::bytea[]) x (namespace, content_hash)
         WHERE c.namespace = x.namespace AND c.content_hash = x.content_hash AND NOT EXISTS
         (SELECT FROM tombstones b WHERE b.namespace = x.namespace AND b.content_hash = x.content_hash)",
    )
    .bind(namespaces)
    .bind(hashes)
    .execute(connection)
    .await?;
    Ok(removed.len() as u64)
}
