//! What evidence is asked for.

use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::options::EvidenceOptions;

/// How many keywords are looked for.
const MOST_KEYWORDS: usize = 5;

/// What to gather evidence about.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct EvidenceQuery {
    pub(crate) embedding: Option<Vec<f32>>,
    pub(crate) keywords: Vec<String>,
    pub(crate) assets: Vec<String>,
}

impl EvidenceQuery {
    /// About nothing yet: without a vector and keywords nothing is found.
    pub fn new() -> Self {
        Self::default()
    }

    /// The vector of the event, of the dimension that the database has.
    pub fn with_embedding(mut self, embedding: Vec<f32>) -> Self {
        self.embedding = Some(embedding);
        self
    }

    /// The keywords of the event: trimmed, in lower case, each once, the first five.
    pub fn with_keywords<T: AsRef<str>>(mut self, keywords: impl IntoIterator<Item = T>) -> Self {
        let mut seen = FxHashSet::default();
        let keywords = keywords.into_iter().map(|k| k.as_ref().trim().to_lowercase()).filter(|k| !k.is_empty());
        self.keywords = keywords.filter(|k| seen.insert(k.clone())).take(MOST_KEYWORDS).collect();
        self
    }

    /// Only events about one of these assets; about any, when there are none.
    pub fn about_assets<T: Into<String>>(mut self, assets: impl IntoIterator<Item = T>) -> Self {
        self.assets = assets.into_iter().map(Into::into).collect();
        self
    }

    /// The keywords as they are looked for.
    pub fn keywords(&self) -> &[String] {
        &self.keywords
    }

    pub(crate) fn request(&self, options: &EvidenceOptions) -> EvidenceRequest {
        EvidenceRequest {
            match_threshold: options.match_threshold,
            min_confidence: options.min_confidence,
            window: options.window,
            match_count: options.match_count,
            assets: self.assets.clone(),
        }
    }
}

/// What every source is told beside the vector or the keywords.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EvidenceRequest {
    /// The least similarity of vectors.
    pub match_threshold: f64,
    /// The least confidence.
    pub min_confidence: f64,
    /// How far back to look.
    pub window: Duration,
    /// How many at the most.
    pub match_count: usize,
    /// Only these assets, unless there are none.
    pub assets: Vec<String>,
}
