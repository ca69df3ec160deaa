//! Verbs for background jobs.

use std::collections::BTreeMap;

use memory_engine_core::{Failure, Job, Result, Scope};
use memory_engine_enrichment::{LatencyStats, Progress};

use crate::engine::MemoryEngine;

impl MemoryEngine {
    /// Returns the jobs within `scope` whose last attempt failed, the longest waiting first, at most `limit`.
    /// [`reindex`](Self::reindex) and [`requeue_enrichment`](Self::requeue_enrichment) queue everything again.
    ///
    /// ```
    /// use memory_engine::{EnrichmentOptions, MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().enrichment(EnrichmentOptions::rules()?).background(false).build().await?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember(&lin, "我住在上海").await?;
    /// assert_eq!(memory.reindex(&lin).await?, 1);
    /// assert_eq!(memory.requeue_enrichment(&lin).await?, 1);
    /// memory.drain(&lin, |_| ()).await?;
    /// for failure in memory.failures(&lin, 10).await? {
    ///     println!("{} of {}: {}", failure.job.as_str(), failure.id, failure.reason);
    /// }
    /// assert!(memory.stats(&lin).await?.backlog.values().all(|waiting| *waiting == 0));
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store's error.
    pub async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.indexed_store().queue().failures(scope, limit).await
    }

    /// Queues every active record within `scope` to be indexed again. Returns the number of records. [`drain`](Self::drain)
    /// waits for it.
    ///
    /// # Errors
    /// The store's error.
    pub async fn reindex(&self, scope: &Scope) -> Result<u64> {
        let mut count = 0;
        for job in Job::INDEXING {
            count = self.indexed_store().queue().requeue(scope, job).await?;
        }
        self.indexed_store().wake();
        Ok(count)
    }

    /// Queues every turn within `scope` for the jobs of the digest as if it were new: for turns that were stored before
    /// there was a digest, or that were given up. Returns the number of turns. Facts that are known are not added twice.
    /// [`drain`](Self::drain) waits for it.
    ///
    /// # Errors
    /// `Unsupported` if this engine has no jobs for turns; the store's error.
    pub async fn requeue_enrichment(&self, scope: &Scope) -> Result<u64> {
        self.enrichment().requeue_enrichment(scope).await
    }

    /// Works and waits until everything within `scope` that is queued has been done or given up. Returns the number of
    /// items that were queued.
    ///
    /// Items that another process has claimed are waited for; if that process is gone, its lease ends after half a minute.
    /// An item that fails by itself is given up after five attempts; [`failures`](Self::failures) lists it.
    ///
    /// # Errors
    /// The embedder's or the store's; what was indexed before stays.
    pub async fn drain(&self, scope: &Scope, progress: impl FnMut(Progress)) -> Result<u64> {
        self.enrichment().worker().drain(scope, progress).await
    }

    /// Returns the latency statistics of each job that this handle and its clones have done. [`stats`](Self::stats) tells
    /// what still waits.
    pub fn lag(&self) -> BTreeMap<Job, LatencyStats> {
        self.enrichment().worker().latencies()
    }
}
