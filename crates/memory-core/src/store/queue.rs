//! The contract of the queue of background jobs.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;

use super::job::{Done, Failure, Job, Pending};
use crate::{error::Result, id::RecordId, scope::Scope};

/// The background jobs that records wait for. A job survives a crash until it is completed.
///
/// The queue belongs to a [`RecordStore`](crate::RecordStore), usually as a second contract of the same type:
/// [`put`](crate::RecordStore::put) queues jobs and [`delete`](crate::RecordStore::delete) removes them in their own
/// transactions.
///
/// `claim`, `extend_lease`, `complete` and `fail` take no scope: the engine's worker calls them for all tenants. They
/// may return before their changes are on the disk. After a power failure an item can therefore be in the queue as it
/// was before the call; its job then runs again.
///
/// # Cancel safety
/// If a future is dropped, the call either has no effect or completes. It is never applied in part.
#[async_trait]
pub trait JobQueue: Debug + Send + Sync + 'static {
    /// Leases the records that have waited longest for `job`, at most `limit`, and returns each as it is now.
    ///
    /// A leased record is hidden from other claims, in every process, until `lease` has passed. A lease of zero reads
    /// the queue without leasing. Dead letters (a [`Failure::retry_at`] of `None`) are not returned.
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>>;

    /// Sets the lease of claimed items to end `lease` from now. Skips items that were queued again, failed for good or
    /// completed since they were claimed.
    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()>;

    /// Ends the lease of claimed items, so that every worker can claim them at once. Skips the same items as
    /// [`extend_lease`](Self::extend_lease).
    ///
    /// A backend should also release the leases of a worker whose process has ended. Other workers wait for the end of
    /// the lease otherwise.
    async fn release(&self, pending: &[Pending]) -> Result<()> {
        self.extend_lease(pending, Duration::ZERO).await
    }

    /// Removes completed items from the queue. Returns for each, in order, true if its record has not changed since the
    /// claim.
    ///
    /// `false` means that the record was deleted or written again. The caller then removes its index entries in other
    /// stores, or claims the record again. An item that was queued again while it was processed stays queued.
    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>>;

    /// Stores the failure of each item and hides the item until its [`retry_at`](Failure::retry_at). Skips stale items.
    /// If the clock is set back by more than 2 s, the item is free at once.
    async fn fail(&self, failures: &[Failure]) -> Result<()>;

    /// Returns the items within `scope` whose last attempt failed, dead letters included, the longest waiting first, at
    /// most `limit`.
    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>>;

    /// Queues for `job` those of these records that are within `scope` and [indexed](crate::Record::is_indexed), as
    /// [`requeue`](Self::requeue) does. Returns their number.
    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64>;

    /// Queues every [indexed](crate::Record::is_indexed) record within `scope` for `job` as a new item: leases on it
    /// end and its failures are deleted. Returns their number.
    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64>;
}

const _: fn(&dyn JobQueue) = |_| {};
