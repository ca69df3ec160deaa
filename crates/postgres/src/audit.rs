//! The rows of the audit log.

use memory_engine_core::{
    Scope, Timestamp,
    audit::{Actor, AuditChain, AuditEntry, AuditEvent, AuditHead, AuditPage, AuditQuery, PruneReport},
};
use memory_engine_sql::{
    audit::{self as audit_rows, AuditRow},
    rows::sql_limit,
};
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::scopes::{record_id, uuid, uuids},
};

pub(crate) const SELECT_CHAIN: &str =
    "SELECT c.sequence, c.hash, c.pruned_sequence, c.pruned_hash FROM audit_chains c WHERE c.tenant = $1";
const LOCK_CHAIN: &str =
    "SELECT c.sequence, c.hash, c.pruned_sequence, c.pruned_hash FROM audit_chains c WHERE c.tenant = $1 FOR UPDATE";

pub(crate) async fn chain(
    connection: &mut PgConnection,
    tenant: &str,
    sql: &'static str,
) -> Result<Option<AuditChain>, PostgresError> {
    let Some(row) = sqlx::query(sql).bind(tenant).fetch_optional(connection).await? else { return Ok(None) };
    let head = audit_rows::head(row.try_get("sequence")?, row.try_get("hash")?)?;
    let anchor = audit_rows::head(row.try_get("pruned_sequence")?, row.try_get("pruned_hash")?)?;
    Ok(Some(AuditChain::new(tenant, head, anchor)))
}

/// Returns the chain of a tenant and locks it until the end of the transaction. Creates the row if it is missing; the
/// chain then ends with the latest entry, if there is one.
async fn lock_chain(connection: &mut PgConnection, tenant: &str) -> Result<AuditChain, PostgresError> {
    if let Some(chain) = chain(connection, tenant, LOCK_CHAIN).await? {
        return Ok(chain);
    }
    let empty = AuditChain::empty(tenant);
    sqlx::query(
        "INSERT INTO audit_chains (tenant, sequence, hash, pruned_sequence, pruned_hash)
         SELECT $1, coalesce(l.sequence, 0), coalesce(l.hash, $2), 0, $2 FROM (VALUES (1)) AS one
         LEFT JOIN LATERAL
             (SELECT a.sequence, a.hash FROM audit_log a WHERE a.tenant = $1 ORDER BY a.sequence DESC LIMIT 1) l ON true
         ON CONFLICT (tenant) DO NOTHING",
    )
    .bind(tenant)
    .bind(empty.head.hash.as_bytes().as_slice())
    .execute(&mut *connection)
    .await?;
    Ok(chain(connection, tenant, LOCK_CHAIN).await?.unwrap_or(empty))
}

async fn set_chain(connection: &mut PgConnection, chain: &AuditChain) -> Result<(), PostgresError> {
    sqlx::query(
        "UPDATE audit_chains c SET sequence = $2, hash = $3, pruned_sequence = $4, pruned_hash = $5
         WHERE c.tenant = $1",
    )
    .bind(&chain.tenant)
    .bind(audit_rows::signed(chain.head.sequence))
    .bind(chain.head.hash.as_bytes().as_slice())
    .bind(audit_rows::signed(chain.anchor.sequence))
    .bind(chain.anchor.hash.as_bytes().as_slice())
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn append(
    connection: &mut PgConnection,
    tenant: &str,
    events: &[AuditEvent],
    at: Timestamp,
) -> Result<Vec<u64>, PostgresError> {
    let mut chain = lock_chain(connection, tenant).await?;
    let entries = chain.append(events.iter().cloned(), at);
    store(connection, &entries, &chain).await?;
    Ok(entries.iter().map(|entry| entry.sequence).collect())
}

/// Stores appended entries and the chain that ends with them.
async fn store(connection: &mut PgConnection, entries: &[AuditEntry], chain: &AuditChain) -> Result<(), PostgresError> {
    for entry in entries {
        insert(connection, entry).await?;
    }
    set_chain(connection, chain).await
}

async fn insert(connection: &mut PgConnection, entry: &AuditEntry) -> Result<(), PostgresError> {
    let event = &entry.event;
    let [user, agent, session, branch] = event.scope.dimensions().map(|(_, name)| name.unwrap_or_default());
    let (failed_entry, error) = audit_rows::failure(event);
    sqlx::query(
        "INSERT INTO audit_log (tenant, sequence, written_at, actor_key, actor_agent, action, operation, username,
             agent, session, branch, records, record_count, failed_entry, error, previous_hash, hash)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17",
    )
    .bind(event.scope.tenant())
    .bind(audit_rows::signed(entry.sequence))
    .bind(entry.at.as_micros())
    .bind(event.actor.key())
    .bind(event.actor.agent())
    .bind(event.action.as_str())
    .bind(&event.operation)
    .bind(user)
    .bind(agent)
    .bind(session)
    .bind(branch)
    .bind(uuids(&event.records))
    .bind(audit_rows::signed(event.count))
    .bind(failed_entry)
    .bind(error)
    .bind(entry.previous.as_bytes().as_slice())
    .bind(entry.hash.as_bytes().as_slice())
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn read(
    connection: &mut PgConnection,
    scope: &Scope,
    query: &AuditQuery,
) -> Result<AuditPage, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT l.sequence, l.written_at, l.actor_key, l.actor_agent, l.action, l.operation, l.tenant, l.username,
             l.agent, l.session, l.branch, l.records, l.record_count, l.failed_entry, l.error, l.previous_hash, l.hash
         FROM audit_log l WHERE l.tenant = ",
    );
    statement.bind(scope.tenant().to_owned());
    let columns = [" AND l.username = ", " AND l.agent = ", " AND l.session = ", " AND l.branch = "];
    for ((_, name), column) in scope.dimensions().into_iter().zip(columns) {
        if let Some(name) = name {
            statement.push(column).bind(name.to_owned());
        }
    }
    push_conditions(query, &mut statement);
    statement.push(if query.oldest_first { " ORDER BY l.sequence" } else { " ORDER BY l.sequence DESC" });
    statement.push(" LIMIT ").bind(sql_limit(query.limit.saturating_add(1)));
    let rows = statement.fetch_all(connection).await?;
    let entries = rows.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    Ok(AuditPage::first_of(entries, query.limit))
}

