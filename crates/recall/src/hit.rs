//! What a recall gives.

use std::time::Duration;

use memory_engine_core::{Record, RecordId, Score};
use serde::Serialize;

/// What was found for a question, and how.
///
/// ```
/// use memory_engine::{Arm, MemoryEngine, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "My sister plays the violin").await?;
///
/// let recall = memory.recall(&lin, "Who plays the violin?").await?;
/// let hit = recall.relevant().next().unwrap();
/// for found in &hit.found_by {
///     println!("{} #{}: {:.2}", found.arm.as_str(), found.rank, found.score.value());
/// }
/// assert_eq!((hit.found_by[0].arm, hit.found_by[0].rank), (Arm::Keyword, 1));
/// assert!(!recall.is_partial(), "{:?}", recall.degraded);
/// for stage in &recall.stages {
///     println!("{} took {:?}", stage.stage, stage.took);
/// }
/// // A best hit there always is; that it fits is another matter.
/// assert_eq!(memory.recall(&lin, "量子纠缠").await?.relevant().count(), 0);
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Recall {
    /// What was found, best first.
    pub hits: Vec<RecallHit>,
    /// What did not work or was not ready at the deadline, and why; empty when everything took part.
    pub degraded: Vec<Degraded>,
    /// How long each stage took, in the order in which they ran.
    pub stages: Vec<StageTime>,
}

impl Recall {
    /// The hits that fit the question by themselves: what may be put before a model that did not ask. Empty when nothing
    /// does, which is an answer.
    pub fn relevant(&self) -> impl Iterator<Item = &RecallHit> {
        self.hits.iter().filter(|hit| hit.relevant)
    }

    pub(crate) fn lacks(&mut self, stage: &'static str, error: &memory_engine_core::Error) {
        self.degraded.push(Degraded { stage, reason: error.to_string() });
    }

    /// Whether some stage is missing.
    pub fn is_partial(&self) -> bool {
        !self.degraded.is_empty()
    }
}

/// A record that was found.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RecallHit {
    /// The record.
    pub record: Record,
    /// The score that its place is by; it compares with those of the same recall only.
    pub score: Score,
    /// What the reranker said, on its own scale, if it was asked.
    pub reranked: Option<Score>,
    /// Whether it fits the question by itself, and is not only the best there is: words or vector are near enough.
    pub relevant: bool,
    /// What made it count more or less in the end.
    pub boosts: Vec<Boost>,
    /// Which arms found it.
    pub found_by: Vec<Found>,
    /// The better hit that it only repeats, if it does.
    pub repeats: Option<RecordId>,
}

/// One way to find a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Arm {
    /// By its words.
    Keyword,
    /// By its vector.
    Vector,
    /// By the entities and relations around those that the question names.
    Graph,
    /// By what was said right before or after it.
    Neighbor,
}

impl Arm {
    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Vector => "vector",
            Self::Graph => "graph",
            Self::Neighbor => "neighbor",
        }
    }
}

/// That an arm found a record, and where.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Found {
    /// Which arm.
    pub arm: Arm,
    /// The record's place in the arm's list, from 1.
    pub rank: usize,
    /// The score on the arm's own scale; for a neighbour, what it gained.
    pub score: Score,
}

/// Something about a record that makes it count more or less.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Boost {
    /// What about it: `scene`, `voice`, `confidence`, `age` or `speaker`.
    pub of: &'static str,
    /// What its score was multiplied by.
    pub factor: f64,
}

/// A part of a recall that did not work. The other parts did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Degraded {
    /// Which stage.
    pub stage: &'static str,
    /// Why.
    pub reason: String,
}

/// How long a stage took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StageTime {
    /// Which stage.
    pub stage: &'static str,
    /// How long, in wall time.
    pub took: Duration,
}
