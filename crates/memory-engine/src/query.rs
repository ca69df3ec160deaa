//! What is asked of a recall, and how it works.

use memory_core::{Field, Filter, Op, Timestamp};

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
}

impl RecallQuery {
    /// Asks this, of everything within the scope.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), filter: None, limit: None, arms: Arms::default() }
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
    /// The k of reciprocal rank fusion.
    pub fusion_k: f64,
    /// How much the keyword arm counts.
    pub keyword_weight: f64,
    /// How much the vector arm counts when the embedder says nothing about meaning; it rises to `keyword_weight` with
    /// [`Embedder::semantic_weight`](crate::Embedder::semantic_weight).
    pub spelling_weight: f64,
    /// What part of its better neighbour's keyword score a record gets, when the neighbour is of another voice: the answer
    /// to a hit, or what it answers, is often what is meant.
    pub neighbor_share: f64,
    /// From which similarity on (0 to 1) a hit only repeats a better one and goes behind all others.
    pub near_duplicate: f64,
}

impl Default for RecallOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            pool: 100,
            fusion_k: 60.0,
            keyword_weight: 1.0,
            spelling_weight: 0.01,
            neighbor_share: 0.5,
            near_duplicate: 0.8,
        }
    }
}
