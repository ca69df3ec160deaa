//! The options of a recall.

use std::time::Duration;

use memory_engine_core::{Error, Result};
use memory_engine_reranker::Method;
use serde::{Deserialize, Serialize};

use crate::ranking::RankingMethod;

/// The options of a recall. `docs/design/retrieval.md` gives the reasons for the defaults.
///
/// ```
/// use std::time::Duration;
/// use memory_engine::{MemoryEngine, RecallOptions, RecallQuery, Scope};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let options = RecallOptions::default().with_limit(3).with_deadline(Duration::from_secs(30));
/// let memory = MemoryEngine::builder().in_memory().recall_options(options).build().await?;
/// let lin = Scope::user("lin")?;
/// for n in 1..=9 {
///     memory.remember(&lin, format!("第{n}次爬山")).await?;
/// }
/// assert_eq!(memory.recall(&lin, "爬山").await?.hits.len(), 3);
/// // For one query: a record that is half a year old counts half as much.
/// let fresh = options.with_half_life(Duration::from_secs(180 * 24 * 3600)).with_min_recency_weight(0.5);
/// memory.recall(&lin, RecallQuery::new("爬山").with_options(fresh)).await?;
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
///
/// In JSON and TOML every field is optional, and durations are seconds: `{"limit": 3, "deadline": 30}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RecallOptions {
    /// Maximum number of hits. Default: 10.
    pub limit: usize,
    /// Time limit of a recall. At the deadline it returns what is ready and names what is missing. Default: 3 s.
    #[serde(with = "seconds")]
    pub deadline: Duration,
    /// Maximum number of candidates per retriever. Default: 200.
    pub max_candidates: usize,
    /// Orders the candidates by features, or as the retrievers' lists are fused. Default: by features.
    pub ranking: RankingMethod,
    /// Fuses retrievers by rank or by score. Default: by score.
    pub fusion: Method,
    /// Weight of the vector retriever next to the keyword retriever (0–1) if the embedder's
    /// [`semantic_weight`](memory_engine_embedder::Embedder::semantic_weight) is 1; less with less of it. Default: 0.4.
    pub vector_weight: f64,
    /// Minimum weight of the vector retriever (0–1): an embedder without semantics still breaks ties, and finds
    /// misspellings where no word matches. Default: 0.01.
    pub min_vector_weight: f64,
    /// Weight of the graph retriever next to the other two together (0–1); 0 turns it off. It takes part only in an
    /// engine with a graph extractor. Default: 0.3.
    pub graph_weight: f64,
    /// Maximum number of relations that the graph retriever follows from the query's entities. Default: 1.
    pub graph_hops: u32,
    /// True if synonyms of query terms are searched, too. Default: true.
    pub synonyms: bool,
    /// Weight of dates that the query names next to its words; 0 turns them off. Default: 1.
    pub date_weight: f64,
    /// Number of candidates that the reranker judges, if there is one; 0 turns it off. Default: 20.
    pub rerank_candidates: usize,
    /// Weight of the reranker next to the order before it (0–1). Default: 0.4.
    pub rerank_weight: f64,
    /// Share of its better neighbor's score (0–1) that a record gains while candidates are collected, if the neighbor
    /// is of another speaker. Default: 0.5.
    pub neighbor_share: f64,
    /// Strength of the penalty for records that a model said (0–1), in formulas with the feature [`assistant`]. With 0,
    /// what models and people say ranks alike. Default: 1.
    ///
    /// [`assistant`]: memory_engine_reranker::Feature::Assistant
    pub assistant_penalty: f64,
    /// Penalty of a record with confidence 0 (0–1). Default: 0.3.
    pub confidence_penalty: f64,
    /// Weight of the importance of records (0–1). The score of a record is multiplied by
    /// 1 + weight · (2 · importance − 1), so that the default importance of 0.5 changes nothing. 0 turns it off.
    /// Default: 0.2.
    pub importance_weight: f64,
    /// True if records whose [validity](memory_engine_core::Record::valid_until) has ended at the time of the query are
    /// recalled, too. Default: false.
    pub include_ended: bool,
    /// Factor of the oldest possible record next to one of now (0–1); 1 ignores age. Default: 1.
    pub min_recency_weight: f64,
    /// Time in which a record loses half of what age can cost. Default: 30 days.
    #[serde(with = "seconds")]
    pub half_life: Duration,
    /// Factor of records of the speaker that the [query prefers](crate::RecallQuery::prefer_speaker). Default: 1.2.
    pub speaker_boost: f64,
    /// Minimum [relevance](crate::RecallHit::relevance) (0–1) of a hit that may be injected. Default: 0.2.
    pub min_relevance: f64,
    /// Strength of the diversity of the hits (0–1): a hit loses score by its similarity to a better one. 0 turns it
    /// off. Default: 1.
    pub diversity: f64,
    /// Maximum number of statements that are added because they matter for the topic of the query, such as an allergy
    /// for "any snack ideas?". They share no word with the query. 0 turns them off. Default: 3.
    pub topic_limit: usize,
}

