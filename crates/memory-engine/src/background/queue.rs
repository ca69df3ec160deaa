//! What is waiting: having it done, done again, and told.

use std::{collections::BTreeMap, time::Duration};

use memory_engine_core::{
    Error, ErrorKind, Failure, Field, Filter, Job, Kind, RecordId, Result, ScanQuery, Scope, State,
};

use memory_engine_summarizer::is_said;

use super::Progress;
use crate::MemoryEngine;

const PAGE: usize = 500;
/// How often it is looked whether another process has finished what it claimed.
const CLAIMED_ELSEWHERE: Duration = Duration::from_millis(200);

impl MemoryEngine {
    /// What the background could not do at the last attempt within `scope`, the longest waiting first, at most `limit`.
    /// [`reindex`](Self::reindex) and [`redigest`](Self::redigest) have everything tried again.
    ///
    /// ```
    /// use memory_engine::{Digest, MemoryEngine, Scope};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().digest(Digest::by_rules()?).background(false).build().await?;
    /// let lin = Scope::user("lin")?;
    /// memory.remember(&lin, "我住在上海").await?;
    /// assert_eq!(memory.reindex(&lin).await?, 1);
    /// assert_eq!(memory.redigest(&lin).await?, 1);
    /// memory.drain(&lin, |_| ()).await?;
    /// for failure in memory.failures(&lin, 10).await? {
    ///     println!("{} of {}: {}", failure.job.as_str(), failure.id, failure.reason);
    /// }
    /// assert!(memory.stats(&lin).await?.backlog.values().all(|waiting| *waiting == 0));
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    pub async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.jobs().failures(scope, limit).await
    }

    /// Queues every active record within `scope` to be indexed anew, and counts them. [`drain`](Self::drain) waits for it.
    pub async fn reindex(&self, scope: &Scope) -> Result<u64> {
        let mut count = 0;
        for job in Job::INDEXING {
            count = self.jobs().requeue(scope, job).await?;
        }
        self.wake();
        Ok(count)
    }

    /// Queues every turn within `scope` to be digested as if it were new, and counts them: for what was stored before there
    /// was a digest, or what was given up. What is known already is not found twice. [`drain`](Self::drain) waits for it.
    ///
    /// # Errors
    /// `Unsupported` when this engine digests nothing; the store's.
    pub async fn redigest(&self, scope: &Scope) -> Result<u64> {
        let jobs = self.further_jobs();
        if jobs.is_empty() {
            let message = "this engine makes nothing of turns; build it with a digest or a graph";
            return Err(Error::new(ErrorKind::Unsupported, "redigest", message));
        }
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let (mut count, mut scan) = (0, ScanQuery::oldest(PAGE).with_filter(turns));
        loop {
            let page = self.scan(scope, &scan).await?;
            // Conversation by conversation: what is digested together then belongs together.
            let mut conversations: BTreeMap<&Scope, Vec<RecordId>> = BTreeMap::new();
            for record in page.records.iter().filter(|record| is_said(record)) {
                conversations.entry(&record.scope).or_default().push(record.id);
            }
            for (address, ids) in conversations {
                for job in &jobs {
                    self.jobs().enqueue(address, &ids, *job).await?;
                }
                count += ids.len() as u64;
            }
            match page.next {
                Some(next) => scan = scan.with_after(Some(next)),
                None => break,
            }
        }
        self.wake();
        Ok(count)
    }

    /// The jobs that this engine does: the vectors of others are for others to make. Where the store has none of its own, it
    /// should have them.
    async fn own_jobs(&self) -> Result<Vec<Job>> {
        let mut jobs = vec![Job::Keywords];
        for job in [Job::Embedding, Job::Reembedding] {
            match self.spaces().working_on(job).await {
                Ok(space) => jobs.extend(space.map(|_| job)),
                Err(e) if e.kind() == ErrorKind::SchemaMismatch => jobs.extend((job == Job::Embedding).then_some(job)),
                Err(e) => return Err(e),
            }
        }
        jobs.extend(self.further_jobs());
        Ok(jobs)
    }

    /// Waits until everything within `scope` that is queued has been done or given up, telling how far it is; gives how much
    /// there was to do.
    ///
    /// What another process has claimed is waited for; if that process is gone, its claim ends after half a minute. What
    /// failed by itself is tried five times, and then [told](Self::failures).
    ///
    /// # Errors
    /// The embedder's or the store's; what was indexed before stays.
    pub async fn drain(&self, scope: &Scope, mut progress: impl FnMut(Progress)) -> Result<u64> {
        let jobs = self.own_jobs().await?;
        let waiting = async || {
            let backlog = self.stats(scope).await?.backlog;
            Ok::<u64, Error>(backlog.iter().filter(|(job, _)| jobs.contains(job)).map(|(_, count)| count).sum())
        };
        let total = waiting().await?;
        progress(Progress { done: 0, total });
        if total == 0 {
            return Ok(0);
        }
        loop {
            let worked = self.work_all(|done| progress(Progress { done: done.min(total), total })).await;
            let left = waiting().await?;
            // What concerns others only is not told here.
            if left > 0 {
                worked?;
            }
            progress(Progress { done: total.saturating_sub(left), total });
            if left == 0 {
                return Ok(total);
            }
            tokio::time::sleep(CLAIMED_ELSEWHERE).await;
        }
    }
}
