//! Runs jobs on demand: drains the queue, and cuts over to the vectors of another embedder.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind, Job, Result, Scope};
use memory_engine_vector_store::EmbeddingVersionRole;
use tokio::time::Instant;

use crate::worker::Worker;

/// Interval of checks whether another process has finished its claimed jobs.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Time after an error of a service until [`Worker::drain`] returns it, unless fewer items are queued: three retries.
const MAX_OUTAGE: Duration = Duration::from_secs(4);

/// The progress of a call that does queued work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Number of items done.
    pub done: u64,
    /// Number of items that were queued when the call began.
    pub total: u64,
}

impl Worker {
    /// Deletes expired records, and runs the jobs of this engine until no item within `scope` is queued. Returns the
    /// number of items that were queued.
    ///
    /// Waits for items that another process has claimed. An item whose record is at fault becomes a dead letter after
    /// five attempts. The error of an unreachable service is returned after 4 seconds in which the number of queued
    /// items has not become smaller.
    ///
    /// # Errors
    /// The error of the embedder or the store; `Closed` once the worker stops. What was indexed before stays.
    pub async fn drain(&self, scope: &Scope, mut progress: impl FnMut(Progress)) -> Result<u64> {
        self.store.check_open("drain")?;
        self.expired.delete().await?;
        let jobs = self.own_jobs().await?;
        let total = self.queued(scope, &jobs).await?;
        progress(Progress { done: 0, total });
        if total == 0 {
            return Ok(0);
        }
        let mut fewest = total;
        let mut outage: Option<(Error, Instant)> = None;
        loop {
            let outcome = self.run_all(|| true, |done| progress(Progress { done: done.min(total), total })).await;
            let remaining = self.queued(scope, &jobs).await?;
            progress(Progress { done: total.saturating_sub(remaining), total });
            // If nothing remains in this scope, the error belongs to another one.
            if remaining == 0 {
                return Ok(total);
            }
            if remaining < fewest {
                (outage, fewest) = (None, remaining);
            }
            // A failed job is due again after a delay, which its entry in the queue has.
            match outcome {
                Ok(_) => {}
                Err(error) if error.is_transient() => _ = outage.get_or_insert((error, Instant::now())),
                Err(error) => return Err(error),
            }
            if let Some((error, _)) = outage.take_if(|(_, began)| began.elapsed() >= MAX_OUTAGE) {
                return Err(error);
            }
            self.check_running("drain")?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Computes the missing vectors of the engine's embedder. Cuts over to them in one transaction as soon as none is
    /// queued and at most `max_missing` are dead letters. Returns true if they serve searches now.
    ///
    /// # Errors
    /// The error of the embedder or the store; `Closed` once the worker stops. The next call continues where this one
    /// stopped.
    pub async fn cut_over(&self, max_missing: u64, mut progress: impl FnMut(Progress)) -> Result<bool> {
        let embedding = self.store.embedding();
        let Some(store) = embedding.current().vectors.embedding_versions() else { return Ok(true) };
        loop {
            self.check_running("cut over")?;
            if store.role().await? == EmbeddingVersionRole::Serving {
                return embedding.cut_over(max_missing).await;
            }
            let versions = store.embedding_versions().await?;
            let embedded = versions.second.map_or(0, |second| second.vectors);
            let total = versions.records;
            progress(Progress { done: embedded.min(total), total });
            let outcome =
                self.run_all(|| true, |done| progress(Progress { done: (embedded + done).min(total), total })).await;
            if embedding.cut_over(max_missing).await? {
                progress(Progress { done: total, total });
                return Ok(true);
            }
            outcome?;
            match store.embedding_versions().await?.second {
                Some(second) if second.waiting == 0 && second.dead_letters > max_missing => return Ok(false),
                Some(_) | None => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }

    fn check_running(&self, operation: &'static str) -> Result<()> {
        match self.is_stopping() {
            true => Err(Error::new(ErrorKind::Closed, operation, "the engine is being closed")),
            false => Ok(()),
        }
    }

    /// Returns the number of queued items of these jobs within `scope`.
    async fn queued(&self, scope: &Scope, jobs: &[Job]) -> Result<u64> {
        let queued = self.store.records().stats(scope).await?.queued;
        Ok(queued.iter().filter(|(job, _)| jobs.contains(job)).map(|(_, count)| count).sum())
    }

    /// Returns the jobs that this worker does. Vectors of another embedder are left to the process that has it. If the
    /// store has no vectors of an embedder of this engine, the embedding job fails, so it counts as one of them.
    async fn own_jobs(&self) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for handler in &self.handlers {
            let job = handler.job();
            match handler.batch_size().await {
                Ok(size) => jobs.extend(size.map(|_| job)),
                Err(e) if e.kind() == ErrorKind::SchemaMismatch => jobs.extend((job == Job::Embedding).then_some(job)),
                Err(e) => return Err(e),
            }
        }
        Ok(jobs)
    }
}
