//! Reading records by id, their neighbours, and counting them.

use memory_core::{Adjacent, Neighbor, Record, RecordId, Scope, Stats, Timestamp};
use rusqlite::{Connection, Row};

use crate::{
    backlog,
    directory::Directory,
    failure::Failure,
    records::{self, columns},
    scopes::Reach,
    statement::Statement,
};

/// The records of these ids, aligned with them.
pub(crate) fn get(
    connection: &Connection,
    directory: &Directory,
    scope: &Scope,
    ids: &[RecordId],
) -> Result<Vec<Option<Record>>, Failure> {
    let Some(reach) = directory.reach(connection, scope)? else { return Ok(vec![None; ids.len()]) };
    // Of each record one row is read: names belong to the address, and addresses are known.
    let mut prepared =
        connection.prepare_cached(concat!("SELECT r.scope, ", columns!(), " FROM records r WHERE r.id = ?1"))?;
    let one = |id: &RecordId| {
        let mut rows = prepared.query([id.as_bytes()])?;
        let mut found: Option<Record> = None;
        while let Some(row) = rows.next()? {
            let Some(address) = directory.address(connection, &reach, row.get(0)?)? else { continue };
            // The first by user, when several of a tenant's users have one of this id.
            if found.as_ref().is_none_or(|first| address.user_name() < first.scope.user_name()) {
                found = Some(records::content(row, 1, address)?);
            }
        }
        Ok(found)
    };
    ids.iter().map(one).collect()
}

/// For each id, the active records of its kind beside it at the very same address.
pub(crate) fn adjacent(connection: &Connection, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>, Failure> {
    let Some(reach) = Reach::of(connection, scope)? else { return Ok(vec![Adjacent::default(); ids.len()]) };
    let mut statement = Statement::new(
        "SELECT p.id, p.role IS NOT r.role OR p.speaker IS NOT r.speaker,
                n.id, n.role IS NOT r.role OR n.speaker IS NOT r.speaker
         FROM records r CROSS JOIN scopes s ON s.scope = r.scope
         LEFT JOIN records p ON p.record = (
             SELECT b.record FROM records b INDEXED BY records_by_scope WHERE b.scope = r.scope AND b.state = 'active' AND b.kind = r.kind
             AND (b.occurred_at, b.place, b.id) < (r.occurred_at, r.place, r.id)
             ORDER BY b.occurred_at DESC, b.place DESC, b.id DESC LIMIT 1)
         LEFT JOIN records n ON n.record = (
             SELECT b.record FROM records b INDEXED BY records_by_scope WHERE b.scope = r.scope AND b.state = 'active' AND b.kind = r.kind
             AND (b.occurred_at, b.place, b.id) > (r.occurred_at, r.place, r.id)
             ORDER BY b.occurred_at, b.place, b.id LIMIT 1)
         WHERE ",
    );
    reach.covers(&mut statement);
    // The first by user, when several of a tenant's users have one of this id, as everywhere.
    statement.push(" AND r.id = ? ORDER BY (SELECT u.user FROM namespaces u WHERE u.namespace = s.namespace) LIMIT 1");
    let neighbor = |row: &Row<'_>, column: usize| -> rusqlite::Result<Option<Neighbor>> {
        let Some(id) = row.get::<_, Option<[u8; 16]>>(column)? else { return Ok(None) };
        Ok(Some(Neighbor { id: RecordId::from_bytes(id), another_voice: row.get(column + 1)? }))
    };
    let (mut prepared, last) = statement.prepare_for_each(connection)?;
    let mut one = |id: &RecordId| {
        prepared.raw_bind_parameter(last, id.as_bytes())?;
        let mut rows = prepared.raw_query();
        let Some(row) = rows.next()? else { return Ok(Adjacent::default()) };
        Ok(Adjacent { previous: neighbor(row, 0)?, next: neighbor(row, 2)? })
    };
    ids.iter().map(&mut one).collect()
}

/// Counts what is within `scope`.
pub(crate) fn stats(connection: &Connection, scope: &Scope) -> Result<Stats, Failure> {
    let mut stats = Stats::default();
    let Some(reach) = Reach::of(connection, scope)? else { return Ok(stats) };
    count_records(connection, &reach, &mut stats)?;
    backlog::count(connection, &reach, &mut stats)?;
    let mut statement =
        Statement::new("SELECT count(*) FROM tombstones b CROSS JOIN scopes s ON s.scope = b.scope WHERE ");
    reach.namespaces("b.namespace", &mut statement);
    reach.scopes(statement.push(" AND "));
    let (mut prepared, values) = statement.prepare(connection)?;
    stats.tombstones = prepared.query_row(values, |row| row.get(0))?;
    Ok(stats)
}

fn count_records(connection: &Connection, reach: &Reach, stats: &mut Stats) -> Result<(), Failure> {
    let mut statement = Statement::new(
        "SELECT r.scope, r.kind, r.state, count(*), min(r.occurred_at), max(r.occurred_at)
         FROM scopes s CROSS JOIN records r INDEXED BY records_by_scope ON r.scope = s.scope WHERE ",
    );
    reach.scopes(&mut statement);
    statement.push(" GROUP BY r.scope, r.kind, r.state ORDER BY r.scope");
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let (scope, count): (i64, u64) = (row.get(0)?, row.get(3)?);
        stats.addresses += u64::from(last != Some(scope));
        last = Some(scope);
        stats.records += count;
        *stats.kinds.entry(row.get(1)?).or_default() += count;
        *stats.states.entry(row.get(2)?).or_default() += count;
        let (oldest, newest) = (Timestamp::from_micros(row.get(4)?), Timestamp::from_micros(row.get(5)?));
        stats.oldest = Some(stats.oldest.map_or(oldest, |t| t.min(oldest)));
        stats.newest = Some(stats.newest.map_or(newest, |t| t.max(newest)));
    }
    Ok(())
}
