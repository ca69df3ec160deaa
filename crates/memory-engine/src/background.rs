//! The background: whatever the write path left to be done.

mod chunks;
mod facts;
mod indexing;
mod metadata;
mod profile;
mod queue;
mod summaries;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine_core::{Error, ErrorKind, Failure, Job, Pending, Record, Result, Timestamp, Trust};
use memory_engine_summarizer::is_said;
use tracing::Instrument;

use crate::{MemoryEngine, engine, spaces::Space};

pub use facts::Learned;
pub(crate) use indexing::indexed_text;
pub(crate) use profile::ProfileKeeper;

/// How long a claimed item is hidden from other workers; whoever takes longer over it says so in time. Whoever dies holding one
/// delays it by so much.
const LEASE: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// How often an item may fail by its own fault before it is given up.
const ATTEMPTS: u32 = 5;
/// After how many failures that are nobody's fault a batch is done one by one: one of them may be what chokes the service.
const SUSPECT: u32 = 3;
/// How many such failures in a row say that the service is away.
const AWAY: usize = 3;

/// Where a record's metadata name the request that it came with, if whoever stores it says so: what the background logs about
/// the record has it, too.
pub const REQUEST_ID: &str = "request_id";

/// How far the background has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// How many items have been done by this call.
    pub done: u64,
    /// How many were waiting when it began.
    pub total: u64,
}

/// Does what is waiting, for as long as the engine lives. Woken by every write.
pub(crate) async fn run(engine: engine::Weak, wake: Arc<tokio::sync::Notify>) {
    let mut failed = 0;
    loop {
        let Some(engine) = engine.upgrade() else { return };
        let outcome = engine.work_all(|_| {}).await;
        drop(engine);
        match outcome {
            Ok(_) => {
                failed = 0;
                // Items that another process claimed and never finished come back after their lease.
                let _ = tokio::time::timeout(LEASE, wake.notified()).await;
            }
            Err(_) => {
                // The jobs that do work go on with what comes in.
                let _ = tokio::time::timeout(delay(failed), wake.notified()).await;
                failed += 1;
            }
        }
    }
}

/// How long to wait after so many failures: twice as long each time, up to a minute.
fn delay(failures: u32) -> Duration {
    FIRST_RETRY.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(LAST_RETRY)
}

/// The ids of the requests that records came with, each once, as far as it is known.
fn requests(pending: &[Pending]) -> String {
    let id = |one: &Pending| one.record.metadata.get(REQUEST_ID)?.as_str().map(str::to_owned);
    let ids: BTreeSet<String> = pending.iter().filter_map(id).collect();
    ids.into_iter().collect::<Vec<_>>().join(",")
}

/// Whether a job makes vectors.
fn embeds(job: Job) -> bool {
    matches!(job, Job::Embedding | Job::Reembedding)
}

/// Tells that a model had no part in what it should have had, and why. The rules have done its work.
fn told(part: &'static str, degraded: Option<&Error>) {
    if let Some(error) = degraded {
        tracing::warn!(part, kind = ?error.kind(), "the model had no part in it: {error}");
    }
}

/// Whether it is the item that is wrong, and not the service or the store behind the job.
fn is_the_items_fault(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::InvalidInput
        | ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::Corrupt
        | ErrorKind::Internal => true,
        ErrorKind::DimensionMismatch
        | ErrorKind::SchemaMismatch
        | ErrorKind::Unsupported
        | ErrorKind::Unauthorized
        | ErrorKind::RateLimited
        | ErrorKind::Timeout
        | ErrorKind::Unavailable => false,
        _ => !error.is_transient(),
    }
}

