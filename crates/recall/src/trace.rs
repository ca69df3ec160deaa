//! What a recall notes down on its way, and how long it may still take.

use std::time::Duration;

use memory_engine_core::{Error, ErrorKind, Result};
use tokio::time::{Instant, timeout_at};

use crate::{Degraded, Recall, RecallHit, StageTime};

/// The parts of the whole time at which a stage has to be done. What an early stage leaves over, a later one may use.
const SYNONYMS: f64 = 0.2;
const ARMS: f64 = 0.6;
const RERANK: f64 = 0.85;
const NEIGHBORS: f64 = 0.92;

/// Notes about one recall, under one deadline.
#[derive(Debug)]
pub(crate) struct Trace {
    began: Instant,
    whole: Duration,
    degraded: Vec<Degraded>,
    stages: Vec<StageTime>,
}

/// A stage of a recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Synonyms,
    Keyword,
    Vector,
    Graph,
    Rerank,
    Neighbors,
    Fetch,
}

impl Stage {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Synonyms => "synonyms",
            Self::Keyword => "keyword",
            Self::Vector => "vector",
            Self::Graph => "graph",
            Self::Rerank => "rerank",
            Self::Neighbors => "neighbors",
            Self::Fetch => "fetch",
        }
    }

    const fn share(self) -> f64 {
        match self {
            Self::Synonyms => SYNONYMS,
            Self::Keyword | Self::Vector | Self::Graph => ARMS,
            Self::Rerank => RERANK,
            Self::Neighbors => NEIGHBORS,
            Self::Fetch => 1.0,
        }
    }
}

impl Trace {
    pub(crate) fn new(whole: Duration) -> Self {
        Self { began: Instant::now(), whole, degraded: Vec::new(), stages: Vec::new() }
    }

    /// Does the work, or stops waiting for it when the stage's share of the time is over.
    pub(crate) async fn limit<T>(&self, stage: Stage, work: impl Future<Output = Result<T>>) -> Result<T> {
        let share = Duration::try_from_secs_f64(self.whole.as_secs_f64() * stage.share()).ok();
        let Some(until) = share.and_then(|share| self.began.checked_add(share)) else {
            return work.await; // further off than a clock can tell
        };
        timeout_at(until, work).await.unwrap_or_else(|_| {
            let waited = self.began.elapsed().as_millis();
            let message = format!("not ready after {waited} ms; the recall went on without it");
            Err(Error::new(ErrorKind::Timeout, stage.name(), message))
        })
    }

    /// Does a stage that the recall can go on without, and notes how long it took and why it failed, if it did.
    pub(crate) async fn optional<T: Default>(&mut self, stage: Stage, work: impl Future<Output = Result<T>>) -> T {
        let started = Instant::now();
        let outcome = self.limit(stage, work).await;
        self.took(stage.name(), started);
        self.or_nothing(stage, outcome)
    }

    pub(crate) fn into_recall(self, hits: Vec<RecallHit>) -> Recall {
        Recall { hits, degraded: self.degraded, stages: self.stages }
    }

    pub(crate) fn took(&mut self, stage: &'static str, since: Instant) {
        self.stages.push(StageTime { stage, took: since.elapsed() });
    }

    /// Notes why a stage is missing, or a part of it.
    pub(crate) fn missing(&mut self, stage: Stage, error: &Error) {
        self.degraded.push(Degraded { stage: stage.name(), reason: error.to_string() });
    }

    /// What a stage gave, or nothing and a note about why.
    pub(crate) fn or_nothing<T: Default>(&mut self, stage: Stage, outcome: Result<T>) -> T {
        outcome.unwrap_or_else(|e| {
            self.missing(stage, &e);
            T::default()
        })
    }
}
