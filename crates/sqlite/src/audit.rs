//! The rows of the audit log.

use memory_engine_core::{
    RecordId, Scope, Timestamp,
    audit::{Actor, AuditChain, AuditEntry, AuditEvent, AuditHead, AuditPage, AuditQuery, PruneReport},
};
use memory_engine_sql::audit::{self as audit_rows, AuditRow};
use rusqlite::{Connection, OptionalExtension, Row, params, types::Value};

use crate::database::{error::SqliteError, statement::Statement};

pub(crate) fn append(
    connection: &Connection,
    tenant: &str,
    events: Vec<AuditEvent>,
    at: Timestamp,
) -> Result<Vec<u64>, SqliteError> {
    let mut chain = stored_chain(connection, tenant)?.map_or_else(|| chain_of_entries(connection, tenant), Ok)?;
    let entries = chain.append(events, at);
    store(connection, &entries, &chain)?;
    Ok(entries.iter().map(|entry| entry.sequence).collect())
}

/// Stores appended entries and the chain that ends with them.
fn store(connection: &Connection, entries: &[AuditEntry], chain: &AuditChain) -> Result<(), SqliteError> {
    entries.iter().try_for_each(|entry| insert(connection, entry))?;
    set_chain(connection, chain)
}

fn insert(connection: &Connection, entry: &AuditEntry) -> Result<(), SqliteError> {
    let event = &entry.event;
    let records: Vec<u8> = event.records.iter().flat_map(|id| *id.as_bytes()).collect();
    let [user, agent, session, branch] = event.scope.dimensions().map(|(_, name)| name.unwrap_or_default());
    let (failed_entry, error) = audit_rows::failure(event);
    connection
        .prepare_cached(
            "INSERT INTO audit_log (tenant, sequence, written_at, actor_key, actor_agent, action, operation, user,
                 agent, session, branch, records, record_count, failed_entry, error, previous_hash, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            event.scope.tenant(),
            audit_rows::signed(entry.sequence),
            entry.at.as_micros(),
            event.actor.key(),
            event.actor.agent(),
            event.action.as_str(),
            event.operation,
            user,
            agent,
            session,
            branch,
            records,
            audit_rows::signed(event.count),
            failed_entry,
            error,
            entry.previous.as_bytes(),
            entry.hash.as_bytes(),
        ])?;
    Ok(())
}

pub(crate) fn chain(connection: &Connection, tenant: &str) -> Result<AuditChain, SqliteError> {
    Ok(stored_chain(connection, tenant)?.unwrap_or_else(|| AuditChain::empty(tenant)))
}

/// Returns the chain of a tenant whose chain is not stored: it ends with its latest entry, if there is one.
fn chain_of_entries(connection: &Connection, tenant: &str) -> Result<AuditChain, SqliteError> {
    let mut chain = AuditChain::empty(tenant);
    let sql = "SELECT sequence, hash FROM audit_log WHERE tenant = ?1 ORDER BY sequence DESC LIMIT 1";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>("sequence")?, row.get::<_, Vec<u8>>("hash")?));
    if let Some((sequence, hash)) = connection.prepare_cached(sql)?.query_row([tenant], read).optional()? {
        chain.head = audit_rows::head(sequence, &hash)?;
    }
    Ok(chain)
}

fn stored_chain(connection: &Connection, tenant: &str) -> Result<Option<AuditChain>, SqliteError> {
    let sql = "SELECT sequence, hash, pruned_sequence, pruned_hash FROM audit_chains WHERE tenant = ?1";
    let read = |row: &Row<'_>| {
        let hash = |column: &str| row.get_ref(column)?.as_blob().map(<[u8]>::to_vec).map_err(rusqlite::Error::from);
        Ok((row.get("sequence")?, hash("hash")?, row.get("pruned_sequence")?, hash("pruned_hash")?))
    };
    match connection.prepare_cached(sql)?.query_row([tenant], read).optional()? {
        None => Ok(None),
        Some((sequence, hash, pruned_sequence, pruned_hash)) => {
            let head = audit_rows::head(sequence, &hash)?;
            Ok(Some(AuditChain::new(tenant, head, audit_rows::head(pruned_sequence, &pruned_hash)?)))
        }
    }
}

fn set_chain(connection: &Connection, chain: &AuditChain) -> Result<(), SqliteError> {
    connection
        .prepare_cached(
            "INSERT INTO audit_chains (tenant, sequence, hash, pruned_sequence, pruned_hash)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash,
                 pruned_sequence = excluded.pruned_sequence, pruned_hash = excluded.pruned_hash",
        )?
        .execute(params![
            chain.tenant,
            audit_rows::signed(chain.head.sequence),
            chain.head.hash.as_bytes(),
            audit_rows::signed(chain.anchor.sequence),
            chain.anchor.hash.as_bytes(),
        ])?;
    Ok(())
}

