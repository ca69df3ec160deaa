//! Reading records by id, their neighbours, and counting them.

use memory_core::{Adjacent, Neighbor, Record, RecordId, Role, Scope, Stats, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{backlog, failure::Failure, records, scopes::Reach, statement::Statement};

/// The records of these ids, aligned with them.
pub(crate) fn get(connection: &Connection, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>, Failure> {
    let Some(reach) = Reach::of(connection, scope)? else { return Ok(vec![None; ids.len()]) };
    let one = |id: &RecordId| Ok(records::find(connection, &reach, *id)?.map(|stored| stored.record));
    ids.iter().map(one).collect()
}

/// For each id, the active records of its kind beside it at the very same address.
pub(crate) fn adjacent(connection: &Connection, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>, Failure> {
    let Some(reach) = Reach::of(connection, scope)? else { return Ok(vec![Adjacent::default(); ids.len()]) };
    let beside = |sql: &'static str, stored: &records::Stored| -> Result<Option<Neighbor>, Failure> {
        let (occurred_at, sequence, id) = stored.record.position();
        let role = stored.record.role.as_ref().map(Role::as_str);
        let speaker = stored.record.speaker.as_deref();
        let kind = stored.record.kind.as_str();
        let at = params![stored.place.scope, occurred_at.as_micros(), sequence, id.as_bytes(), role, speaker, kind];
        let neighbor =
            |row: &Row<'_>| Ok(Neighbor { id: RecordId::from_bytes(row.get(0)?), another_voice: row.get(1)? });
        Ok(connection.prepare_cached(sql)?.query_row(at, neighbor).optional()?)
    };
    let one = |id: &RecordId| {
        let Some(stored) = records::find(connection, &reach, *id)? else { return Ok(Adjacent::default()) };
        let previous = "SELECT id, role IS NOT ?5 OR speaker IS NOT ?6 FROM records INDEXED BY records_by_scope WHERE scope = ?1 AND state = 'active' AND kind = ?7
            AND (occurred_at, place, id) < (?2, ?3, ?4) ORDER BY occurred_at DESC, place DESC, id DESC LIMIT 1";
        let next = "SELECT id, role IS NOT ?5 OR speaker IS NOT ?6 FROM records INDEXED BY records_by_scope WHERE scope = ?1 AND state = 'active' AND kind = ?7
            AND (occurred_at, place, id) > (?2, ?3, ?4) ORDER BY occurred_at, place, id LIMIT 1";
        Ok(Adjacent { previous: beside(previous, &stored)?, next: beside(next, &stored)? })
    };
    ids.iter().map(one).collect()
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
