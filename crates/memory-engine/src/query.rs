//! What is asked of a recall, and how it works.

use memory_core::{Field, Filter, Op, Timestamp};
use memory_reranker::Method;

/// A question to memory. A plain `&str` asks with the engine's options.
#[derive(Debug, Clone)]
#[must_use]
#[non_exhaustive]
pub struct RecallQuery {
    /// The question, in the words of whoever asks.
    pub text: String,
    /// Only these records.
    pub filter: Option<Filter>,
    /// How many hits at the most; the engine's options say when it is not set.
    pub limit: Option<usize>,
    /// Which arms take part.
    pub arms: Arms,
    /// Whether the engine's reranker, if it has one, judges the best candidates.
    pub rerank: bool,
}

impl RecallQuery {
    /// Asks this, of everything within the scope.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), filter: None, limit: None, arms: Arms::default(), rerank: true }
    }

    /// Gives at most so many hits.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Only records that match; with every filter that is added, all have to.
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(old) => old.and(filter),
            None => filter,
        });
        self
    }

    /// Only what occurred at that time or later.
    pub fn since(self, time: Timestamp) -> Self {
        self.with_filter(Filter::compare(Field::OccurredAt, Op::Ge, time))
    }

    /// Only what occurred before that time.
    pub fn until(self, time: Timestamp) -> Self {
        self.with_filter(Filter::compare(Field::OccurredAt, Op::Lt, time))
    }

    /// Only these arms take part: for measuring what each of them finds.
    pub fn with_arms(mut self, arms: Arms) -> Self {
        self.arms = arms;
        self
    }
}

impl RecallQuery {
    /// Leaves the order as the arms give it.
    pub fn without_rerank(mut self) -> Self {
        self.rerank = false;
        self
    }
}

impl From<&str> for RecallQuery {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for RecallQuery {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Which arms of a recall take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arms {
    /// All of them.
    #[default]
    All,
    /// The words only.
    KeywordOnly,
    /// The vectors only.
    VectorOnly,
}

/// How a recall works: every number of it, with the defaults that `docs/RETRIEVAL.md` gives the reasons for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RecallOptions {
    /// How many hits at the most.
    pub limit: usize,
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
    /// How many of the best candidates the reranker judges, if there is one.
    pub reranked: usize,
    /// How much the reranker counts beside the order before it, 0 to 1.
    pub rerank_weight: f64,
    /// What part of its better neighbour's score a record gets, when the neighbour is of another voice: the answer to a
    /// hit, or what it answers, is often what is meant.
    pub neighbor_share: f64,
    /// From which similarity on (0 to 1) a hit only repeats a better one and goes behind all others.
    pub near_duplicate: f64,
}

impl Default for RecallOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            pool: 200,
            fusion: Method::Scores,
            vector_weight: 0.4,
            spelling_weight: 0.01,
            reranked: 20,
            rerank_weight: 0.4,
            neighbor_share: 0.5,
            near_duplicate: 0.8,
        }
    }
}