impl MemoryEngine {
    /// Does everything that waits and is free, batch by batch, and counts it. One at a time in this process.
    ///
    /// A job whose service is away is left for later, and the others go on. An item that fails by itself is tried again
    /// later and later, and at last given up; it keeps nobody waiting.
    ///
    /// # Errors
    /// The first one that concerns a whole job.
    pub(crate) async fn work_all(&self, mut progress: impl FnMut(u64)) -> Result<u64> {
        let _one_at_a_time = self.working().lock().await;
        let mut jobs = vec![Job::Keywords, Job::Embedding];
        jobs.extend(self.further_jobs());
        // Last: whoever is waited for comes before what is done for later.
        jobs.push(Job::Reembedding);
        let (mut done, mut failure) = (0, None);
        let mut left = jobs.clone();
        while let Some(job) = left.first().copied() {
            let worked = match self.space_for(job).await {
                Ok(None) if embeds(job) => None,
                Ok(space) => {
                    let pending = self.jobs().claim(job, self.batch(job, space), LEASE).await?;
                    if pending.is_empty() { None } else { Some(self.hold(&pending, self.work(job, &pending)).await) }
                }
                Err(error) => Some(Err(error)),
            };
            match worked {
                None => _ = left.remove(0),
                Some(Ok(count)) => {
                    done += count;
                    progress(done);
                    if job == Job::Reembedding {
                        // There may be very many of these: what has come in meanwhile is done in between.
                        left = jobs.clone();
                    }
                }
                Some(Err(error)) => {
                    failure.get_or_insert(error);
                    left.remove(0);
                    jobs.retain(|other| *other != job);
                }
            }
        }
        if let Err(error) = self.spaces().change_when_complete().await {
            failure.get_or_insert(error);
        }
        failure.map_or(Ok(done), Err)
    }

    /// Does some work, and hides what was claimed for it from other workers for as long as it takes.
    async fn hold<T>(&self, claimed: &[Pending], work: impl Future<Output = T>) -> T {
        let hide = async {
            loop {
                tokio::time::sleep(LEASE / 2).await;
                if let Err(error) = self.jobs().extend_lease(claimed, LEASE).await {
                    tracing::warn!(kind = ?error.kind(), "another worker may do the same: {error}");
                }
            }
        };
        tokio::select! {
            done = work => done,
            never = hide => never,
        }
    }

    /// The space that a job embeds in; `None` for one that is for another process, or that embeds nothing.
    async fn space_for(&self, job: Job) -> Result<Option<&Space>> {
        if embeds(job) { self.spaces().working_on(job).await } else { Ok(None) }
    }

    /// Does a job for a batch; when that fails by the fault of one of them, for one after the other. Counts what was done.
    async fn work(&self, job: Job, pending: &[Pending]) -> Result<u64> {
        let first = match self.try_work(job, pending).await {
            Ok(()) => return Ok(pending.len() as u64),
            Err(error) if is_the_items_fault(&error) => error,
            Err(error) if pending.len() > 1 && pending.iter().any(|one| one.attempts >= SUSPECT) => error,
            Err(error) => {
                self.wait(pending, &error).await?;
                return Err(error);
            }
        };
        // One by itself that is as it was would fail again.
        let mut known = Some(first).filter(|_| pending.len() == 1);
        let (mut done, mut failures, mut away) = (0, Vec::new(), 0);
        for (n, one) in pending.iter().enumerate() {
            // Another job may have written it meanwhile.
            let Some(record) = self.get(&one.record.scope, one.record.id).await? else { continue };
            let outcome = match known.take().filter(|_| record.revision == one.record.revision) {
                Some(error) => Err(error),
                None => self.try_work(job, &[Pending { record: record.clone(), ..one.clone() }]).await,
            };
            let one = Pending { record, ..one.clone() };
            let Err(error) = outcome else {
                (done, away) = (done + 1, 0);
                continue;
            };
            if is_the_items_fault(&error) {
                let retry_at = (one.attempts + 1 < ATTEMPTS).then(|| self.later(one.attempts, &error));
                failures.push(one.failed(&error, retry_at));
                continue;
            }
            failures.push(self.waiting(&one, &error));
            away += 1;
            if away == AWAY {
                self.jobs().fail(&failures).await?;
                self.wait(&pending[n + 1..], &error).await?;
                return Err(error);
            }
        }
        self.jobs().fail(&failures).await?;
        Ok(done)
    }

    /// Has items wait for a service that is away. It never makes one be given up, but each time they wait longer, so that
    /// nobody asks in vain.
    async fn wait(&self, pending: &[Pending], error: &Error) -> Result<()> {
        self.jobs().fail(&pending.iter().map(|one| self.waiting(one, error)).collect::<Vec<_>>()).await
    }

