//! How a recall works: every number of it.

use std::time::Duration;

use memory_engine_reranker::Method;

/// How a recall works: every number of it, with the defaults that `docs/RETRIEVAL.md` gives the reasons for.
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
    /// How many hits at the most.
    pub limit: usize,
    /// How long a recall may take. At the deadline it gives what is ready, and says what is missing.
    pub deadline: Duration,
    /// How many hits each arm brings in.
    pub pool: usize,
    /// What counts of an arm's hit: its rank or its score.
    pub fusion: Method,
    /// How much the vector arm counts beside the keyword arm, 0 to 1, when its embedder knows all about meaning; less with
    /// less of [`Embedder::semantic_weight`](crate::Embedder::semantic_weight).
    pub vector_weight: f64,
    /// How much the vector arm counts at least: an embedder that knows nothing about meaning breaks ties, and finds
    /// misspellings when no word fits.
    pub spelling_weight: f64,
    /// How much the graph arm counts beside the other two together; nothing, with 0. It takes part in an engine that was
    /// built with [`Builder::graph`](crate::Builder::graph).
    pub graph_weight: f64,
    /// How many relations far the graph arm goes from the entities of the question.
    pub graph_hops: u32,
    /// Whether synonyms of the question's words are looked for, too.
    pub synonyms: bool,
    /// How much a stretch of time that the question names counts beside its words; nothing, with 0.
    pub date_weight: f64,
    /// How many of the best candidates the reranker judges, if there is one; none, with 0.
    pub reranked: usize,
    /// How much the reranker counts beside the order before it, 0 to 1.
    pub rerank_weight: f64,
    /// What part of its better neighbour's score a record gets, when the neighbour is of another voice: the answer to a
    /// hit, or what it answers, is often what is meant.
    pub neighbor_share: f64,
    /// How much what a model said counts beside what a person said, 0 to 1: an answer repeats the words of its question
    /// at length, while what a person tells about themselves is short.
    pub assistant_weight: f64,
    /// How much less a record counts that is not sure at all (confidence 0): 0 to 1.
    pub doubt: f64,
    /// How much a record counts that is as old as can be, beside one of now; 1 leaves age out.
    pub oldest: f64,
    /// In which time half of what age can cost is lost.
    pub half_life: Duration,
    /// How much more a record counts by the speaker who is [asked for](crate::RecallQuery::by_speaker).
    pub speaker_boost: f64,
    /// From which keyword score on a hit answers the question, and is not only the best there is: about the part of the
    /// question's words that it holds, the rare ones counting more; see [`Bm25`](memory_engine_keyword_store::Bm25).
    pub relevant_words: f64,
    /// From which part of the way between an [unrelated](crate::Embedder::unrelated) text and the same text on (0 to 1) a
    /// vector does.
    pub relevant_nearness: f64,
    /// What words count for beside a vector that knows about meaning, 0 to 1: with both, the parts that they hold of what
    /// each would need by itself add up, that of the words multiplied by this. A day of the week or a name is soon shared.
    pub words_beside_nearness: f64,
    /// From which similarity on (0 to 1) a hit only repeats a better one and goes behind all others.
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
    /// Gives at most so many hits.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Takes at most so long.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Has the graph arm count so much, and go so far.
    #[must_use]
    pub fn with_graph(mut self, weight: f64, hops: u32) -> Self {
        (self.graph_weight, self.graph_hops) = (weight, hops);
        self
    }

    /// Prefers the new: what is older by `half_life` loses half of what age can cost, and the oldest counts `oldest`.
    #[must_use]
    pub fn with_freshness(mut self, half_life: Duration, oldest: f64) -> Self {
        (self.half_life, self.oldest) = (half_life, oldest);
        self
    }
}
