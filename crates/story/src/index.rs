//! Keeping what was told.

use std::time::Duration;

use memory_engine::{admin::Progress, recall::Degraded};
use memory_engine_core::{Error, ErrorKind, Failure, Job, RecordId, Result, Scope};
use tokio::time::{Instant, timeout};

use crate::{
    memory::{StoryMemory, degraded_stage, require_branch},
    message::StoryMessage,
    mode::MemoryMode,
};

/// How long is asked, beyond the limit, for the reason why something is not done.
const FAILURES_TIMEOUT: Duration = Duration::from_millis(50);
/// How many failures are looked through for those of one message.
const MAX_FAILURES: usize = 100;

/// How long to wait for what is made of a message: its vector, its part of the graph, summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until it is durable and found by its words. An engine with a [background](memory_engine::Builder::background)
    /// does the rest.
    No,
    /// Until all of it is done, but no longer. What is not done then goes on in the background.
    Until(Duration),
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
#[non_exhaustive]
pub struct Indexed {
    /// Its record; none when the mode is off, when messages of its kind are not kept, or when it could not be written.
    pub record: Option<RecordId>,
    /// Whether all that is made of it, and of what else waited on its branch, is there.
    pub complete: bool,
    /// What did not work or was not ready in time, and why. What is queued is tried again.
    pub degraded: Vec<Degraded>,
}

impl StoryMemory {
    /// Keeps a message once it is persisted: not at all, when the mode is off or
    /// [the options](crate::StoryOptions::kinds) leave out its kind.
    ///
    /// The same message again, by its id, takes the old one's place with what was made from it; one that was rewound
    /// stays so.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the message unwritten, or written and queued.
    pub async fn index(&self, scope: &Scope, message: StoryMessage, wait: Wait) -> Indexed {
        let mut done = Indexed::default();
        if !self.mode.is_on() || !self.options.keeps(&message.kind) {
            return done;
        }
        let started = Instant::now();
        let written = match wait {
            Wait::No => self.write(scope, message).await,
            Wait::Until(time) => {
                let late = |_| Err(late("the message is not written", time));
                timeout(time, self.write(scope, message)).await.unwrap_or_else(late)
            }
        };
        match (written, wait) {
            (Ok(id), Wait::No) => done.record = Some(id),
            (Ok(id), Wait::Until(time)) => {
                done.record = Some(id);
                done.degraded = self.drain_branch(scope, id, time, started).await;
                done.complete = done.degraded.is_empty();
            }
            (Err(error), _) => done.degraded.push(degraded_stage("write", &error)),
        }
        done
    }

    async fn write(&self, scope: &Scope, message: StoryMessage) -> Result<RecordId> {
        require_branch(scope)?;
        let left_out: &[Job] = if self.mode == MemoryMode::Graph { &[] } else { &[Job::Graph] };
        self.engine.admin().remember_without(scope, message.into_turn(), left_out).await
    }

    /// Has everything done that waits on this branch, and says what of this message is not done when the time is over.
    ///
    /// The work is a task of its own: given up in the middle, what it has claimed would wait for half a minute.
    async fn drain_branch(&self, scope: &Scope, id: RecordId, time: Duration, started: Instant) -> Vec<Degraded> {
        let (engine, address) = (self.engine.clone(), scope.clone());
        let work = tokio::spawn(async move { engine.drain(&address, |_: Progress| ()).await });
        let worked = match timeout(time.saturating_sub(started.elapsed()), work).await {
            Ok(Ok(worked)) => worked.map(drop),
            Ok(Err(stopped)) => {
                Err(Error::new(ErrorKind::Internal, "index", "the task that indexes stopped").with_source(stopped))
            }
            Err(_) => Err(late("not all is indexed", time)),
        };
        let failures = timeout(FAILURES_TIMEOUT, self.engine.admin().failures(scope, MAX_FAILURES)).await;
        let failures = failures.ok().and_then(Result::ok).unwrap_or_default();
        let failed = |failure: &Failure| Degraded { stage: failure.job.as_str(), reason: failure.reason.clone() };
        let mut lacks: Vec<Degraded> = failures.iter().filter(|one| one.id == id).map(failed).collect();
        if self.mode == MemoryMode::Graph && self.engine.graph().extractor().is_none() {
            let message = "nothing reads messages for entities: the engine was built without `Builder::graph`";
            lacks.push(degraded_stage("graph", &Error::new(ErrorKind::Unsupported, "index", message)));
        }
        if let Err(error) = worked {
            lacks.push(degraded_stage("indexing", &error));
        }
        lacks
    }
}

fn late(what: &str, time: Duration) -> Error {
    Error::new(ErrorKind::Timeout, "index", format!("{what} after {} ms", time.as_millis()))
}