impl Default for RecallOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            deadline: Duration::from_secs(3),
            max_candidates: 200,
            ranking: RankingMethod::default(),
            fusion: Method::Scores,
            vector_weight: 0.4,
            min_vector_weight: 0.01,
            graph_weight: 0.3,
            graph_hops: 1,
            synonyms: true,
            date_weight: 1.0,
            rerank_candidates: 20,
            rerank_weight: 0.4,
            neighbor_share: 0.5,
            assistant_penalty: 1.0,
            confidence_penalty: 0.3,
            importance_weight: 0.2,
            include_ended: false,
            min_recency_weight: 1.0,
            half_life: Duration::from_secs(30 * 24 * 60 * 60),
            speaker_boost: 1.2,
            min_relevance: 0.2,
            diversity: 1.0,
            topic_limit: 3,
        }
    }
}

impl RecallOptions {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `InvalidInput` with the name of the option that is not valid, and its range.
    pub fn validate(&self) -> Result<()> {
        let shares = [
            ("vector_weight", self.vector_weight),
            ("min_vector_weight", self.min_vector_weight),
            ("graph_weight", self.graph_weight),
            ("rerank_weight", self.rerank_weight),
            ("neighbor_share", self.neighbor_share),
            ("assistant_penalty", self.assistant_penalty),
            ("confidence_penalty", self.confidence_penalty),
            ("importance_weight", self.importance_weight),
            ("min_recency_weight", self.min_recency_weight),
            ("min_relevance", self.min_relevance),
            ("diversity", self.diversity),
        ];
        for (name, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                let message = format!("{name} must be from 0 to 1, not {value}");
                return Err(Error::invalid("recall options", message));
            }
        }
        for (name, value) in [("date_weight", self.date_weight), ("speaker_boost", self.speaker_boost)] {
            if !value.is_finite() || value < 0.0 {
                return Err(Error::invalid("recall options", format!("{name} must be at least 0, not {value}")));
            }
        }
        if self.max_candidates == 0 {
            return Err(Error::invalid("recall options", "max_candidates must be at least 1"));
        }
        Ok(())
    }
}

impl RecallOptions {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets [`limit`](Self::limit).
        with_limit(limit: usize);
        /// Sets [`deadline`](Self::deadline).
        with_deadline(deadline: Duration);
        /// Sets [`max_candidates`](Self::max_candidates).
        with_max_candidates(max_candidates: usize);
        /// Sets [`ranking`](Self::ranking).
        with_ranking(ranking: RankingMethod);
        /// Sets [`fusion`](Self::fusion).
        with_fusion(fusion: Method);
        /// Sets [`vector_weight`](Self::vector_weight).
        with_vector_weight(vector_weight: f64);
        /// Sets [`min_vector_weight`](Self::min_vector_weight).
        with_min_vector_weight(min_vector_weight: f64);
        /// Sets [`graph_weight`](Self::graph_weight).
        with_graph_weight(graph_weight: f64);
        /// Sets [`graph_hops`](Self::graph_hops).
        with_graph_hops(graph_hops: u32);
        /// Sets [`synonyms`](Self::synonyms).
        with_synonyms(synonyms: bool);
        /// Sets [`date_weight`](Self::date_weight).
        with_date_weight(date_weight: f64);
        /// Sets [`rerank_candidates`](Self::rerank_candidates).
        with_rerank_candidates(rerank_candidates: usize);
        /// Sets [`rerank_weight`](Self::rerank_weight).
        with_rerank_weight(rerank_weight: f64);
        /// Sets [`neighbor_share`](Self::neighbor_share).
        with_neighbor_share(neighbor_share: f64);
        /// Sets [`assistant_penalty`](Self::assistant_penalty).
        with_assistant_penalty(assistant_penalty: f64);
        /// Sets [`confidence_penalty`](Self::confidence_penalty).
        with_confidence_penalty(confidence_penalty: f64);
        /// Sets [`importance_weight`](Self::importance_weight).
        with_importance_weight(importance_weight: f64);
        /// Sets [`include_ended`](Self::include_ended).
        with_include_ended(include_ended: bool);
        /// Sets [`min_recency_weight`](Self::min_recency_weight).
        with_min_recency_weight(min_recency_weight: f64);
        /// Sets [`half_life`](Self::half_life).
        with_half_life(half_life: Duration);
        /// Sets [`speaker_boost`](Self::speaker_boost).
        with_speaker_boost(speaker_boost: f64);
        /// Sets [`min_relevance`](Self::min_relevance).
        with_min_relevance(min_relevance: f64);
        /// Sets [`diversity`](Self::diversity).
        with_diversity(diversity: f64);
        /// Sets [`topic_limit`](Self::topic_limit).
        with_topic_limit(topic_limit: usize);
    }
}

/// A duration as a number of seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| D::Error::custom(format!("{seconds} is no duration; write seconds, at least 0")))
    }
}
