//! The rows of the job queue.

use std::time::Duration;

use memory_engine_core::{Done, ErrorKind, Failure, Job, Pending, RecordId, Scope, Stats, Ticket, Timestamp};
use memory_engine_sql::{
    indexed,
    rows::{self, LEASE_DEAD, LEASE_FREE, sql_limit},
};
use rusqlite::{Connection, Row, params, types::Value};

use crate::{
    database::{error::SqliteError, statement::Statement},
    queue::lease_owner::LeaseOwner,
    rows::{
        row::{self, CurrentVersion, selected},
        scopes::{self, CoveredScope},
    },
};

/// Queues a job for a record, behind all others. `Embedding` is queued for both embedding versions, if there are two.
pub(crate) fn enqueue(connection: &Connection, row: i64, job: Job, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO jobs (job, record, leased_until, queued_at) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![job.as_str(), row, LEASE_FREE, now.as_micros()])?;
    if job == Job::Embedding {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO jobs (job, record, leased_until, queued_at)
                 SELECT o.part, ?2, ?3, ?4 FROM index_metadata o WHERE o.part = ?1",
            )?
            .execute(params![Job::Reembedding.as_str(), row, LEASE_FREE, now.as_micros()])?;
    }
    Ok(())
}

/// Removes every job of a record from the queue. Returns their number.
pub(crate) fn dequeue(connection: &Connection, row: i64) -> rusqlite::Result<u64> {
    Ok(connection.prepare_cached("DELETE FROM jobs WHERE record = ?1")?.execute([row])? as u64)
}

/// Queues a job for all indexed records, in the order of tenant, user and id. With `covered`, only for records in that
/// scope; with `ids`, only for those of these ids. Returns their number.
pub(crate) fn requeue(
    connection: &Connection,
    covered: Option<&CoveredScope>,
    ids: Option<&[RecordId]>,
    job: Job,
    now: Timestamp,
) -> Result<u64, SqliteError> {
    let mut statement = Statement::new("INSERT OR REPLACE INTO jobs (job, record, leased_until, queued_at) SELECT ");
    statement.bind(job.as_str().to_owned()).push(", r.record, ").bind(LEASE_FREE).push(", ").bind(now.as_micros());
    statement.push(concat!(
        " FROM records r CROSS JOIN scopes s ON s.scope = r.scope CROSS JOIN namespaces n ON n.namespace = r.namespace
          CROSS JOIN tenants t ON t.tenant = n.tenant WHERE ",
        indexed!()
    ));
    if let Some(covered) = covered {
        covered.push_scope_condition(statement.push(" AND "));
    }
    if let Some(ids) = ids {
        let ids = ids.iter().map(|id| Value::Blob(id.as_bytes().to_vec()));
        statement.push(" AND r.id IN (").bind_all(ids).push(")");
    }
    statement.push(" ORDER BY t.name, n.user, r.id");
    Ok(statement.execute(connection)? as u64)
}

