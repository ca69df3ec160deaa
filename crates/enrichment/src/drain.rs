//! Work on demand: draining the queue, and filling the vectors of another embedder.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind, Job, Result, Scope};
use memory_engine_vector_store::GenerationRole;

use crate::worker::Worker;

/// Interval of checks whether another process has finished its claimed jobs.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The progress of a call that does queued work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Number of items done.
    pub done: u64,
    /// Number of items that were queued when the call began.
    pub total: u64,
}

impl Worker {
    /// Works and waits until everything within `scope` that is queued has been done or given up. Returns the number of
    /// items that were queued.
    ///
    /// Items that another process has claimed are waited for. An item that fails by itself is given up after five
    /// attempts.
    ///
    /// # Errors
    /// The embedder's or the store's, and `Closed` once the worker stops; what was indexed before stays.
    pub async fn drain(&self, scope: &Scope, mut progress: impl FnMut(Progress)) -> Result<u64> {
        self.store.check_open("drain")?;
        let jobs = self.own_jobs().await?;
        let total = self.queued(scope, &jobs).await?;
        progress(Progress { done: 0, total });
        if total == 0 {
            return Ok(0);
        }
        loop {
            let worked = self.run_all(|| true, |done| progress(Progress { done: done.min(total), total })).await;
            let left = self.queued(scope, &jobs).await?;
            // An error that concerns other scopes only is not reported here.
            if left > 0 {
                worked?;
            }
            progress(Progress { done: total.saturating_sub(left), total });
            if left == 0 {
                return Ok(total);
            }
            self.check_running("drain")?;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Fills the vectors of the engine's embedder and makes them serve, in one transaction, once nothing waits and at
    /// most `max_missing` records were given up. Returns whether they serve; at once if there is nothing to change.
    ///
    /// # Errors
    /// The embedder's or the store's; what was filled before stays, and the next call goes on.
    pub async fn cut_over(&self, max_missing: u64, mut progress: impl FnMut(Progress)) -> Result<bool> {
        let embedding = self.store.embedding();
        let Some(store) = embedding.current().vectors.generations() else { return Ok(true) };
        loop {
            self.check_running("cut over")?;
            if store.role().await? == GenerationRole::Serving {
                return embedding.cut_over(max_missing).await;
            }
            let now = store.generations().await?;
            let filled = now.second.map_or(0, |second| second.vectors);
            let total = now.records;
            progress(Progress { done: filled.min(total), total });
            let worked =
                self.run_all(|| true, |done| progress(Progress { done: (filled + done).min(total), total })).await;
            if embedding.cut_over(max_missing).await? {
                progress(Progress { done: total, total });
                return Ok(true);
            }
            worked?;
            match store.generations().await?.second {
                Some(second) if second.waiting == 0 && second.given_up > max_missing => return Ok(false),
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

    async fn queued(&self, scope: &Scope, jobs: &[Job]) -> Result<u64> {
        let backlog = self.store.records().stats(scope).await?.backlog;
        Ok(backlog.iter().filter(|(job, _)| jobs.contains(job)).map(|(_, count)| count).sum())
    }

    /// The jobs that this worker does: vectors of another embedder are left to the process that has it. A store without
    /// vectors of any embedder of this engine is an error of the embedding job, so that job counts.
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
