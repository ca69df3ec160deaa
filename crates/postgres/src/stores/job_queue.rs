//! Implements the contract for the job queue: each call runs on a connection of the store.

use std::time::Duration;

use async_trait::async_trait;
use memory_engine_core::{Done, Failure, Job, JobQueue, Pending, RecordId, Result, Scope};

use crate::{
    database::transaction::{with_reader, with_transaction},
    queue::job_rows,
    rows::scopes::CoveredScope,
    store::PostgresStore,
};

#[async_trait]
impl JobQueue for PostgresStore {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        let now = self.clock().now();
        let owner = if lease.is_zero() { None } else { self.lease_owner().id().await };
        with_transaction!(self, "claim", |connection| job_rows::claim(connection, job, limit, lease, now, owner).await)
    }

    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        let now = self.clock().now();
        with_transaction!(self, "extend lease", |connection| job_rows::extend_lease(connection, pending, lease, now)
            .await)
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        with_transaction!(self, "complete", |connection| job_rows::complete(connection, done).await)
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        let now = self.clock().now();
        with_transaction!(self, "fail", |connection| job_rows::fail(connection, failures, now).await)
    }

    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        let covered = CoveredScope::of(scope);
        with_reader!(self, "failures", |connection| job_rows::failures(connection, &covered, limit).await)
    }

    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        let covered = CoveredScope::of(scope);
        let now = self.clock().now();
        with_transaction!(self, "enqueue", |connection| job_rows::requeue(connection, &covered, Some(ids), job, now)
            .await)
    }

    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        let covered = CoveredScope::of(scope);
        let now = self.clock().now();
        with_transaction!(self, "requeue", |connection| job_rows::requeue(connection, &covered, None, job, now).await)
    }
}
