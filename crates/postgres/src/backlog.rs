//! What is still to be done.
//!
//! Two statements here serve all tenants, because the contract does: looking for what has waited longest, and queueing
//! everything after an index was emptied. All others are for one namespace.

use std::{collections::BTreeMap, time::Duration};

use memory_core::{Done, Job, Pending, RecordId, Scope, Timestamp};
use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    failure::Failure,
    namespaces,
    records::{self, selected},
    scopes::{self, Reach},
    statement::Statement,
};

const FREE: i64 = i64::MIN;

/// A place in the queue, behind all that were drawn before it.
#[derive(Debug)]
pub(crate) struct Ticket {
    job: Job,
    id: Uuid,
    ticket: Uuid,
}

impl Ticket {
    /// The next one, for a job that a record waits for.
    pub(crate) fn new(job: Job, id: Uuid) -> Self {
        Self { job, id, ticket: Uuid::now_v7() }
    }
}

/// Queues records, free to be claimed.
pub(crate) async fn enqueue(connection: &mut PgConnection, ns: Uuid, tickets: &[&Ticket]) -> Result<(), Failure> {
    if tickets.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO backlog (ns, job, id, ticket, leased_until)
         SELECT $1, x.job, x.id, x.ticket, $5 FROM unnest($2::text[], $3::uuid[], $4::uuid[]) x (job, id, ticket)",
    )
    .bind(ns)
    .bind(tickets.iter().map(|ticket| ticket.job.as_str()).collect::<Vec<_>>())
    .bind(tickets.iter().map(|ticket| ticket.id).collect::<Vec<_>>())
    .bind(tickets.iter().map(|ticket| ticket.ticket).collect::<Vec<_>>())
    .bind(FREE)
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes every job of these records off the queue.
pub(crate) async fn unqueue(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<(), Failure> {
    sqlx::query("DELETE FROM backlog b WHERE b.ns = $1 AND b.id = ANY ($2)")
        .bind(ns)
        .bind(ids)
        .execute(connection)
        .await?;
    Ok(())
}

/// Queues every active record within reach, user by user, in the order of their ids.
pub(crate) async fn requeue(connection: &mut PgConnection, reach: &Reach, job: Job) -> Result<u64, Failure> {
    let namespaces = reach.namespaces(connection).await?;
    namespaces::lock_known(connection, &namespaces).await?;
    let mut queued = 0;
    for ns in namespaces {
        let mut statement = Statement::new("INSERT INTO backlog (ns, job, id, ticket, leased_until) SELECT r.ns, ");
        statement.bind(job.as_str()).push(", r.id, ").bind(Uuid::now_v7()).push(", ").bind(FREE);
        statement.push(" FROM records r WHERE r.state = 'active' AND ");
        reach.within(ns).holds("r", &mut statement);
        statement.push(
            " ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until
             RETURNING 1",
        );
        queued += statement.rows(connection).await?.len() as u64;
    }
    Ok(queued)
}

/// Queues every active record of everybody.
pub(crate) async fn requeue_all(connection: &mut PgConnection, job: Job) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO backlog (ns, job, id, ticket, leased_until)
         SELECT r.ns, $1, r.id, $2, $3 FROM records r WHERE r.state = 'active'
         ON CONFLICT (ns, job, id) DO UPDATE SET ticket = excluded.ticket, leased_until = excluded.leased_until",
    )
    .bind(job.as_str())
    .bind(Uuid::now_v7())
    .bind(FREE)
    .execute(connection)
    .await?;
    Ok(())
}

/// Looks at the oldest records that wait for a job and are free.
const LOOK: &str = concat!(
    selected!(
        "(SELECT b.ns, b.id, b.ticket FROM backlog b WHERE b.job = $1 AND b.leased_until <= $2
          ORDER BY b.ticket, b.ns, b.id LIMIT $3) c JOIN records r ON r.ns = c.ns AND r.id = c.id"
    ),
    "ORDER BY c.ticket, c.ns, c.id"
);