/// Claims the items of a job that have waited longest and have no lease, and leases them to `owner`. With a lease of
/// zero the items are only read, not claimed. A lease or retry delay that begins in the future, after the clock was set
/// back, counts as expired unless its owner is alive.
pub(crate) fn claim(
    connection: &Connection,
    job: Job,
    limit: usize,
    lease: Duration,
    now: Timestamp,
    owner: &LeaseOwner,
) -> Result<Vec<Pending>, SqliteError> {
    if !lease.is_zero() {
        owner.release_dead(connection)?;
    }
    let limit = sql_limit(limit);
    let sql = concat!(
        selected!(
            "(SELECT ticket, record, attempts, queued_at FROM jobs WHERE job = ?1 AND ticket >= 0
              AND (leased_until <= ?2 OR leased_at > ?4 AND owner IS NULL AND leased_until <> ?5)
              ORDER BY ticket LIMIT ?3 + 0) b CROSS JOIN ",
            ", b.attempts, b.ticket, b.queued_at"
        ),
        "WHERE r.record = b.record ORDER BY b.ticket"
    );
    let mut prepared = connection.prepare_cached(sql)?;
    let latest_start = rows::latest_lease_start(now);
    let mut rows = prepared.query(params![job.as_str(), now.as_micros(), limit, latest_start, LEASE_DEAD])?;
    let mut pending = Vec::new();
    let mut claimed = Vec::new();
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let stored = match row::read(row) {
            Ok(stored) => stored,
            Err(error) => {
                error.warn();
                damaged.push((row.get::<_, u64>("ticket")?, error.to_string()));
                continue;
            }
        };
        claimed.push(stored.row);
        let ticket = Ticket(u128::from(row.get::<_, u64>("ticket")?));
        let queued_at = Timestamp::from_micros(row.get("queued_at")?);
        pending.push(Pending {
            ticket,
            record: stored.record,
            job,
            attempts: row.get("attempts").unwrap_or_default(),
            queued_at,
        });
    }
    if !lease.is_zero() {
        // A dead letter, so that it does not hold up the items behind it.
        let sql = "UPDATE jobs SET leased_until = ?2, attempts = attempts + 1, reason = ?3, owner = NULL
            WHERE ticket = ?1";
        for (ticket, reason) in damaged {
            connection.prepare_cached(sql)?.execute(params![ticket, LEASE_DEAD, reason])?;
        }
    }
    if !lease.is_zero() && !claimed.is_empty() {
        let owner = owner.register(connection)?;
        let leased_until = now.after(lease).as_micros();
        let sql = "UPDATE jobs SET leased_until = ?3, owner = ?4, leased_at = ?5 WHERE record = ?2 AND job = ?1";
        let mut update = connection.prepare_cached(sql)?;
        for row in claimed {
            update.execute(params![job.as_str(), row, leased_until, owner, now.as_micros()])?;
        }
    }
    Ok(pending)
}

/// Extends the leases of claimed items, except dead letters and items that were queued again.
pub(crate) fn extend_lease(
    connection: &Connection,
    claimed: &[(Job, Ticket)],
    lease: Duration,
    now: Timestamp,
) -> Result<(), SqliteError> {
    let mut update = connection.prepare_cached(
        "UPDATE jobs SET leased_until = ?3, leased_at = ?5 WHERE ticket = ?2 AND job = ?1 AND leased_until <> ?4",
    )?;
    let until = now.after(lease).as_micros();
    for (job, ticket) in claimed {
        update.execute(params![job.as_str(), ticket_number(*ticket), until, LEASE_DEAD, now.as_micros()])?;
    }
    Ok(())
}

/// Removes completed items from the queue. Returns true for each item that was current, and false for each whose record
/// was deleted or written again since the item was claimed.
pub(crate) fn complete(connection: &Connection, done: &[Done]) -> Result<Vec<bool>, SqliteError> {
    let mut delete =
        connection.prepare_cached("DELETE FROM jobs WHERE record = ?1 AND job = ?2 AND (?3 IS NULL OR ticket = ?3)")?;
    let mut are_current = Vec::with_capacity(done.len());
    for item in done {
        let current = current_version(connection, &item.scope, item.id, item.revision)?;
        if let Some(current) = &current {
            let ticket = item.ticket.map(ticket_number);
            delete.execute(params![current.row, item.job.as_str(), ticket])?;
        }
        are_current.push(current.is_some());
    }
    Ok(are_current)
}

