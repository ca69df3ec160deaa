//! The job queue contract: each call runs on a connection of the store.

use std::time::Duration;

use async_trait::async_trait;
use memory_engine_core::{Done, Failure, Job, JobQueue, Pending, RecordId, Result, Scope};

use crate::{
    database::transaction::{reading, writing},
    queue::backlog,
    records::scopes::CoveredScope,
    store::PostgresStore,
};

#[async_trait]
impl JobQueue for PostgresStore {
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        let now = self.clock().now();
        let owner = if lease.is_zero() { None } else { self.lease_owner().id().await };
        writing!(self, "claim", |connection| backlog::claim(connection, job, limit, lease, now, owner).await)
    }

    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        let until = self.clock().now().after(lease);
        writing!(self, "extend lease", |connection| backlog::extend_lease(connection, pending, until).await)
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        writing!(self, "complete", |connection| backlog::complete(connection, done).await)
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        writing!(self, "fail", |connection| backlog::fail(connection, failures).await)
    }

    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        let reach = CoveredScope::of(scope);
        reading!(self, "failures", |connection| backlog::failures(connection, &reach, limit).await)
    }

    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        let (reach, now) = (CoveredScope::of(scope), self.clock().now());
        writing!(self, "enqueue", |connection| backlog::requeue(connection, &reach, Some(ids), job, now).await)
    }

    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        let (reach, now) = (CoveredScope::of(scope), self.clock().now());
        writing!(self, "requeue", |connection| backlog::requeue(connection, &reach, None, job, now).await)
    }
}
