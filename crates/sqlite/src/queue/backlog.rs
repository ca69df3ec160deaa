//! What is still to be done.

use std::time::Duration;

use memory_engine_core::{Done, Failure as Setback, Job, Pending, RecordId, Stats, Ticket, Timestamp};
use rusqlite::{Connection, params, types::Value};

use crate::{
    database::failure::Failure,
    database::statement::Statement,
    records::row::{self, indexed, selected},
    records::scopes::{self, Reach},
};

pub(crate) const FREE: i64 = i64::MIN;
pub(crate) const GIVEN_UP: i64 = i64::MAX;

/// Queues a job for a record, behind all others and free to be claimed. What waits for a vector waits for one of each
/// generation.
pub(crate) fn enqueue(connection: &Connection, row: i64, job: Job, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO backlog (job, record, leased_until, queued_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![job.as_str(), row, FREE, now.as_micros()])?;
    if job == Job::Embedding {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO backlog (job, record, leased_until, queued_at)
                 SELECT o.part, ?2, ?3, ?4 FROM origins o WHERE o.part = ?1",
            )?
            .execute(params![Job::Reembedding.as_str(), row, FREE, now.as_micros()])?;
    }
    Ok(())
}

/// Takes every job of a record off the queue, and counts them.
pub(crate) fn unqueue(connection: &Connection, row: i64) -> rusqlite::Result<u64> {
    Ok(connection.prepare_cached("DELETE FROM backlog WHERE record = ?1")?.execute([row])? as u64)
}

/// Queues every record within reach that is to be indexed, or those of these ids, in the order of their namespaces and ids.
pub(crate) fn requeue(
    connection: &Connection,
    reach: Option<&Reach>,
    ids: Option<&[RecordId]>,
    job: Job,
    now: Timestamp,
) -> Result<u64, Failure> {
    let mut statement = Statement::new("INSERT OR REPLACE INTO backlog (job, record, leased_until, queued_at) SELECT ");
    statement.bind(job.as_str().to_owned()).push(", r.record, ").bind(FREE).push(", ").bind(now.as_micros());
    statement.push(concat!(
        " FROM records r CROSS JOIN scopes s ON s.scope = r.scope CROSS JOIN namespaces n ON n.namespace = r.namespace
          CROSS JOIN tenants t ON t.tenant = n.tenant WHERE ",
        indexed!()
    ));
    if let Some(reach) = reach {
        reach.scopes(statement.push(" AND "));
    }
    if let Some(ids) = ids {
        let ids = ids.iter().map(|id| Value::Blob(id.as_bytes().to_vec()));
        statement.push(" AND r.id IN (").bind_all(ids).push(")");
    }
    statement.push(" ORDER BY t.name, n.user, r.id");
    let (mut prepared, values) = statement.prepare(connection)?;
    Ok(prepared.execute(values)? as u64)
}

/// The oldest records that wait for a job and are free, hidden from then on for the length of the lease.
pub(crate) fn claim(
    connection: &Connection,
    job: Job,
    limit: usize,
    lease: Duration,
    now: Timestamp,
) -> Result<Vec<Pending>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = concat!(
        selected!(
            "(SELECT ticket, record, attempts, queued_at FROM backlog WHERE job = ?1 AND leased_until <= ?2 ORDER BY ticket LIMIT ?3) b
             CROSS JOIN ",
            ", b.attempts, b.ticket, b.queued_at"
        ),
        "WHERE r.record = b.record ORDER BY b.ticket"
    );
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![job.as_str(), now.as_micros(), limit])?;
    let mut hide = connection.prepare_cached("UPDATE backlog SET leased_until = ?3 WHERE record = ?2 AND job = ?1")?;
    let mut pending = Vec::new();
    let mut claimed = Vec::new();
    while let Some(row) = rows.next()? {
        let stored = row::read(row)?;
        claimed.push(stored.row);
        let ticket = Ticket(u128::from(row.get::<_, u64>(34)?));
        let (attempts, queued_at) = (row.get(33)?, Timestamp::from_micros(row.get(35)?));
        pending.push(Pending { ticket, record: stored.record, job, attempts, queued_at });
    }
    if !lease.is_zero() {
        for row in claimed {
            hide.execute(params![job.as_str(), row, now.after(lease).as_micros()])?;
        }
    }
    Ok(pending)
}