fn push_conditions(query: &AuditQuery, statement: &mut StatementBuilder) {
    if let Some(key) = &query.key {
        statement.push(" AND l.actor_key = ").bind(key.clone());
    }
    if let Some(agent) = &query.agent {
        statement.push(" AND l.actor_agent = ").bind(agent.clone());
    }
    if !query.actions.is_empty() {
        let actions: Vec<String> = query.actions.iter().map(|action| action.as_str().to_owned()).collect();
        statement.push(" AND l.action = ANY (").bind(actions).push(")");
    }
    if let Some(record) = query.record {
        statement.push(" AND ").bind(uuid(record)).push(" = ANY (l.records)");
    }
    if let Some(since) = query.since {
        statement.push(" AND l.written_at >= ").bind(since.as_micros());
    }
    if let Some(until) = query.until {
        statement.push(" AND l.written_at < ").bind(until.as_micros());
    }
    if let Some(after) = query.after {
        statement.push(if query.oldest_first { " AND l.sequence > " } else { " AND l.sequence < " });
        statement.bind(audit_rows::signed(after));
    }
}

fn entry(row: &PgRow) -> Result<AuditEntry, PostgresError> {
    let name = |column: &str| row.try_get::<&str, _>(column);
    let records: Vec<Uuid> = row.try_get("records")?;
    let row = AuditRow {
        sequence: row.try_get("sequence")?,
        written_at: row.try_get("written_at")?,
        key: row.try_get("actor_key")?,
        agent: row.try_get("actor_agent")?,
        action: name("action")?,
        operation: row.try_get("operation")?,
        scope: [name("tenant")?, name("username")?, name("agent")?, name("session")?, name("branch")?],
        records: records.into_iter().map(record_id).collect(),
        record_count: row.try_get("record_count")?,
        failed_entry: row.try_get("failed_entry")?,
        error: row.try_get("error")?,
        previous_hash: row.try_get("previous_hash")?,
        hash: row.try_get("hash")?,
    };
    Ok(row.into_entry()?)
}

pub(crate) async fn prune(
    connection: &mut PgConnection,
    tenant: &str,
    before: Timestamp,
    actor: &Actor,
    at: Timestamp,
) -> Result<PruneReport, PostgresError> {
    let mut chain = lock_chain(connection, tenant).await?;
    let Some(anchor) = last_entry_before(connection, tenant, before).await? else {
        return Ok(PruneReport::new(0, chain.anchor));
    };
    let removed = sqlx::query("DELETE FROM audit_log l WHERE l.tenant = $1 AND l.sequence <= $2")
        .bind(tenant)
        .bind(audit_rows::signed(anchor.sequence))
        .execute(&mut *connection)
        .await?
        .rows_affected();
    let entries = chain.prune(removed, anchor, actor, at)?;
    store(connection, &entries, &chain).await?;
    Ok(PruneReport::new(removed, anchor))
}

/// Returns the last of the oldest entries that were written before a time.
async fn last_entry_before(
    connection: &mut PgConnection,
    tenant: &str,
    before: Timestamp,
) -> Result<Option<AuditHead>, PostgresError> {
    let sql = "SELECT l.sequence, l.hash FROM audit_log l WHERE l.tenant = $1 AND l.sequence < coalesce(
                   (SELECT min(k.sequence) FROM audit_log k WHERE k.tenant = $1 AND k.written_at >= $2),
                   9223372036854775807)
               ORDER BY l.sequence DESC LIMIT 1";
    let row = sqlx::query(sql).bind(tenant).bind(before.as_micros()).fetch_optional(connection).await?;
    row.map(|row| Ok(audit_rows::head(row.try_get("sequence")?, row.try_get("hash")?)?)).transpose()
}