    /// The note that an item waits by no fault of its own.
    fn waiting(&self, one: &Pending, error: &Error) -> Failure {
        let failure = one.failed(error, Some(self.later(one.attempts, error)));
        Failure { attempts: failure.attempts.min(SUSPECT), ..failure }
    }

    /// Does a job for a batch, and has every line about it in the log say which requests it goes back to.
    async fn try_work(&self, job: Job, pending: &[Pending]) -> Result<()> {
        let span = tracing::info_span!("job", %job, id = requests(pending));
        self.do_work(job, pending).instrument(span).await
    }

    async fn do_work(&self, job: Job, pending: &[Pending]) -> Result<()> {
        let digest = self.digest();
        let mut done: Vec<_> = pending.iter().map(Pending::done).collect();
        // What was queued with everything else and is nothing that was said is done with.
        let said: Vec<Pending>;
        let pending = if job == Job::Keywords || embeds(job) {
            pending
        } else {
            said = pending.iter().filter(|one| is_said(&one.record)).cloned().collect();
            &said[..]
        };
        match job {
            Job::Keywords => self.index_terms(pending).await?,
            Job::Embedding | Job::Reembedding => {
                // Asked after these were claimed: what is acknowledged now was claimed for the vectors that are written now.
                let space = self.space_for(job).await?.ok_or_else(|| {
                    let message = "the store has just changed over to another embedder; it will be tried again";
                    Error::new(ErrorKind::Unavailable, "embed", message)
                })?;
                self.index_vectors(space, pending).await?;
            }
            Job::Chunks => {
                if let Some(chunker) = &digest.chunker {
                    self.cut(chunker, pending).await?;
                }
            }
            Job::Metadata => {
                if let Some(extractor) = &digest.metadata {
                    let described = self.describe(extractor.as_ref(), pending).await?;
                    done.retain(|done| described.iter().all(|described| described.id != done.id));
                    done.extend(described);
                }
            }
            Job::Facts => {
                if let Some(extractor) = &digest.facts {
                    let said: Vec<Record> = pending.iter().map(|one| one.record.clone()).collect();
                    self.note_facts(extractor.as_ref(), &said, Trust::Derived).await?;
                }
            }
            Job::Summary => {
                if let Some(summarizer) = &digest.summarizer {
                    self.summarize(summarizer.as_ref(), pending).await?;
                }
            }
            Job::Graph => self.read_entities(pending).await?,
            Job::Profile => {
                if let Some(keeper) = digest.keeper() {
                    self.keep_profiles(&keeper, pending).await?;
                }
            }
        }
        self.finish(&done).await?;
        let now = self.clock().now();
        self.lags().note(job, pending.iter().map(|one| now.since(one.queued_at)));
        Ok(())
    }

    /// Reads records for entities and relations; one that fails is the whole batch's failure.
    async fn read_entities(&self, pending: &[Pending]) -> Result<()> {
        for Pending { record, .. } in pending {
            let read = self.graph().index(&record.scope, std::slice::from_ref(record)).await?;
            if let Some((_, error)) = read.failed.into_iter().next() {
                return Err(error);
            }
        }
        Ok(())
    }

    fn later(&self, failures: u32, error: &Error) -> Timestamp {
        self.clock().now().after(error.retry_after().unwrap_or_default().max(delay(failures)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use memory_engine_core::{Clock, Kind, ManualClock, Scope, Ticket};

    use super::*;

    #[test]
    fn the_log_names_each_request_that_a_batch_goes_back_to_once() {
        let clock = ManualClock::new(Timestamp::from_micros(1));
        let pending = |request: Option<&str>| {
            let mut record = Record::new(Scope::user("lin").unwrap(), Kind::TURN, "hi", &clock);
            record.metadata.extend(request.map(|id| (REQUEST_ID.to_owned(), id.into())));
            Pending { ticket: Ticket(1), record, job: Job::Facts, attempts: 0, queued_at: clock.now() }
        };
        assert_eq!(requests(&[Some("r-2"), None, Some("r-1"), Some("r-2")].map(pending)), "r-1,r-2");
        assert_eq!(requests(&[pending(None)]), "");
    }
}
