//! The job queue contract: each call runs on a thread of the store.
//!
//! The worker's own writes (claims, completions and failures) are committed without waiting for the disk. After a power
//! failure that undoes one, the item is in the queue as before, and the job runs again. Queueing an item waits for the
//! disk like every other write.

use std::time::Duration;

use async_trait::async_trait;
use memory_engine_core::{Done, Failure, Job, JobQueue, Pending, RecordId, Result, Scope};
use rusqlite::Connection;

use crate::{
    queue::job_rows,
    store::{
        SqliteStore,
        writer::{Durability, Residue},
    },
};

/// Maximum number of ids in one statement. SQLite accepts 32,766 variables.
const MAX_STATEMENT_IDS: usize = 10_000;

#[async_trait]
impl JobQueue for SqliteStore {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        let now = self.clock().now();
        let owner = self.lease_owner();
        let claim = move |connection: &Connection| job_rows::claim(connection, job, limit, lease, now, &owner);
        if lease.is_zero() {
            return self.read("claim", claim).await;
        }
        self.write_with(Durability::Deferred, "claim", |_: &Vec<Pending>| Residue::None, claim).await
    }

    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        let claimed: Vec<_> = pending.iter().map(|item| (item.job, item.ticket)).collect();
        let now = self.clock().now();
        let residue = |_: &()| Residue::None;
        let extend = move |connection: &Connection| job_rows::extend_lease(connection, &claimed, lease, now);
        self.write_with(Durability::Deferred, "extend lease", residue, extend).await
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        let done = done.to_vec();
        let residue = |_: &Vec<bool>| Residue::None;
        let complete = move |connection: &Connection| job_rows::complete(connection, &done);
        self.write_with(Durability::Deferred, "complete", residue, complete).await
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        let failures = failures.to_vec();
        let now = self.clock().now();
        let residue = |_: &()| Residue::None;
        let fail = move |connection: &Connection| job_rows::fail(connection, &failures, now);
        self.write_with(Durability::Deferred, "fail", residue, fail).await
    }

    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.read_covered("failures", scope, move |connection, covered| job_rows::failures(connection, covered, limit))
            .await
    }

    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        let ids = ids.to_vec();
        let now = self.clock().now();
        let residue = |_: &u64| Residue::None;
        self.write_covered("enqueue", residue, scope, move |connection, covered| {
            let queued = ids.chunks(MAX_STATEMENT_IDS);
            queued.map(|ids| job_rows::requeue(connection, Some(covered), Some(ids), job, now)).sum()
        })
        .await
    }

    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        let now = self.clock().now();
        let residue = |_: &u64| Residue::None;
        self.write_covered("requeue", residue, scope, move |connection, covered| {
            job_rows::requeue(connection, Some(covered), None, job, now)
        })
        .await
    }
}
