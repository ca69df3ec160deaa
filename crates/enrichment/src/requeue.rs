//! Queues jobs again: of all records, of all turns, and dead letters.

use std::collections::BTreeMap;

use memory_engine_core::{Error, ErrorKind, Field, Filter, Job, Kind, RecordId, Result, ScanQuery, Scope, State};

use crate::enrichment::Enrichment;

/// Number of records that are queued again in one transaction.
const PAGE_ROWS: usize = 500;

impl Enrichment {
    /// Queues every active turn within `scope` for all jobs, as if it were new. Returns the number of turns. Known
    /// facts are not added twice.
    ///
    /// # Errors
    /// `Unsupported` if this engine has no jobs for turns; the store's error.
    pub async fn requeue_enrichment(&self, scope: &Scope) -> Result<u64> {
        if self.jobs_of_turns().is_empty() {
            let message = "the engine has no jobs for turns; build it with `Builder::enrichment` or `Builder::graph`";
            return Err(Error::new(ErrorKind::Unsupported, "requeue_enrichment", message));
        }
        let turns = Filter::eq(Field::Kind, Kind::TURN.as_str()).and(Filter::eq(Field::State, State::Active.as_str()));
        let mut pages = self.store().pages(scope, ScanQuery::oldest(PAGE_ROWS).with_filter(turns));
        let mut count = 0;
        while let Some(page) = pages.next().await? {
            // Conversation by conversation, so that turns of one batch belong together.
            let mut conversations: BTreeMap<&Scope, Vec<RecordId>> = BTreeMap::new();
            for record in page.records.iter().filter(|record| record.is_said()) {
                conversations.entry(&record.scope).or_default().push(record.id);
            }
            for (address, ids) in conversations {
                for job in self.jobs_of_turns() {
                    self.store().queue().enqueue(address, &ids, *job).await?;
                }
                count += ids.len() as u64;
            }
        }
        self.store().wake();
        Ok(count)
    }

    /// Queues every active record within `scope` to be indexed again. Returns the number of records.
    ///
    /// # Errors
    /// The store's error.
    pub async fn requeue_indexing(&self, scope: &Scope) -> Result<u64> {
        let mut count = 0;
        for job in Job::INDEXING {
            count = self.store().queue().requeue(scope, job).await?;
        }
        self.store().wake();
        Ok(count)
    }

    /// Queues the dead letters of these jobs within `scope` again, as if they had never failed. Returns their number.
    ///
    /// # Errors
    /// The store's error.
    pub async fn retry_dead_letters(&self, scope: &Scope, jobs: &[Job]) -> Result<u64> {
        let mut ids: BTreeMap<Job, Vec<RecordId>> = BTreeMap::new();
        for failure in self.store().queue().failures(scope, usize::MAX).await? {
            if failure.retry_at.is_none() && jobs.contains(&failure.job) {
                ids.entry(failure.job).or_default().push(failure.id);
            }
        }
        let mut count = 0;
        for (job, ids) in ids {
            for ids in ids.chunks(PAGE_ROWS) {
                count += self.store().queue().enqueue(scope, ids, job).await?;
            }
        }
        self.store().wake();
        Ok(count)
    }
}
