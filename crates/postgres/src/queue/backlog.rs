//! The rows of the job queue.
//!
//! Two statements here serve all tenants, because the contract does: looking for what has waited longest, and queueing
//! everything after an index was emptied. All others are for one namespace.

use std::{collections::BTreeMap, time::Duration};

use memory_engine_core::{Done, Failure, Job, Pending, RecordId, Stats, Timestamp};
use memory_engine_sql::{
    indexed,
    rows::{self, LEASE_DEAD, LEASE_FREE, sql_limit},
};
use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    database::statement::Statement,
    queue::lease_owner,
    records::namespaces,
    records::row::{self, selected},
    records::scopes::{self, CoveredScope, record_id},
};

/// A place in the queue, behind all that were drawn before it.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) job: Job,
    pub(crate) id: Uuid,
    pub(crate) ticket: Uuid,
    pub(crate) queued_at: Timestamp,
}

impl Ticket {
    /// The next one, for a job that a record waits for.
    pub(crate) fn new(job: Job, id: Uuid, queued_at: Timestamp) -> Self {
        Self { job, id, ticket: Uuid::now_v7(), queued_at }
    }
}

/// Takes every job of these records off the queue, and counts them.
pub(crate) async fn unqueue(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<u64, PostgresError> {
    let taken = sqlx::query("DELETE FROM backlog b WHERE b.ns = $1 AND b.id = ANY ($2)")
        .bind(ns)
        .bind(ids)
        .execute(connection)
        .await?;
    Ok(taken.rows_affected())
}

/// Queues every visible record that is to be indexed, or those with these ids, user by user, in order of their ids.
pub(crate) async fn requeue(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    ids: Option<&[RecordId]>,
    job: Job,
    now: Timestamp,
) -> Result<u64, PostgresError> {
    let namespaces = reach.namespaces(connection).await?;
    namespaces::lock_known(connection, &namespaces).await?;
    let mut queued = 0;
    for ns in namespaces {
        let mut statement =
            Statement::new("INSERT INTO backlog (ns, job, id, ticket, leased_until, queued_at) SELECT r.ns, ");
        statement.bind(job.as_str()).push(", r.id, ").bind(Uuid::now_v7()).push(", ").bind(LEASE_FREE);
        statement.push(", ").bind(now.as_micros());
        statement.push(concat!(" FROM records r WHERE ", indexed!(), " AND "));
        reach.within(ns).holds("r", &mut statement);
        if let Some(ids) = ids {
            statement.push(" AND r.id = ANY (").bind(scopes::uuids(ids)).push(")");
        }
        statement.push(
            " ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
             queued_at = excluded.queued_at, attempts = 0, reason = NULL RETURNING 1",
        );
        queued += statement.rows(connection).await?.len() as u64;
    }
    Ok(queued)
}

/// Queues every active record of everybody.
pub(crate) async fn requeue_all(connection: &mut PgConnection, job: Job, now: Timestamp) -> Result<(), PostgresError> {
    sqlx::query(concat!(
        "INSERT INTO backlog (ns, job, id, ticket, leased_until, queued_at) SELECT r.ns, $1, r.id, $2, $3, $4
         FROM records r WHERE ",
        indexed!(),
        " ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
          queued_at = excluded.queued_at, attempts = 0, reason = NULL"
    ))
    .bind(job.as_str())
    .bind(Uuid::now_v7())
    .bind(LEASE_FREE)
    .bind(now.as_micros())
    .execute(connection)
    .await?;
    Ok(())
}

/// Looks at the oldest records that wait for a job and are free.
const LOOK: &str = concat!(
    selected!(
        "(SELECT b.ns, b.id, b.ticket, b.attempts, b.queued_at FROM backlog b WHERE b.job = $1 AND b.leased_until <= $2
          ORDER BY b.ticket, b.ns, b.id LIMIT $3) c JOIN records r ON r.ns = c.ns AND r.id = c.id",
        ", c.attempts, c.ticket, c.queued_at"
    ),
    "ORDER BY c.ticket, c.ns, c.id"
);

/// Takes them: they are hidden from then on. What another worker is taking at this very moment is passed over.
const CLAIM: &str = concat!(
    "WITH free AS (
        SELECT b.ns, b.job, b.id, b.ticket FROM backlog b WHERE b.job = $1 AND b.leased_until <= $2
        ORDER BY b.ticket, b.ns, b.id LIMIT $3 FOR UPDATE SKIP LOCKED
     ), claimed AS (
        UPDATE backlog b SET leased_until = $4, owner = $5 FROM free f WHERE b.ns = f.ns AND b.job = f.job AND b.id = f.id
        RETURNING b.ns, b.id, b.ticket, b.attempts, b.queued_at
     ) ",
    selected!("claimed c JOIN records r ON r.ns = c.ns AND r.id = c.id", ", c.attempts, c.ticket, c.queued_at"),
    "ORDER BY c.ticket, c.ns, c.id"
);