pub(crate) fn read(connection: &Connection, scope: &Scope, query: &AuditQuery) -> Result<AuditPage, SqliteError> {
    let mut statement = Statement::new(
        "SELECT sequence, written_at, actor_key, actor_agent, action, operation, tenant, user, agent, session, branch,
             records, record_count, failed_entry, error, previous_hash, hash
         FROM audit_log WHERE tenant = ",
    );
    statement.bind(Value::Text(scope.tenant().to_owned()));
    let columns = [" AND user = ", " AND agent = ", " AND session = ", " AND branch = "];
    for ((_, name), column) in scope.dimensions().into_iter().zip(columns) {
        if let Some(name) = name {
            statement.push(column).bind(Value::Text(name.to_owned()));
        }
    }
    if let Some(after) = query.after {
        let comparison = if query.oldest_first { " AND sequence > " } else { " AND sequence < " };
        statement.push(comparison).bind(audit_rows::signed(after));
    }
    if let Some(record) = query.record {
        statement.push(" AND instr(records, ").bind(record.as_bytes().to_vec()).push(") > 0");
    }
    statement.push(if query.oldest_first { " ORDER BY sequence" } else { " ORDER BY sequence DESC" });
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut entries = Vec::new();
    while entries.len() <= query.limit
        && let Some(row) = rows.next()?
    {
        let entry = entry(row)?;
        if query.matches(&entry) {
            entries.push(entry);
        }
    }
    Ok(AuditPage::first_of(entries, query.limit))
}

fn entry(row: &Row<'_>) -> Result<AuditEntry, SqliteError> {
    let text = |column: &str| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let blob = |column: &str| row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from);
    let (ids, rest) = blob("records")?.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(SqliteError::corrupt("an entry of the audit log"));
    }
    let row = AuditRow {
        sequence: row.get("sequence")?,
        written_at: row.get("written_at")?,
        key: row.get("actor_key")?,
        agent: row.get("actor_agent")?,
        action: text("action")?,
        operation: row.get("operation")?,
        scope: [text("tenant")?, text("user")?, text("agent")?, text("session")?, text("branch")?],
        records: ids.iter().map(|id| RecordId::from_bytes(*id)).collect(),
        record_count: row.get("record_count")?,
        failed_entry: row.get("failed_entry")?,
        error: row.get_ref("error")?.as_str_or_null().map_err(rusqlite::Error::from)?,
        previous_hash: blob("previous_hash")?,
        hash: blob("hash")?,
    };
    Ok(row.into_entry()?)
}

pub(crate) fn prune(
    connection: &Connection,
    tenant: &str,
    before: Timestamp,
    actor: &Actor,
    at: Timestamp,
) -> Result<PruneReport, SqliteError> {
    let mut chain = chain(connection, tenant)?;
    let Some(anchor) = last_entry_before(connection, tenant, before)? else {
        return Ok(PruneReport::new(0, chain.anchor));
    };
    let count = "SELECT count(*) FROM audit_log WHERE tenant = ?1 AND sequence <= ?2";
    let key = params![tenant, audit_rows::signed(anchor.sequence)];
    let removed: u64 = connection.prepare_cached(count)?.query_row(key, |row| row.get(0))?;
    let entries = chain.prune(removed, anchor, actor, at)?;
    store(connection, &entries, &chain)?;
    connection.prepare_cached("DELETE FROM audit_log WHERE tenant = ?1 AND sequence <= ?2")?.execute(key)?;
    Ok(PruneReport::new(removed, anchor))
}

/// Returns the last of the oldest entries that were written before a time.
fn last_entry_before(
    connection: &Connection,
    tenant: &str,
    before: Timestamp,
) -> Result<Option<AuditHead>, SqliteError> {
    let sql = "SELECT sequence, hash FROM audit_log WHERE tenant = ?1 AND sequence < coalesce(
                   (SELECT min(sequence) FROM audit_log WHERE tenant = ?1 AND written_at >= ?2), 9223372036854775807)
               ORDER BY sequence DESC LIMIT 1";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>("sequence")?, row.get::<_, Vec<u8>>("hash")?));
    let found = connection.prepare_cached(sql)?.query_row(params![tenant, before.as_micros()], read).optional()?;
    Ok(found.map(|(sequence, hash)| audit_rows::head(sequence, &hash)).transpose()?)
}