/// Hides what was claimed until then, unless it was given up or is another place in the queue by now.
pub(crate) fn extend_lease(
    connection: &Connection,
    claimed: &[(Job, Ticket)],
    until: Timestamp,
) -> Result<(), Failure> {
    let mut hide = connection
        .prepare_cached("UPDATE backlog SET leased_until = ?3 WHERE ticket = ?2 AND job = ?1 AND leased_until <> ?4")?;
    for (job, ticket) in claimed {
        let ticket = u64::try_from(ticket.0).unwrap_or(u64::MAX);
        hide.execute(params![job.as_str(), ticket, until.as_micros(), GIVEN_UP])?;
    }
    Ok(())
}

/// Takes what was done off the queue; `false` for each that is stale.
pub(crate) fn complete(connection: &Connection, done: &[Done]) -> Result<Vec<bool>, Failure> {
    let mut delete = connection
        .prepare_cached("DELETE FROM backlog WHERE record = ?1 AND job = ?2 AND (?3 IS NULL OR ticket = ?3)")?;
    let one = |done: &Done| {
        let Some(namespace) = scopes::namespace(connection, &done.scope)? else { return Ok(false) };
        let Some(current) = row::current(connection, namespace, done.id)? else { return Ok(false) };
        if current.revision != done.revision {
            return Ok(false);
        }
        let ticket = done.ticket.map(|ticket| u64::try_from(ticket.0).unwrap_or(u64::MAX));
        delete.execute(params![current.row, done.job.as_str(), ticket])?;
        Ok(true)
    };
    done.iter().map(one).collect()
}

/// Notes what could not be done, and hides it until it is to be tried again.
pub(crate) fn fail(connection: &Connection, failures: &[Setback]) -> Result<(), Failure> {
    let mut note = connection.prepare_cached(
        "UPDATE backlog SET leased_until = ?3, attempts = ?4, reason = ?5 WHERE record = ?1 AND job = ?2",
    )?;
    for failure in failures {
        let Some(namespace) = scopes::namespace(connection, &failure.scope)? else { continue };
        let current = row::current(connection, namespace, failure.id)?;
        let Some(current) = current.filter(|current| current.revision == failure.revision) else { continue };
        let until = failure.retry_at.map_or(GIVEN_UP, Timestamp::as_micros);
        note.execute(params![current.row, failure.job.as_str(), until, failure.attempts, failure.reason])?;
    }
    Ok(())
}

/// What within reach could not be done the last time, the longest waiting first.
pub(crate) fn failures(connection: &Connection, reach: &Reach, limit: usize) -> Result<Vec<Setback>, Failure> {
    let mut statement = Statement::new(
        "SELECT t.name, n.user, s.agent, s.session, s.branch, r.id, r.revision, b.job, b.attempts, b.reason, b.leased_until
         FROM backlog b CROSS JOIN records r ON r.record = b.record CROSS JOIN scopes s ON s.scope = r.scope
         CROSS JOIN namespaces n ON n.namespace = r.namespace CROSS JOIN tenants t ON t.tenant = n.tenant
         WHERE b.reason IS NOT NULL AND ",
    );
    reach.scopes(&mut statement);
    statement.push(" ORDER BY b.ticket LIMIT ").bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut failures = Vec::new();
    while let Some(row) = rows.next()? {
        let job = row.get_ref(7)?.as_str().map_err(rusqlite::Error::from)?;
        failures.push(Setback {
            scope: scopes::read(row)?,
            id: RecordId::from_bytes(row.get(5)?),
            revision: row.get(6)?,
            job: Job::named(job).ok_or_else(|| Failure::corrupt("a job"))?,
            attempts: row.get(8)?,
            reason: row.get(9)?,
            retry_at: Some(row.get(10)?).filter(|until| *until != GIVEN_UP).map(Timestamp::from_micros),
        });
    }
    Ok(failures)
}

/// How many records within reach wait for each job, since when the first, and for how many it was given up.
pub(crate) fn count(connection: &Connection, reach: &Reach, stats: &mut Stats) -> Result<(), Failure> {
    let mut statement = Statement::new("SELECT b.job, b.leased_until = ");
    statement.bind(GIVEN_UP).push(
        ", count(*), min(b.queued_at) FROM backlog b CROSS JOIN records r ON r.record = b.record
         CROSS JOIN scopes s ON s.scope = r.scope WHERE ",
    );
    reach.scopes(&mut statement);
    statement.push(" GROUP BY 1, 2");
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    while let Some(row) = rows.next()? {
        let Some(job) = Job::named(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?) else { continue };
        if row.get(1)? {
            stats.given_up.insert(job, row.get(2)?);
        } else {
            stats.backlog.insert(job, row.get(2)?);
            stats.waiting_since.insert(job, Timestamp::from_micros(row.get(3)?));
        }
    }
    Ok(())
}