/// The oldest records that wait for a job and are free, hidden from then on for the length of the lease.
pub(crate) async fn claim(
    connection: &mut PgConnection,
    job: Job,
    limit: usize,
    lease: Duration,
    now: Timestamp,
    owner: Option<i64>,
) -> Result<Vec<Pending>, PostgresError> {
    if let Some(owner) = owner {
        lease_owner::release_dead(connection, owner).await?;
    }
    let query = sqlx::query(if lease.is_zero() { LOOK } else { CLAIM });
    let mut query = query.bind(job.as_str()).bind(now.as_micros()).bind(sql_limit(limit));
    if !lease.is_zero() {
        query = query.bind(now.after(lease).as_micros()).bind(owner);
    }
    let rows = query.fetch_all(connection).await?;
    let pending = |row: &PgRow| {
        let attempts = u32::try_from(row.try_get::<i64, _>("attempts")?).unwrap_or(u32::MAX);
        let ticket = memory_engine_core::Ticket(row.try_get::<Uuid, _>("ticket")?.as_u128());
        let queued_at = Timestamp::from_micros(row.try_get("queued_at")?);
        Ok(Pending { ticket, record: row::read(row)?.record, job, attempts, queued_at })
    };
    rows.iter().map(pending).collect()
}

/// Hides what was claimed until then, unless it was given up or is another place in the queue by now.
pub(crate) async fn extend_lease(
    connection: &mut PgConnection,
    pending: &[Pending],
    until: Timestamp,
) -> Result<(), PostgresError> {
    let mut of: BTreeMap<Uuid, Vec<&Pending>> = BTreeMap::new();
    for one in pending {
        of.entry(scopes::namespace(&one.record.scope)).or_default().push(one);
    }
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    for (ns, pending) in of {
        sqlx::query(
            "UPDATE backlog b SET leased_until = $5
             FROM unnest($2::uuid[], $3::text[], $4::uuid[]) x (id, job, ticket)
             WHERE b.ns = $1 AND b.id = x.id AND b.job = x.job AND b.ticket = x.ticket AND b.leased_until <> $6",
        )
        .bind(ns)
        .bind(pending.iter().map(|one| scopes::uuid(one.record.id)).collect::<Vec<_>>())
        .bind(pending.iter().map(|one| one.job.as_str()).collect::<Vec<_>>())
        .bind(pending.iter().map(|one| Uuid::from_u128(one.ticket.0)).collect::<Vec<_>>())
        .bind(until.as_micros())
        .bind(LEASE_DEAD)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Takes what was done off the queue; `false` for each that is stale.
pub(crate) async fn complete(connection: &mut PgConnection, done: &[Done]) -> Result<Vec<bool>, PostgresError> {
    let mut of: BTreeMap<Uuid, Vec<&Done>> = BTreeMap::new();
    for one in done {
        of.entry(scopes::namespace(&one.scope)).or_default().push(one);
    }
    // The lock prevents a new revision between reading the revision and deleting the queue entry.
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    let mut revisions: FxHashMap<(Uuid, RecordId), u64> = FxHashMap::default();
    for (ns, done) in of {
        let ids: Vec<_> = done.iter().map(|one| one.id).collect();
        let current = row::current(connection, ns, &ids).await?;
        revisions.extend(current.into_iter().map(|current| ((ns, current.id), current.revision)));
        let fresh: Vec<_> = done.iter().filter(|one| revisions.get(&(ns, one.id)) == Some(&one.revision)).collect();
        sqlx::query(
            "DELETE FROM backlog b USING unnest($2::uuid[], $3::text[], $4::uuid[]) x (id, job, ticket)
             WHERE b.ns = $1 AND b.id = x.id AND b.job = x.job AND (x.ticket IS NULL OR x.ticket = b.ticket)",
        )
        .bind(ns)
        .bind(fresh.iter().map(|one| scopes::uuid(one.id)).collect::<Vec<_>>())
        .bind(fresh.iter().map(|one| one.job.as_str()).collect::<Vec<_>>())
        .bind(fresh.iter().map(|one| one.ticket.map(|ticket| Uuid::from_u128(ticket.0))).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    let is_fresh = |one: &Done| revisions.get(&(scopes::namespace(&one.scope), one.id)) == Some(&one.revision);
    Ok(done.iter().map(is_fresh).collect())
}

/// Queues one job of a record, behind all others, whether it waits already or not.
pub(crate) async fn requeue_one(connection: &mut PgConnection, ns: Uuid, ticket: &Ticket) -> Result<(), PostgresError> {
    sqlx::query(
        "INSERT INTO backlog (ns, job, id, ticket, leased_until, queued_at) SELECT $1, $2, $3, $4, $5, $6
         ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
         queued_at = excluded.queued_at, attempts = 0, reason = NULL",
    )
    .bind(ns)
    .bind(ticket.job.as_str())
    .bind(ticket.id)
    .bind(ticket.ticket)
    .bind(LEASE_FREE)
    .bind(ticket.queued_at.as_micros())
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores failures of jobs, and hides the jobs until their next attempt.
pub(crate) async fn fail(connection: &mut PgConnection, failures: &[Failure]) -> Result<(), PostgresError> {
    let mut of: BTreeMap<Uuid, Vec<&Failure>> = BTreeMap::new();
    for failure in failures {
        of.entry(scopes::namespace(&failure.scope)).or_default().push(failure);
    }
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    for (ns, failures) in of {
        sqlx::query(
            "UPDATE backlog b SET leased_until = x.until, attempts = x.attempts, reason = x.reason, owner = NULL
             FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
                  x (id, revision, job, until, attempts, reason)
             JOIN records r ON r.ns = $1 AND r.id = x.id AND r.revision = x.revision
             WHERE b.ns = $1 AND b.id = x.id AND b.job = x.job",
        )
        .bind(ns)
        .bind(failures.iter().map(|failure| scopes::uuid(failure.id)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| i64::try_from(failure.revision).unwrap_or(i64::MAX)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| failure.job.as_str()).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| rows::leased_until(failure.retry_at)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| i64::from(failure.attempts)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| &failure.reason[..]).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Returns the failed jobs of visible records, longest waiting first.
pub(crate) async fn failures(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    limit: usize,
) -> Result<Vec<Failure>, PostgresError> {
    let mut statement = Statement::new(
        "SELECT n.tenant, n.username, a.agent, a.session, a.branch, r.id, r.revision, b.job, b.attempts, b.reason,
                b.leased_until
         FROM backlog b JOIN records r ON r.ns = b.ns AND r.id = b.id JOIN namespaces n ON n.ns = r.ns
         JOIN addresses a ON a.ns = r.ns AND a.address = r.address WHERE b.reason IS NOT NULL AND ",
    );
    reach.holds("r", &mut statement);
    statement.push(" ORDER BY b.ticket, b.ns, b.id LIMIT ").bind(sql_limit(limit));
    let read = |row: &PgRow| {
        let id = record_id(row.try_get("id")?);
        let revision =
            u64::try_from(row.try_get::<i64, _>("revision")?).map_err(|_| PostgresError::corrupt("a revision"))?;
        let job = Job::named(row.try_get("job")?).ok_or_else(|| PostgresError::corrupt("a job"))?;
        let attempts = u32::try_from(row.try_get::<i64, _>("attempts")?).unwrap_or(u32::MAX);
        let failure = Failure::new(id, scopes::read(row)?, job, revision, row.try_get::<String, _>("reason")?);
        Ok(failure.with_attempts(attempts).with_retry_at(rows::retry_at(row.try_get("leased_until")?)))
    };
    statement.rows(connection).await?.iter().map(read).collect()
}

/// Returns for each job the number of visible records in the queue, the time of the oldest, and the number of records
/// for which the job was given up.
pub(crate) async fn count(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    stats: &mut Stats,
) -> Result<(), PostgresError> {
    let mut statement = Statement::new("SELECT b.job, b.leased_until = ");
    statement.bind(LEASE_DEAD).push(
        " AS is_dead, count(*) AS records, min(b.queued_at) AS oldest FROM backlog b JOIN records r ON r.ns = b.ns AND r.id = b.id WHERE ",
    );
    reach.holds("r", &mut statement);
    statement.push(" GROUP BY b.job, is_dead");
    for row in statement.rows(connection).await? {
        let records = u64::try_from(row.try_get::<i64, _>("records")?).unwrap_or_default();
        rows::add_queued(stats, row.try_get("job")?, row.try_get("is_dead")?, records, row.try_get("oldest")?);
    }
    Ok(())
}
