//! The rows of the job queue, in the table `jobs`.
//!
//! Two operations serve all tenants, as their contract requires: claiming the oldest jobs, and queueing all records
//! after an index was emptied. All others are limited to namespaces.

use std::{collections::BTreeMap, time::Duration};

use memory_engine_core::{DamagedRecord, Done, Failure, Job, Pending, Record, RecordId, Stats, Timestamp};
use memory_engine_sql::{
    indexed,
    rows::{self, LEASE_DEAD, LEASE_FREE, sql_limit},
};
use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    queue::lease_owner,
    rows::{
        namespaces,
        row::{self, select_records},
        scopes::{self, CoveredScope, record_id},
    },
};

/// An entry of the queue, behind all entries that were created before it.
#[derive(Debug)]
pub(crate) struct QueueEntry {
    pub(crate) job: Job,
    pub(crate) id: Uuid,
    pub(crate) ticket: Uuid,
    pub(crate) queued_at: Timestamp,
}

impl QueueEntry {
    /// Creates the next entry, for a job of a record.
    pub(crate) fn new(job: Job, id: Uuid, queued_at: Timestamp) -> Self {
        Self { job, id, ticket: Uuid::now_v7(), queued_at }
    }
}

/// Removes every job of these records from the queue. Returns the number of removed jobs.
pub(crate) async fn remove(connection: &mut PgConnection, namespace: Uuid, ids: &[Uuid]) -> Result<u64, PostgresError> {
    let removed = sqlx::query("DELETE FROM jobs b WHERE b.namespace = $1 AND b.id = ANY ($2)")
        .bind(namespace)
        .bind(ids)
        .execute(connection)
        .await?;
    Ok(removed.rows_affected())
}

/// Queues the active records in a scope, or those with these ids, user by user. Returns the number of queued records.
pub(crate) async fn requeue(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: Option<&[RecordId]>,
    job: Job,
    now: Timestamp,
) -> Result<u64, PostgresError> {
    let namespaces = covered.namespaces(connection).await?;
    namespaces::lock_known(connection, &namespaces).await?;
    let mut queued = 0;
    for namespace in namespaces {
        let mut statement = StatementBuilder::new(
            "INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at) SELECT r.namespace, ",
        );
        statement.bind(job.as_str()).push(", r.id, ").bind(Uuid::now_v7()).push(", ").bind(LEASE_FREE);
        statement.push(", ").bind(now.as_micros());
        statement.push(concat!(" FROM records r WHERE ", indexed!(), " AND "));
        covered.within(namespace).push_row_condition("r", &mut statement);
        if let Some(ids) = ids {
            statement.push(" AND r.id = ANY (").bind(scopes::uuids(ids)).push(")");
        }
        statement.push(
            " ON CONFLICT (namespace, job, id) DO UPDATE
                SET ticket = excluded.ticket, leased_until = excluded.leased_until,
             queued_at = excluded.queued_at, attempts = 0, reason = NULL RETURNING 1",
        );
        queued += statement.fetch_all(connection).await?.len() as u64;
    }
    Ok(queued)
}

