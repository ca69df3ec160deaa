//! The options of a recall.

use std::time::Duration;

use memory_engine_reranker::Method;

/// The options of a recall. `docs/RETRIEVAL.md` gives the reasons for the defaults.
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
/// // And for one question: what is half a year old counts half as much.
/// let fresh = options.with_freshness(Duration::from_secs(180 * 24 * 3600), 0.5);
/// memory.recall(&lin, RecallQuery::new("爬山").with_options(fresh)).await?;
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RecallOptions {
    /// Maximum number of hits. Default: 10.
    pub limit: usize,
    /// Time limit of a recall. At the deadline it returns the hits that are ready and names the stages that are missing; if no
    /// retriever has answered by then, it returns `Timeout`. Default: 3 s.
    pub deadline: Duration,
    /// Maximum number of candidates per retriever. Default: 200.
    pub pool: usize,
    /// Fuses retrievers by rank or by score. Default: by score.
    pub fusion: Method,
    /// Weight of the vector retriever next to the keyword retriever (0–1) if the embedder's
    /// [`semantic_weight`](memory_engine_embedder::Embedder::semantic_weight) is 1; less with less of it. Default: 0.4.
    pub vector_weight: f64,
    /// Minimum weight of the vector retriever (0–1): an embedder without semantics still breaks ties, and finds
    /// misspellings where no word matches. Default: 0.01.
    pub spelling_weight: f64,
    /// Weight of the graph retriever next to the other two together; 0 turns it off. It takes part only in an engine with
    /// a graph extractor. Default: 0.3.
    pub graph_weight: f64,
    /// Maximum number of relations that the graph retriever follows from the query's entities. Default: 1.
    pub graph_hops: u32,
    /// True if synonyms of query terms are searched, too. Default: true.
    pub synonyms: bool,
    /// Weight of dates that the query names next to its words; 0 turns them off. Default: 1.
    pub date_weight: f64,
    /// Number of candidates that the reranker judges, if there is one; 0 turns it off. Default: 20.
    pub reranked: usize,
    /// Weight of the reranker next to the order before it (0–1). Default: 0.4.
    pub rerank_weight: f64,
    /// Share of its better neighbor's score (0–1) that a record gains if the neighbor is of another speaker: the reply to a
    /// hit is often what is meant. Default: 0.5.
    pub neighbor_share: f64,
    /// Factor of records that a model said (0–1): a reply repeats the words of its question at length, while what people
    /// tell about themselves is short. Default: 0.8.
    pub assistant_weight: f64,
    /// Penalty of a record with confidence 0 (0–1). Default: 0.3.
    pub doubt: f64,
    /// Factor of the oldest possible record next to one of now (0–1); 1 ignores age. Default: 1.
    pub oldest: f64,
    /// Time in which a record loses half of what age can cost. Default: 30 days.
    pub half_life: Duration,
    /// Factor of records of the speaker that the [query names](crate::RecallQuery::by_speaker). Default: 1.2.
    pub speaker_boost: f64,
    /// Minimum keyword score (0–1) of a relevant hit: about the share of the query's words that it holds, weighted by idf;
    /// see [`Bm25`](memory_engine_keyword_store::Bm25). Default: 0.35.
    pub relevant_words: f64,
    /// Minimum similarity of a relevant hit, on a scale from an
    /// [unrelated](memory_engine_embedder::Embedder::unrelated) text (0) to the same text (1). Default: 0.4.
    pub relevant_nearness: f64,
    /// Weight of words next to similarity (0–1) where a hit has both and the embedder has semantics: the shares that each
    /// reaches of its minimum add up, that of the words multiplied by this. A weekday or a name is soon shared.
    /// Default: 0.25.
    pub words_beside_nearness: f64,
    /// Hits with at least this similarity (0–1) to a better hit are moved to the end as near-duplicates. Default: 0.8.
    pub near_duplicate: f64,
}

impl Default for RecallOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            deadline: Duration::from_secs(3),
            pool: 200,
            fusion: Method::Scores,
            vector_weight: 0.4,
            spelling_weight: 0.01,
            graph_weight: 0.3,
            graph_hops: 1,
            synonyms: true,
            date_weight: 1.0,
            reranked: 20,
            rerank_weight: 0.4,
            neighbor_share: 0.5,
            assistant_weight: 0.8,
            doubt: 0.3,
            oldest: 1.0,
            half_life: Duration::from_secs(30 * 24 * 60 * 60),
            speaker_boost: 1.2,
            relevant_words: 0.35,
            relevant_nearness: 0.4,
            words_beside_nearness: 0.25,
            near_duplicate: 0.8,
        }
    }
}

impl RecallOptions {
    /// Sets the maximum number of hits.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the time limit.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets weight and hops of the graph retriever.
    #[must_use]
    pub fn with_graph(mut self, weight: f64, hops: u32) -> Self {
        self.graph_weight = weight;
        self.graph_hops = hops;
        self
    }

    /// Prefers recent records: one that is `half_life` old loses half of what age can cost, and the factor of the oldest is
    /// `oldest`.
    #[must_use]
    pub fn with_freshness(mut self, half_life: Duration, oldest: f64) -> Self {
        self.half_life = half_life;
        self.oldest = oldest;
        self
    }
}