/// Stores failures, and hides each item until its next attempt. An item without a next attempt becomes a dead letter.
pub(crate) fn fail(connection: &Connection, failures: &[Failure], now: Timestamp) -> Result<(), SqliteError> {
    let mut update = connection.prepare_cached(
        "UPDATE jobs SET leased_until = ?3, attempts = ?4, reason = ?5, owner = NULL, leased_at = ?6
         WHERE record = ?1 AND job = ?2",
    )?;
    for failure in failures {
        let current = current_version(connection, &failure.scope, failure.id, failure.revision)?;
        let Some(current) = current else { continue };
        let until = rows::leased_until(failure.retry_at);
        let (job, now) = (failure.job.as_str(), now.as_micros());
        update.execute(params![current.row, job, until, failure.attempts, failure.reason, now])?;
    }
    Ok(())
}

/// Returns the record of a queue item; `None` if it was deleted or written again since.
fn current_version(
    connection: &Connection,
    scope: &Scope,
    id: RecordId,
    revision: u64,
) -> Result<Option<CurrentVersion>, SqliteError> {
    let Some(namespace) = scopes::namespace(connection, scope)? else { return Ok(None) };
    let current = row::current(connection, namespace, id)?;
    Ok(current.filter(|current| current.revision == revision))
}

/// Returns the stored number of a ticket. A ticket that is too large gets a number that no stored ticket has.
fn ticket_number(ticket: Ticket) -> u64 {
    u64::try_from(ticket.0).unwrap_or(u64::MAX)
}

/// Returns the last failure of each failed item in the covered scope, in the order of queuing.
pub(crate) fn failures(
    connection: &Connection,
    covered: &CoveredScope,
    limit: usize,
) -> Result<Vec<Failure>, SqliteError> {
    let mut statement = Statement::new(
        "SELECT t.name, n.user, s.agent, s.session, s.branch, r.id, r.revision, b.job, b.attempts, b.reason,
             b.leased_until
         FROM jobs b CROSS JOIN records r ON r.record = b.record CROSS JOIN scopes s ON s.scope = r.scope
         CROSS JOIN namespaces n ON n.namespace = r.namespace CROSS JOIN tenants t ON t.tenant = n.tenant
         WHERE b.reason IS NOT NULL AND ",
    );
    covered.push_scope_condition(&mut statement);
    statement.push(" ORDER BY b.ticket").limit(sql_limit(limit));
    let mut failures = Vec::new();
    statement.for_each(connection, |row| {
        match failure(row) {
            // The health check reports such a row.
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            failure => failures.push(failure?),
        }
        Ok(())
    })?;
    Ok(failures)
}

fn failure(row: &Row<'_>) -> Result<Failure, SqliteError> {
    let job = row.get_ref("job")?.as_str().map_err(rusqlite::Error::from)?;
    let job = Job::named(job).ok_or_else(|| SqliteError::corrupt("a job"))?;
    let id = RecordId::from_bytes(row.get("id")?);
    let reason: String = row.get("reason")?;
    let failure = Failure::new(id, scopes::read_or_user(row)?, job, row.get("revision").unwrap_or_default(), reason);
    let retry_at = rows::retry_at(row.get("leased_until")?);
    Ok(failure.with_attempts(row.get("attempts").unwrap_or_default()).with_retry_at(retry_at))
}

/// Adds the queued items and dead letters of the covered scope to the statistics, by job.
pub(crate) fn count(connection: &Connection, covered: &CoveredScope, stats: &mut Stats) -> Result<(), SqliteError> {
    let mut statement = Statement::new("SELECT b.job, b.leased_until = ");
    statement.bind(LEASE_DEAD).push(
        " AS is_dead, count(*) AS records, min(b.queued_at) AS oldest
         FROM jobs b CROSS JOIN records r ON r.record = b.record CROSS JOIN scopes s ON s.scope = r.scope WHERE ",
    );
    covered.push_scope_condition(&mut statement);
    statement.push(" GROUP BY 1, 2");
    statement.for_each(connection, |row| {
        let job = row.get_ref("job")?.as_str().map_err(rusqlite::Error::from)?;
        rows::add_queued(stats, job, row.get("is_dead")?, row.get("records")?, row.get("oldest")?);
        Ok(())
    })
}
