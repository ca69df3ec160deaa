//! The query of a cascade, and the request that each source gets.

use std::time::Duration;

use rustc_hash::FxHashSet;

use crate::options::EvidenceOptions;

/// Maximum number of keywords of a query. Further keywords are ignored.
const MAX_KEYWORDS: usize = 5;

/// The event that evidence is gathered for: its vector, its keywords and its assets.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct EvidenceQuery {
    pub(crate) embedding: Option<Vec<f32>>,
    pub(crate) keywords: Vec<String>,
    pub(crate) assets: Vec<String>,
}

impl EvidenceQuery {
    /// Creates an empty query. Without a vector and keywords, nothing is found.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the vector of the event. It needs as many dimensions as the database has.
    pub fn with_embedding(mut self, embedding: Vec<f32>) -> Self {
        self.embedding = Some(embedding);
        self
    }

    /// Sets the keywords of the event. They are trimmed, folded to lower case and deduplicated; the first five are
    /// used.
    pub fn with_keywords<T: AsRef<str>>(mut self, keywords: impl IntoIterator<Item = T>) -> Self {
        let mut seen = FxHashSet::default();
        let keywords = keywords.into_iter().map(|k| k.as_ref().trim().to_lowercase()).filter(|k| !k.is_empty());
        self.keywords = keywords.filter(|k| seen.insert(k.clone())).take(MAX_KEYWORDS).collect();
        self
    }

    /// Restricts the search to events about one of these assets. Without assets, events about any asset are found.
    pub fn about_assets<T: Into<String>>(mut self, assets: impl IntoIterator<Item = T>) -> Self {
        self.assets = assets.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the keywords as they are searched for.
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

/// The conditions that every source gets in addition to the vector or the keywords.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EvidenceRequest {
    /// Minimum similarity of vectors, 0 to 1.
    pub match_threshold: f64,
    /// Minimum confidence, 0 to 1.
    pub min_confidence: f64,
    /// Maximum age of an event.
    pub window: Duration,
    /// Maximum number of pieces of evidence.
    pub match_count: usize,
    /// Only events about one of these assets are returned; about any, if empty.
    pub assets: Vec<String>,
}
