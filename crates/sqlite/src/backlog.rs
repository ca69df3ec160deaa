//! What is still to be done.

use std::time::Duration;

use memory_core::{Done, Job, Pending, Timestamp};
use rusqlite::{Connection, params};

use crate::{
    failure::Failure,
    records::{self, selected},
    scopes::{self, Reach},
    statement::Statement,
};

const FREE: i64 = i64::MIN;

/// Queues a job for a record, behind all others and free to be claimed.
pub(crate) fn enqueue(connection: &Connection, row: i64, job: Job) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO backlog (job, record, leased_until) VALUES (?1, ?2, ?3)")?
        .execute(params![job.as_str(), row, FREE])?;
    Ok(())
}

/// Takes every job of a record off the queue.
pub(crate) fn unqueue(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM backlog WHERE record = ?1")?.execute([row])?;
    Ok(())
}

/// Queues every active record within reach, in the order of their namespaces and ids.
pub(crate) fn requeue(connection: &Connection, reach: Option<&Reach>, job: Job) -> Result<u64, Failure> {
    let mut statement = Statement::new("INSERT OR REPLACE INTO backlog (job, record, leased_until) SELECT ");
    statement.bind(job.as_str().to_owned()).push(", r.record, ").bind(FREE).push(
        " FROM records r CROSS JOIN scopes s ON s.scope = r.scope CROSS JOIN namespaces n ON n.namespace = r.namespace
          CROSS JOIN tenants t ON t.tenant = n.tenant WHERE r.state = 'active'",
    );
    if let Some(reach) = reach {
        reach.scopes(statement.push(" AND "));
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
            "(SELECT ticket, record FROM backlog WHERE job = ?1 AND leased_until <= ?2 ORDER BY ticket LIMIT ?3) b
             CROSS JOIN "
        ),
        "WHERE r.record = b.record ORDER BY b.ticket"
    );
    let mut prepared = connection.prepare_cached(sql)?;
    let mut rows = prepared.query(params![job.as_str(), now.as_micros(), limit])?;
    let mut hide = connection.prepare_cached("UPDATE backlog SET leased_until = ?3 WHERE record = ?2 AND job = ?1")?;
    let mut pending = Vec::new();
    let mut claimed = Vec::new();
    while let Some(row) = rows.next()? {
        let stored = records::read(row)?;
        claimed.push(stored.row);
        pending.push(Pending { record: stored.record, job });
    }
    if !lease.is_zero() {
        for row in claimed {
            hide.execute(params![job.as_str(), row, now.after(lease).as_micros()])?;
        }
    }
    Ok(pending)
}

/// Takes what was done off the queue; `false` for each that is stale.
pub(crate) fn acknowledge(connection: &Connection, done: &[Done]) -> Result<Vec<bool>, Failure> {
    let mut delete = connection.prepare_cached("DELETE FROM backlog WHERE record = ?1 AND job = ?2")?;
    let one = |done: &Done| {
        let Some(namespace) = scopes::namespace(connection, &done.scope)? else { return Ok(false) };
        let Some(current) = records::current(connection, namespace, done.id)? else { return Ok(false) };
        if current.revision != done.revision {
            return Ok(false);
        }
        delete.execute(params![current.row, done.job.as_str()])?;
        Ok(true)
    };
    done.iter().map(one).collect()
}
