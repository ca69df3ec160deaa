//! The result of a recall.

use std::{fmt, time::Duration};

use memory_engine_core::{Error, Record, RecordId, Score, enum_names};
use memory_engine_reranker::{Feature, QueryShape};
use serde::{Deserialize, Serialize};

use crate::ranking_step::{HasRankTrace, StepRank};

/// The result of a recall.
///
/// ```
/// use memory_engine::{MemoryEngine, Scope, recall::Retriever};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let memory = MemoryEngine::builder().in_memory().build().await?;
/// let lin = Scope::user("lin")?;
/// memory.remember(&lin, "My sister plays the violin").await?;
///
/// let recall = memory.recall(&lin, "Who plays the violin?").await?;
/// let hit = recall.relevant().next().unwrap();
/// for found in &hit.found_by {
///     println!("{} #{}: {:.2}", found.retriever, found.rank, found.score.value());
/// }
/// assert_eq!((hit.found_by[0].retriever, hit.found_by[0].rank), (Retriever::Keyword, 1));
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
    /// The hits, best first.
    pub hits: Vec<RecallHit>,
    /// The formula that ranked the hits; `None` if one retriever alone was asked, or nothing was found.
    pub query_shape: Option<QueryShape>,
    /// Stages that failed or were not ready at the deadline; empty if every stage took part.
    pub degraded: Vec<Degraded>,
    /// The time of each stage, in the order in which they ran.
    pub stages: Vec<StageTime>,
}

impl Recall {
    /// Returns the best hit that is relevant to the query, if there is one.
    pub fn best(&self) -> Option<&RecallHit> {
        self.relevant().next()
    }

    /// Returns the hits that answer the query by themselves: what may be put before a model that did not ask. Empty if
    /// nothing is relevant.
    pub fn relevant(&self) -> impl Iterator<Item = &RecallHit> {
        self.hits.iter().filter(|hit| hit.relevant)
    }

    /// Notes that a stage failed.
    pub(crate) fn add_degraded(&mut self, stage: &'static str, error: &Error) {
        self.degraded.push(Degraded { stage, reason: error.to_string() });
    }

    /// Returns true if a stage is missing.
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
    /// True if its relevance reaches [`RecallOptions::min_relevance`](crate::RecallOptions::min_relevance): it answers
    /// the query by itself, and is not only the best there is. Use this to decide whether to inject a hit.
    pub relevant: bool,
    /// The estimated probability (0–1) that it answers the query. Comparable between queries, users and languages.
    pub relevance: f64,
    /// The score that orders the hits of one recall. The best candidate has 1, before boosts. Do not compare it with a
    /// threshold or with the score of another recall: it says nothing about relevance.
    pub score: Score,
    /// The score of the reranker, on its own scale, if it judged this record.
    pub reranked: Option<Score>,
    /// The features that ranked it, with the contribution of each. Empty if one retriever alone was asked.
    pub features: Vec<FeatureScore>,
    /// Factors that its score was multiplied by.
    pub boosts: Vec<Boost>,
    /// The retrievers that found it.
    pub found_by: Vec<RetrieverHit>,
    /// The better hit that it repeats, if any.
    pub repeats: Option<RecordId>,
    /// True if a part of what it states does not hold any more. What holds now comes before it.
    pub outdated: bool,
    /// Its rank after each step: fused, ranked, reranked, boosted, selected. Empty unless the query
    /// [asks for a trace](crate::RecallQuery::with_trace); an explanation always has it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<StepRank>,
}

impl HasRankTrace for RecallHit {
    fn score(&self) -> Score {
        self.score
    }

    fn ranks(&mut self) -> &mut Vec<StepRank> {
        &mut self.ranks
    }
}

impl RecallHit {
    /// Creates a hit without scores, that no retriever found. Tests of an application set its fields.
    pub fn new(record: Record) -> Self {
        Self {
            record,
            relevant: false,
            relevance: 0.0,
            score: Score::new(0.0),
            reranked: None,
            features: Vec::new(),
            boosts: Vec::new(),
            found_by: Vec::new(),
            repeats: None,
            outdated: false,
            ranks: Vec::new(),
        }
    }

    /// The text of the record.
    pub fn text(&self) -> &str {
        &self.record.text
    }

    /// The id of the record.
    pub fn id(&self) -> RecordId {
        self.record.id
    }

    /// Returns the parts of the score in words: the retrievers, the features, the reranker, the boosts.
    pub fn score_summary(&self) -> String {
        let retrievers: Vec<String> = self.found_by.iter().map(ToString::to_string).collect();
        let mut summary = format!("score {:.4}: {}", self.score.value(), retrievers.join(", "));
        let counted = self.features.iter().filter(|score| score.contribution != 0.0);
        let features: Vec<String> = counted.map(ToString::to_string).collect();
        if !features.is_empty() {
            summary += &format!("; {}", features.join(", "));
        }
        summary += &format!("; relevance {:.2}", self.relevance);
        if let Some(score) = self.reranked {
            summary += &format!("; reranker {score}");
        }
        for boost in &self.boosts {
            summary += &format!("; {} × {:.2}", boost.of, boost.factor);
        }
        if let Some(id) = self.repeats {
            summary += &format!("; repeats {id}");
        }
        summary
    }
}

impl IntoIterator for Recall {
    type Item = RecallHit;
    type IntoIter = std::vec::IntoIter<RecallHit>;

    fn into_iter(self) -> Self::IntoIter {
        self.hits.into_iter()
    }
}

impl<'a> IntoIterator for &'a Recall {
    type Item = &'a RecallHit;
    type IntoIter = std::slice::Iter<'a, RecallHit>;

    fn into_iter(self) -> Self::IntoIter {
        self.hits.iter()
    }
}

/// A retriever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Retriever {
    /// By keywords.
    Keyword,
    /// By vector similarity.
    Vector,
    /// By entities and relations around those that the query names.
    Graph,
    /// By a hit right before or after it.
    Neighbor,
    /// By a topic that the query raises, such as food: a statement that limits or shapes the answer.
    Topic,
    /// By an outdated hit that it updates.
    Update,
}

enum_names! {
    Retriever, "retriever" {
        Keyword => "keyword",
        Vector => "vector",
        Graph => "graph",
        Neighbor => "neighbor",
        Topic => "topic",
        Update => "update",
    }
}

/// The rank and score of a record in one retriever.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RetrieverHit {
    /// The retriever.
    pub retriever: Retriever,
    /// The rank in the retriever's list, from 1.
    pub rank: usize,
    /// The score on the retriever's own scale; for a neighbor, what it gained.
    pub score: Score,
}

impl fmt::Display for RetrieverHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{} at {}", self.retriever, self.rank, self.score)
    }
}

impl fmt::Display for FeatureScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.2} → {:+.2}", self.feature, self.value, self.contribution)
    }
}

/// A feature of a hit, and its part of the score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FeatureScore {
    /// The feature.
    pub feature: Feature,
    /// Its value.
    pub value: f64,
    /// Its weight × its value. The contributions of a hit add up to its score before it is scaled to 0–1.
    pub contribution: f64,
}

/// A factor of a score that does not depend on the text of the record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Boost {
    /// Its reason: `scene`, `confidence`, `importance`, `age` or `speaker`.
    pub of: &'static str,
    /// The factor.
    pub factor: f64,
}

/// A stage that failed while the others went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Degraded {
    /// The name of the stage.
    pub stage: &'static str,
    /// The reason.
    pub reason: String,
}

/// The time of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StageTime {
    /// The name of the stage.
    pub stage: &'static str,
    /// Wall time.
    pub took: Duration,
}