/// Queues the active records of all tenants.
pub(crate) async fn requeue_all(connection: &mut PgConnection, job: Job, now: Timestamp) -> Result<(), PostgresError> {
    sqlx::query(concat!(
        "INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at) SELECT r.namespace, $1, r.id, $2, $3, $4
         FROM records r WHERE ",
        indexed!(),
        " ON CONFLICT (namespace, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
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

/// Selects the oldest records that wait for a job and are not leased.
const SELECT_PENDING: &str = concat!(
    select_records!(
        "(SELECT b.namespace, b.id, b.ticket, b.attempts, b.queued_at FROM jobs b WHERE b.job = $1
          AND (b.leased_until <= $2 OR b.leased_at > $4 AND b.owner IS NULL AND b.leased_until <> $5)
          ORDER BY b.ticket, b.namespace, b.id LIMIT $3) c JOIN records r ON r.namespace = c.namespace AND r.id = c.id",
        ", c.attempts, c.ticket, c.queued_at"
    ),
    "ORDER BY c.ticket, c.namespace, c.id"
);

/// Leases the same records. Skips those that another worker is claiming at the same time.
const CLAIM_PENDING: &str = concat!(
    "WITH free AS (
        SELECT b.namespace, b.job, b.id, b.ticket FROM jobs b WHERE b.job = $1
        AND (b.leased_until <= $2 OR b.leased_at > $4 AND b.owner IS NULL AND b.leased_until <> $5)
        ORDER BY b.ticket, b.namespace, b.id LIMIT $3 FOR UPDATE SKIP LOCKED
     ), claimed AS (
        UPDATE jobs b SET leased_until = $6, owner = $7, leased_at = $8 FROM free f
        WHERE b.namespace = f.namespace AND b.job = f.job AND b.id = f.id
        RETURNING b.namespace, b.id, b.ticket, b.attempts, b.queued_at
     ) ",
    select_records!(
        "claimed c JOIN records r ON r.namespace = c.namespace AND r.id = c.id",
        ", c.attempts, c.ticket, c.queued_at"
    ),
    "ORDER BY c.ticket, c.namespace, c.id"
);

/// Claims the oldest records that wait for a job and are not leased. A lease of zero only reads them. A lease or retry
/// delay that begins in the future, after the clock was set back, counts as expired unless its owner is alive.
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
    let query = sqlx::query(if lease.is_zero() { SELECT_PENDING } else { CLAIM_PENDING });
    let mut query = query.bind(job.as_str()).bind(now.as_micros()).bind(sql_limit(limit));
    query = query.bind(rows::latest_lease_start(now)).bind(LEASE_DEAD);
    if !lease.is_zero() {
        query = query.bind(now.after(lease).as_micros()).bind(owner).bind(now.as_micros());
    }
    let rows = query.fetch_all(&mut *connection).await?;
    let mut pending = Vec::with_capacity(rows.len());
    for row in &rows {
        match row::read(row) {
            Ok(stored) => pending.push(read_pending(row, stored.record, job)?),
            Err(damaged) => {
                damaged.warn();
                if !lease.is_zero() {
                    fail_damaged(connection, row.try_get("namespace")?, job, &damaged).await?;
                }
            }
        }
    }
    Ok(pending)
}

fn read_pending(row: &PgRow, record: Record, job: Job) -> Result<Pending, PostgresError> {
    let attempts = u32::try_from(row.try_get::<i64, _>("attempts")?).unwrap_or(u32::MAX);
    let ticket = memory_engine_core::Ticket(row.try_get::<Uuid, _>("ticket")?.as_u128());
    let queued_at = Timestamp::from_micros(row.try_get("queued_at")?);
    Ok(Pending { ticket, record, job, attempts, queued_at })
}

