//! Reads records by id and their neighbours, and counts records.

use memory_engine_core::{Adjacent, Neighbor, Record, RecordId, Scope, Stats, Timestamp};
use memory_engine_sql::rows;
use rusqlite::{CachedStatement, Connection, params, types::ToSqlOutput};

use crate::{
    database::{error::SqliteError, statement::Statement},
    queue::job_rows,
    records::groups,
    rows::{
        addresses::AddressCache,
        row::{self, columns},
        scopes::{self, CoveredScope},
    },
};

/// Returns the records of these ids within `scope`, aligned with the ids.
pub(crate) fn get(
    connection: &Connection,
    addresses: &AddressCache,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<Record>>, SqliteError> {
    // One row is read for each record: the names of its scope come from the address cache.
    let sql = concat!("SELECT r.scope, ", columns!(), " FROM records r WHERE r.id = ?1");
    addresses.read_by_ids(connection, scope, sql, ids, |row, _, covered, number| {
        let record_scope = addresses.scope(connection, covered, number)?;
        Ok(record_scope.map(|scope| row::content(row, 1, scope)).transpose()?)
    })
}

/// Returns the addresses and ids of the first records that have expired, of all tenants, in the order of their expiry.
pub(crate) fn expired(
    connection: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<(Scope, RecordId)>, SqliteError> {
    let sql = "SELECT t.name, n.user, s.agent, s.session, s.branch, r.id
        FROM records r INDEXED BY expiring_records CROSS JOIN scopes s ON s.scope = r.scope
        CROSS JOIN namespaces n ON n.namespace = r.namespace CROSS JOIN tenants t ON t.tenant = n.tenant
        WHERE r.expires_at IS NOT NULL AND NOT r.pinned AND r.expires_at <= ?1 ORDER BY r.expires_at, r.id
        LIMIT ?2 + 0";
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![now.as_micros(), rows::sql_limit(limit)])?;
    let mut expired = Vec::new();
    while let Some(row) = rows.next()? {
        // A user whose name cannot be read must not hold up the others.
        if let Ok(scope) = scopes::read_or_user(row) {
            expired.push((scope, RecordId::from_bytes(row.get("id")?)));
        }
    }
    Ok(expired)
}

/// Selects the neighbour before (`<`, `DESC`) or after (`>`, `ASC`) a position in a scope.
macro_rules! neighbor_sql {
    ($comparison:literal, $order:literal) => {
        concat!(
            "SELECT id, role, record FROM records INDEXED BY records_by_scope
             WHERE scope = ?1 AND state = 'active' AND kind = ?2 AND (occurred_at, place, id) ",
            $comparison,
            " (?3, ?4, ?5) ORDER BY occurred_at ",
            $order,
            ", place ",
            $order,
            ", id ",
            $order,
            " LIMIT 1"
        )
    };
}

/// Returns for each id the adjacent active records of its kind in exactly the same scope.
pub(crate) fn adjacent(
    connection: &Connection,
    addresses: &AddressCache,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Adjacent>, SqliteError> {
    let sql = "SELECT scope, kind, occurred_at, place, role, speaker FROM records r WHERE r.id = ?1";
    let mut previous = connection.prepare_cached(neighbor_sql!("<", "DESC"))?;
    let mut next = connection.prepare_cached(neighbor_sql!(">", "ASC"))?;
    // The index that finds the neighbours has no speakers.
    let mut speaker = connection.prepare_cached("SELECT speaker IS ?2 FROM records WHERE record = ?1")?;
    let found = addresses.read_by_ids(connection, scope, sql, ids, |row, id, covered, scope| {
        if addresses.user(connection, covered, scope)?.is_none() {
            return Ok(None);
        }
        let (occurred_at, place): (i64, i64) = (row.get(2)?, row.get(3)?);
        // Damaged texts are compared as they are.
        let (kind, own_speaker) = (ToSqlOutput::Borrowed(row.get_ref(1)?), ToSqlOutput::Borrowed(row.get_ref(5)?));
        let own_role = row.get_ref(4)?;
        let mut neighbor = |statement: &mut CachedStatement<'_>| -> Result<Option<Neighbor>, SqliteError> {
            let mut rows = statement.query(params![scope, kind, occurred_at, place, id.as_bytes()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let has_own_voice = row.get_ref(1)? == own_role
                && speaker.query_row(params![row.get::<_, i64>(2)?, own_speaker], |row| row.get::<_, bool>(0))?;
            // A neighbour with a damaged id cannot be named.
            let id = row.get(0).ok().map(RecordId::from_bytes);
            Ok(id.map(|id| Neighbor { id, another_voice: !has_own_voice }))
        };
        Ok(Some(Adjacent { previous: neighbor(&mut previous)?, next: neighbor(&mut next)? }))
    })?;
    Ok(found.into_iter().map(Option::unwrap_or_default).collect())
}

/// Returns the statistics of `scope`: records, queue and tombstones.
pub(crate) fn stats(connection: &Connection, scope: &Scope) -> Result<Stats, SqliteError> {
    let mut stats = Stats::default();
    let Some(covered) = CoveredScope::of(connection, scope)? else { return Ok(stats) };
    stats.add_groups(groups::read(connection, &covered)?);
    job_rows::count(connection, &covered, &mut stats)?;
    let mut statement =
        Statement::new("SELECT count(*) FROM tombstones b CROSS JOIN scopes s ON s.scope = b.scope WHERE ");
    covered.push_namespace_condition("b.namespace", &mut statement);
    covered.push_scope_condition(statement.push(" AND "));
    stats.tombstones = statement.read_value(connection)?;
    Ok(stats)
}