/// Takes them: they are hidden from then on. What another worker is taking at this very moment is passed over.
const CLAIM: &str = concat!(
    "WITH free AS (
        SELECT b.ns, b.job, b.id, b.ticket FROM backlog b WHERE b.job = $1 AND b.leased_until <= $2
        ORDER BY b.ticket, b.ns, b.id LIMIT $3 FOR UPDATE SKIP LOCKED
     ), claimed AS (
        UPDATE backlog b SET leased_until = $4 FROM free f WHERE b.ns = f.ns AND b.job = f.job AND b.id = f.id
        RETURNING b.ns, b.id, b.ticket
     ) ",
    selected!("claimed c JOIN records r ON r.ns = c.ns AND r.id = c.id"),
    "ORDER BY c.ticket, c.ns, c.id"
);

/// The oldest records that wait for a job and are free, hidden from then on for the length of the lease.
pub(crate) async fn claim(
    connection: &mut PgConnection,
    job: Job,
    limit: usize,
    lease: Duration,
    now: Timestamp,
) -> Result<Vec<Pending>, Failure> {
    let query = sqlx::query(if lease.is_zero() { LOOK } else { CLAIM });
    let mut query = query.bind(job.as_str()).bind(now.as_micros()).bind(i64::try_from(limit).unwrap_or(i64::MAX));
    if !lease.is_zero() {
        query = query.bind(now.after(lease).as_micros());
    }
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| Ok(Pending { record: records::read(row)?.record, job })).collect()
}

/// Takes what was done off the queue; `false` for each that is stale.
pub(crate) async fn acknowledge(connection: &mut PgConnection, done: &[Done]) -> Result<Vec<bool>, Failure> {
    let mut of: BTreeMap<Uuid, Vec<&Done>> = BTreeMap::new();
    for one in done {
        of.entry(scopes::namespace(&one.scope)).or_default().push(one);
    }
    // Nobody writes one of these records again between the look at its revision and the end of its wait.
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    let mut revisions: FxHashMap<(Uuid, RecordId), u64> = FxHashMap::default();
    for (ns, done) in of {
        let ids: Vec<_> = done.iter().map(|one| one.id).collect();
        let current = records::current(connection, ns, &ids).await?;
        revisions.extend(current.into_iter().map(|current| ((ns, current.id), current.revision)));
        let fresh: Vec<_> = done.iter().filter(|one| revisions.get(&(ns, one.id)) == Some(&one.revision)).collect();
        sqlx::query(
            "DELETE FROM backlog b USING unnest($2::uuid[], $3::text[]) x (id, job)
             WHERE b.ns = $1 AND b.id = x.id AND b.job = x.job",
        )
        .bind(ns)
        .bind(fresh.iter().map(|one| scopes::uuid(one.id)).collect::<Vec<_>>())
        .bind(fresh.iter().map(|one| one.job.as_str()).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    let is_fresh = |one: &Done| revisions.get(&(scopes::namespace(&one.scope), one.id)) == Some(&one.revision);
    Ok(done.iter().map(is_fresh).collect())
}

/// How many records within reach wait for each job.
pub(crate) async fn count(connection: &mut PgConnection, scope: &Scope) -> Result<BTreeMap<Job, u64>, Failure> {
    let mut statement =
        Statement::new("SELECT b.job, count(*) FROM backlog b JOIN records r ON r.ns = b.ns AND r.id = b.id WHERE ");
    Reach::of(scope).holds("r", &mut statement);
    statement.push(" GROUP BY b.job");
    let mut waiting = BTreeMap::new();
    for row in statement.rows(connection).await? {
        let name: &str = row.try_get(0)?;
        if let Some(job) = Job::ALL.into_iter().find(|job| job.as_str() == name) {
            waiting.insert(job, u64::try_from(row.try_get::<i64, _>(1)?).unwrap_or_default());
        }
    }
    Ok(waiting)
}
