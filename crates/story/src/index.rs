//! Indexes the messages of a story.

use std::time::Duration;

use memory_engine::{admin::Progress, recall::Degraded};
use memory_engine_core::{Error, ErrorKind, Failure, Job, RecordId, Result, Scope};
use tokio::time::{Instant, timeout};

use crate::{
    memory::{StoryMemory, degraded_stage, require_branch},
    message::StoryMessage,
    mode::MemoryMode,
};

/// Time limit for reading the reasons of failed jobs, in addition to the caller's limit.
const FAILURES_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum number of failed jobs read to find those of one message.
const MAX_FAILURES: usize = 100;

/// The time to wait for the background jobs of a message: its vector, its entities and relations, summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Waits until the message is durable and can be found by its words. An engine with a
    /// [background](memory_engine::Builder::background) does the jobs later.
    No,
    /// Waits until all jobs are done, but at most this long. Unfinished jobs continue in the background.
    Until(Duration),
}

/// The result of indexing a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
#[non_exhaustive]
pub struct IndexedMessage {
    /// The record of the message. `None` if the mode is off, if messages of its kind are not kept, or if writing
    /// failed.
    pub record: Option<RecordId>,
    /// True if all jobs of the message, and all others that were queued for its branch, are done.
    pub complete: bool,
    /// Stages that failed or were not ready in time, with the reason. Queued jobs are retried.
    pub degraded: Vec<Degraded>,
}

impl StoryMemory {
    /// Indexes a message that the application has persisted. Does nothing if the mode is off or if
    /// [the options](crate::StoryOptions::kinds) exclude its kind.
    ///
    /// A message with the id of an earlier one replaces it and everything derived from it. A message that was rewound
    /// stays deleted.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the message unwritten, or written and queued.
    pub async fn index(&self, scope: &Scope, message: StoryMessage, wait: Wait) -> IndexedMessage {
        let mut indexed = IndexedMessage::default();
        if !self.mode.is_on() || !self.options.includes_kind(&message.kind) {
            return indexed;
        }
        let started = Instant::now();
        let written = match wait {
            Wait::No => self.write(scope, message).await,
            Wait::Until(time) => {
                let written = timeout(time, self.write(scope, message)).await;
                written.unwrap_or_else(|_| Err(timeout_error("the message is not written", time)))
            }
        };
        match (written, wait) {
            (Ok(id), Wait::No) => indexed.record = Some(id),
            (Ok(id), Wait::Until(time)) => {
                indexed.record = Some(id);
                indexed.degraded = self.drain_branch(scope, id, time, started).await;
                indexed.complete = indexed.degraded.is_empty();
            }
            (Err(error), _) => indexed.degraded.push(degraded_stage("write", &error)),
        }
        indexed
    }

    async fn write(&self, scope: &Scope, message: StoryMessage) -> Result<RecordId> {
        require_branch(scope)?;
        let excluded_jobs: &[Job] = if self.mode == MemoryMode::Graph { &[] } else { &[Job::Graph] };
        self.engine.admin().remember_without(scope, message.into_turn(), excluded_jobs).await
    }

    /// Drains the queue of this branch. Returns the stages of this message that failed or were not ready in time.
    ///
    /// A separate task does the work. If it were cancelled, the jobs that it has leased would be blocked until the
    /// lease ends.
    async fn drain_branch(&self, scope: &Scope, id: RecordId, time: Duration, started: Instant) -> Vec<Degraded> {
        let engine = self.engine.clone();
        let branch = scope.clone();
        let work = tokio::spawn(async move { engine.drain(&branch, |_: Progress| ()).await });
        let drained = match timeout(time.saturating_sub(started.elapsed()), work).await {
            Ok(Ok(drained)) => drained.map(drop),
            Ok(Err(error)) => {
                Err(Error::new(ErrorKind::Internal, "index", "the task that indexes stopped").with_source(error))
            }
            Err(_) => Err(timeout_error("not everything is indexed", time)),
        };
        let failures = timeout(FAILURES_TIMEOUT, self.engine.admin().failures(scope, MAX_FAILURES)).await;
        let failures = failures.ok().and_then(Result::ok).unwrap_or_default();
        let of_message = failures.iter().filter(|failure| failure.id == id);
        let mut degraded: Vec<Degraded> = of_message.map(degraded_job).collect();
        if self.mode == MemoryMode::Graph && self.engine.graph().extractor().is_none() {
            let message = "no entities are extracted: the engine was built without `Builder::graph`";
            degraded.push(degraded_stage("graph", &Error::new(ErrorKind::Unsupported, "index", message)));
        }
        if let Err(error) = drained {
            degraded.push(degraded_stage("indexing", &error));
        }
        degraded
    }
}

fn degraded_job(failure: &Failure) -> Degraded {
    Degraded { stage: failure.job.as_str(), reason: failure.reason.clone() }
}

fn timeout_error(problem: &str, time: Duration) -> Error {
    Error::new(ErrorKind::Timeout, "index", format!("{problem} after {} ms", time.as_millis()))
}
