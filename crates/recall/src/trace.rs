//! The trace of a recall: its deadline, the time of each stage, and the stages that are missing.

use std::time::Duration;

use memory_engine_core::{
    Error, ErrorKind, Result,
    observe::{Operation, observe},
    operation_span,
};
use tokio::time::{Instant, timeout_at};

use crate::hit::{Degraded, Recall, RecallHit, StageTime};

/// The share of the whole time at which each stage has to be done. Time that an early stage leaves is for later ones.
const SYNONYMS_SHARE: f64 = 0.2;
const PAST_SHARE: f64 = 0.4;
const RETRIEVE_SHARE: f64 = 0.6;
const NEIGHBORS_SHARE: f64 = 0.7;
const SENTENCES_SHARE: f64 = 0.8;
const RERANK_SHARE: f64 = 0.95;

/// The trace of one recall.
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
    /// The branches that are visible from the scope.
    Branches,
    /// The records that were different at the time of the query.
    Past,
    Synonyms,
    Keyword,
    Vector,
    Graph,
    Neighbors,
    Fetch,
    /// The index terms of the candidates.
    Terms,
    /// The token vectors of query and candidates, and their comparison.
    Tokens,
    /// The keyword searches for each sentence of the query.
    Sentences,
    Rerank,
    /// The statements that matter for the topic of the query.
    Topics,
    /// What replaced the statements that were found.
    Updates,
}

impl Stage {
    /// The name of the retrieving stages together.
    pub(crate) const RETRIEVE: &'static str = "retrievers";

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Branches => "branches",
            Self::Past => "past",
            Self::Synonyms => "synonyms",
            Self::Keyword => "keyword",
            Self::Vector => "vector",
            Self::Graph => "graph",
            Self::Neighbors => "neighbors",
            Self::Fetch => "fetch",
            Self::Terms => "terms",
            Self::Tokens => "tokens",
            Self::Sentences => "sentences",
            Self::Rerank => "rerank",
            Self::Topics => "topics",
            Self::Updates => "updates",
        }
    }

    const fn share(self) -> f64 {
        match self {
            Self::Synonyms => SYNONYMS_SHARE,
            Self::Past => PAST_SHARE,
            Self::Branches | Self::Keyword | Self::Vector | Self::Graph => RETRIEVE_SHARE,
            Self::Neighbors => NEIGHBORS_SHARE,
            Self::Terms | Self::Tokens | Self::Sentences => SENTENCES_SHARE,
            Self::Rerank => RERANK_SHARE,
            Self::Fetch | Self::Topics | Self::Updates => 1.0,
        }
    }
}

impl Trace {
    pub(crate) fn new(whole: Duration) -> Self {
        Self { began: Instant::now(), whole, degraded: Vec::new(), stages: Vec::new() }
    }

    /// Does the work. Fails with `Timeout` when the stage's share of the time is over; then it does not begin the work.
    pub(crate) async fn limit<T>(&self, stage: Stage, work: impl Future<Output = Result<T>>) -> Result<T> {
        let span = operation_span!(DEBUG, "memory_engine.recall.stage", stage = stage.name());
        observe(&span, Operation::Stage(stage.name()), self.within_share(stage, work)).await
    }

    async fn within_share<T>(&self, stage: Stage, work: impl Future<Output = Result<T>>) -> Result<T> {
        let share = Duration::try_from_secs_f64(self.whole.as_secs_f64() * stage.share()).ok();
        let Some(until) = share.and_then(|share| self.began.checked_add(share)) else {
            return work.await; // Further off than a clock can tell.
        };
        if Instant::now() >= until {
            return Err(self.late(stage)); // `timeout_at` would still take a result that is ready at once.
        }
        timeout_at(until, work).await.unwrap_or_else(|_| Err(self.late(stage)))
    }

    fn late(&self, stage: Stage) -> Error {
        let waited = self.began.elapsed().as_millis();
        let message = format!("not ready after {waited} ms; the recall went on without it");
        Error::new(ErrorKind::Timeout, stage.name(), message)
    }

    /// Does work that the recall cannot go on without.
    ///
    /// # Errors
    /// `Timeout` when the stage's share of the time is over; the error of the work.
    pub(crate) async fn require<T>(&self, stage: Stage, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.limit(stage, work).await.map_err(|error| {
            if error.kind() == ErrorKind::Timeout {
                self.timeout(&format!("{} not ready", stage.name()))
            } else {
                error
            }
        })
    }

    /// The error of a recall that has nothing to return because of its deadline. `what` names the part that is missing.
    pub(crate) fn timeout(&self, what: &str) -> Error {
        let (waited, deadline) = (self.began.elapsed().as_millis(), self.whole.as_millis());
        let message = format!(
            "{what} within {waited} ms (deadline {deadline} ms); call `warm_up` after opening a large memory, or set a \
             longer deadline in the recall options"
        );
        Error::new(ErrorKind::Timeout, "recall", message)
    }

    /// Notes the time of a stage that the recall can go on without; its result, or nothing and a note of the reason.
    pub(crate) fn finish<T: Default>(&mut self, stage: Stage, started: Instant, outcome: Result<T>) -> T {
        self.time(stage.name(), started);
        self.or_default(stage, outcome)
    }

    pub(crate) fn into_recall(self, hits: Vec<RecallHit>) -> Recall {
        Recall { hits, query_shape: None, degraded: self.degraded, stages: self.stages }
    }

    /// Records the time of a stage that ends now.
    pub(crate) fn time(&mut self, stage: &'static str, since: Instant) {
        self.record(stage, since.elapsed());
    }

    /// Records the time of a stage.
    pub(crate) fn record(&mut self, stage: &'static str, took: Duration) {
        self.stages.push(StageTime { stage, took });
    }

    /// Notes why a stage, or a part of it, is missing.
    pub(crate) fn missing(&mut self, stage: Stage, error: &Error) {
        self.degraded.push(Degraded { stage: stage.name(), reason: error.to_string() });
    }

    /// Returns the result of a stage, or nothing and a note of the reason.
    pub(crate) fn or_default<T: Default>(&mut self, stage: Stage, outcome: Result<T>) -> T {
        outcome.unwrap_or_else(|e| {
            self.missing(stage, &e);
            T::default()
        })
    }
}
