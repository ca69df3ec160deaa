//! Creates and locks namespaces. A writer locks the namespaces of its records first, so that the writes of one user
//! come one after the other.

use std::collections::BTreeMap;

use memory_engine_core::Scope;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{database::error::PostgresError, rows::scopes};

/// Creates the missing namespaces of these scopes, and locks all of them until the transaction ends. The order of
/// locking is always the same, so that two batches cannot deadlock.
pub(crate) async fn lock<'s>(
    connection: &mut PgConnection,
    scopes: impl IntoIterator<Item = &'s Scope>,
) -> Result<(), PostgresError> {
    let by_namespace: BTreeMap<Uuid, &Scope> =
        scopes.into_iter().map(|scope| (scopes::namespace(scope), scope)).collect();
    let all: Vec<Uuid> = by_namespace.keys().copied().collect();
    let existing = lock_known(connection, &all).await?;
    if existing.len() == all.len() {
        return Ok(());
    }
    let new: Vec<_> = by_namespace.iter().filter(|(namespace, _)| !existing.contains(namespace)).collect();
    sqlx::query(
        "INSERT INTO namespaces (namespace, tenant, username) SELECT x.*
            FROM unnest($1::uuid[], $2::text[], $3::text[]) x
         ON CONFLICT (namespace) DO NOTHING",
    )
    .bind(new.iter().map(|(namespace, _)| **namespace).collect::<Vec<_>>())
    .bind(new.iter().map(|(_, scope)| scope.tenant().to_owned()).collect::<Vec<_>>())
    .bind(new.iter().map(|(_, scope)| scope.user_name().unwrap_or_default().to_owned()).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    // Another writer may create them at the same time; the second one waits here.
    lock_known(connection, &all).await.map(drop)
}

/// Locks the namespaces that exist, in order, and returns them.
pub(crate) async fn lock_known(connection: &mut PgConnection, namespaces: &[Uuid]) -> Result<Vec<Uuid>, PostgresError> {
    let rows = sqlx::query(
        "SELECT n.namespace FROM namespaces n WHERE n.namespace = ANY ($1) ORDER BY n.namespace FOR NO KEY UPDATE",
    )
    .bind(namespaces)
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok(row.try_get("namespace")?)).collect()
}