/// Makes the job of a record that cannot be read a dead letter, so that it does not hold up the jobs behind it.
async fn fail_damaged(
    connection: &mut PgConnection,
    namespace: Uuid,
    job: Job,
    damaged: &DamagedRecord,
) -> Result<(), PostgresError> {
    let sql = "UPDATE jobs b SET leased_until = $4, attempts = b.attempts + 1, reason = $5, owner = NULL
               WHERE b.namespace = $1 AND b.id = $2 AND b.job = $3";
    sqlx::query(sql)
        .bind(namespace)
        .bind(scopes::uuid(damaged.id))
        .bind(job.as_str())
        .bind(LEASE_DEAD)
        .bind(damaged.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

/// Extends the leases of claimed jobs, except for dead letters and for jobs that were queued again.
pub(crate) async fn extend_lease(
    connection: &mut PgConnection,
    pending: &[Pending],
    lease: Duration,
    now: Timestamp,
) -> Result<(), PostgresError> {
    let mut by_namespace: BTreeMap<Uuid, Vec<&Pending>> = BTreeMap::new();
    for job in pending {
        by_namespace.entry(scopes::namespace(&job.record.scope)).or_default().push(job);
    }
    namespaces::lock_known(connection, &by_namespace.keys().copied().collect::<Vec<_>>()).await?;
    for (namespace, pending) in by_namespace {
        sqlx::query(
            "UPDATE jobs b SET leased_until = $5, leased_at = $7
             FROM unnest($2::uuid[], $3::text[], $4::uuid[]) x (id, job, ticket)
             WHERE b.namespace = $1 AND b.id = x.id AND b.job = x.job AND b.ticket = x.ticket AND b.leased_until <> $6",
        )
        .bind(namespace)
        .bind(pending.iter().map(|job| scopes::uuid(job.record.id)).collect::<Vec<_>>())
        .bind(pending.iter().map(|job| job.job.as_str()).collect::<Vec<_>>())
        .bind(pending.iter().map(|job| Uuid::from_u128(job.ticket.0)).collect::<Vec<_>>())
        .bind(now.after(lease).as_micros())
        .bind(LEASE_DEAD)
        .bind(now.as_micros())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Removes completed jobs from the queue. Returns false for each job whose record has changed since it was claimed.
pub(crate) async fn complete(connection: &mut PgConnection, done: &[Done]) -> Result<Vec<bool>, PostgresError> {
    let mut by_namespace: BTreeMap<Uuid, Vec<&Done>> = BTreeMap::new();
    for job in done {
        by_namespace.entry(scopes::namespace(&job.scope)).or_default().push(job);
    }
    // The lock prevents a new revision between reading the revision and deleting the queue entry.
    namespaces::lock_known(connection, &by_namespace.keys().copied().collect::<Vec<_>>()).await?;
    let mut revisions: FxHashMap<(Uuid, RecordId), u64> = FxHashMap::default();
    for (namespace, done) in by_namespace {
        let ids: Vec<_> = done.iter().map(|job| job.id).collect();
        let current = row::current_revisions(connection, namespace, &ids).await?;
        revisions.extend(current.into_iter().map(|current| ((namespace, current.id), current.revision)));
        let fresh: Vec<_> =
            done.iter().filter(|job| revisions.get(&(namespace, job.id)) == Some(&job.revision)).collect();
        sqlx::query(
            "DELETE FROM jobs b USING unnest($2::uuid[], $3::text[], $4::uuid[]) x (id, job, ticket)
             WHERE b.namespace = $1 AND b.id = x.id AND b.job = x.job AND (x.ticket IS NULL OR x.ticket = b.ticket)",
        )
        .bind(namespace)
        .bind(fresh.iter().map(|job| scopes::uuid(job.id)).collect::<Vec<_>>())
        .bind(fresh.iter().map(|job| job.job.as_str()).collect::<Vec<_>>())
        .bind(fresh.iter().map(|job| job.ticket.map(|ticket| Uuid::from_u128(ticket.0))).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    let is_fresh = |job: &Done| revisions.get(&(scopes::namespace(&job.scope), job.id)) == Some(&job.revision);
    Ok(done.iter().map(is_fresh).collect())
}

/// Queues one job of a record behind all others, even if it is already queued.
pub(crate) async fn requeue_one(
    connection: &mut PgConnection,
    namespace: Uuid,
    entry: &QueueEntry,
) -> Result<(), PostgresError> {
    sqlx::query(
        "INSERT INTO jobs (namespace, job, id, ticket, leased_until, queued_at) SELECT $1, $2, $3, $4, $5, $6
         ON CONFLICT (namespace, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until,
         queued_at = excluded.queued_at, attempts = 0, reason = NULL",
    )
    .bind(namespace)
    .bind(entry.job.as_str())
    .bind(entry.id)
    .bind(entry.ticket)
    .bind(LEASE_FREE)
    .bind(entry.queued_at.as_micros())
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores failures of jobs, and hides the jobs until their next attempt.
pub(crate) async fn fail(
    connection: &mut PgConnection,
    failures: &[Failure],
    now: Timestamp,
) -> Result<(), PostgresError> {
    let mut by_namespace: BTreeMap<Uuid, Vec<&Failure>> = BTreeMap::new();
    for failure in failures {
        by_namespace.entry(scopes::namespace(&failure.scope)).or_default().push(failure);
    }
    namespaces::lock_known(connection, &by_namespace.keys().copied().collect::<Vec<_>>()).await?;
    for (namespace, failures) in by_namespace {
        sqlx::query(
            "UPDATE jobs b SET leased_until = x.until, attempts = x.attempts, reason = x.reason, owner = NULL,
                    leased_at = $8
             FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
                  x (id, revision, job, until, attempts, reason)
             JOIN records r ON r.namespace = $1 AND r.id = x.id AND r.revision = x.revision
             WHERE b.namespace = $1 AND b.id = x.id AND b.job = x.job",
        )
        .bind(namespace)
        .bind(failures.iter().map(|failure| scopes::uuid(failure.id)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| i64::try_from(failure.revision).unwrap_or(i64::MAX)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| failure.job.as_str()).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| rows::leased_until(failure.retry_at)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| i64::from(failure.attempts)).collect::<Vec<_>>())
        .bind(failures.iter().map(|failure| &failure.reason[..]).collect::<Vec<_>>())
        .bind(now.as_micros())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Returns the failed jobs of records in a scope, longest waiting first.
pub(crate) async fn failures(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    limit: usize,
) -> Result<Vec<Failure>, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT n.tenant, n.username, a.agent, a.session, a.branch, r.id, r.revision, b.job, b.attempts, b.reason,
                b.leased_until
         FROM jobs b JOIN records r ON r.namespace = b.namespace AND r.id = b.id
         JOIN namespaces n ON n.namespace = r.namespace
         JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope WHERE b.reason IS NOT NULL AND ",
    );
    covered.push_row_condition("r", &mut statement);
    statement.push(" ORDER BY b.ticket, b.namespace, b.id LIMIT ").bind(sql_limit(limit));
    let read = |row: &PgRow| {
        // The health check reports an unknown job.
        let Some(job) = Job::named(row.try_get("job")?) else { return Ok(None) };
        let id = record_id(row.try_get("id")?);
        let revision = u64::try_from(row.try_get::<i64, _>("revision")?).unwrap_or_default();
        let attempts = u32::try_from(row.try_get::<i64, _>("attempts")?).unwrap_or(u32::MAX);
        let reason = row.try_get::<String, _>("reason")?;
        let failure = Failure::new(id, scopes::read_or_user(row)?, job, revision, reason);
        Ok(Some(failure.with_attempts(attempts).with_retry_at(rows::retry_at(row.try_get("leased_until")?))))
    };
    let rows = statement.fetch_all(connection).await?;
    rows.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Adds to `stats`, for each job, the number of queued records in a scope, the time of the oldest, and the number of
/// dead letters.
pub(crate) async fn count_queued(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    stats: &mut Stats,
) -> Result<(), PostgresError> {
    let mut statement = StatementBuilder::new("SELECT b.job, b.leased_until = ");
    statement.bind(LEASE_DEAD).push(
        " AS is_dead, count(*) AS records, min(b.queued_at) AS oldest
         FROM jobs b JOIN records r ON r.namespace = b.namespace AND r.id = b.id WHERE ",
    );
    covered.push_row_condition("r", &mut statement);
    statement.push(" GROUP BY b.job, is_dead");
    for row in statement.fetch_all(connection).await? {
        let records = u64::try_from(row.try_get::<i64, _>("records")?).unwrap_or_default();
        rows::add_queued(stats, row.try_get("job")?, row.try_get("is_dead")?, records, row.try_get("oldest")?);
    }
    Ok(())
}
