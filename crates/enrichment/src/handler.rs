//! The contract between the worker and its jobs.

use std::fmt;

use async_trait::async_trait;
use memory_engine_core::{Done, Job, Pending, Record, Result};

/// Does one kind of job.
#[async_trait]
pub trait JobHandler: fmt::Debug + Send + Sync {
    /// Returns the kind of job.
    fn job(&self) -> Job;

    /// Returns the maximum number of records per batch; `None` if another process has to do the job now.
    ///
    /// # Errors
    /// An error that concerns the whole job.
    async fn batch_size(&self) -> Result<Option<usize>>;

    /// Returns false for a record that the job does not apply to. Its item is finished without a run.
    fn accepts(&self, record: &Record) -> bool {
        record.is_said()
    }

    /// Sends the job's service a harmless request. Returns true if it was answered correctly; `None` if the job has
    /// no service that can be tested. The worker calls this before it gives a record up.
    async fn test_service(&self) -> Option<bool> {
        None
    }

    /// Does the job for a batch. Returns a [`Done`] with the new revision for records that it changed. Other items need
    /// none.
    ///
    /// # Errors
    /// The first error; the worker then tries the records one by one, or all of them later.
    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>>;
}
