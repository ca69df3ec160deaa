//! An embedder without a model: feature hashing of words and character n-grams.
//!
//! Reasons: `docs/design/decisions/0034-hash-embedder-breaks-ties.md`.

use std::task::Poll;

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, Result, text};
use xxhash_rust::xxh3::xxh3_64;

use crate::embedder::{Embedder, Purpose};

/// A deterministic embedder. The vector of a text is the same on every machine, and in every version of this crate in
/// which the model has the same name.
///
/// Each feature of the normalised text (a word, the 3- and 4-grams of its letters, 1- to 3-grams of Chinese characters)
/// is hashed to a dimension and a sign, and its weight is added there (Weinberger et al., "Feature Hashing for Large
/// Scale Multitask Learning", 2009); a feature that occurs n times weighs 1 + ln n. The vector has length 1.
#[derive(Debug, Clone)]
pub struct HashEmbedder {
    space: EmbeddingSpace,
}

impl HashEmbedder {
    /// Default number of dimensions.
    pub const DIMENSIONS: usize = 384;

    /// Creates an embedder with another number of dimensions. With more dimensions, fewer features collide.
    ///
    /// # Errors
    /// `InvalidInput` unless the number is 16 to 4096.
    pub fn with_dimensions(dimensions: usize) -> Result<Self> {
        if !(16..=4096).contains(&dimensions) {
            return Err(Error::invalid(
                "hash embedder",
                format!("the number of dimensions is {dimensions}; it must be 16 to 4096"),
            ));
        }
        Ok(Self::of_dimensions(dimensions))
    }

    pub(crate) fn of_dimensions(dimensions: usize) -> Self {
        Self { space: EmbeddingSpace::cosine(MODEL, dimensions) }
    }

    fn vector(&self, input: &str) -> Result<Embedding> {
        let mut features = features(&text::normalize(input));
        if features.is_empty() {
            // A text of punctuation only is one feature.
            features.push((xxh3_64(input.trim().as_bytes()), 1.0));
        }
        features.sort_unstable_by_key(|(hash, _)| *hash);
        let mut values = vec![0.0_f32; self.space.dimensions];
        for run in features.chunk_by(|a, b| a.0 == b.0) {
            let (hash, weight) = run[0];
            let value = weight * (1.0 + (run.len() as f32).ln());
            let dimension = (hash % self.space.dimensions as u64) as usize;
            values[dimension] += if hash >> 63 == 0 { value } else { -value };
        }
        if values.iter().all(|v| *v == 0.0) {
            // All features cancelled each other.
            values[0] = 1.0;
        }
        Ok(Embedding::new(values)?.normalized())
    }
}

impl Default for HashEmbedder {
    fn default() -> Self {
        Self::of_dimensions(Self::DIMENSIONS)
    }
}

/// The model of the embedding space. Without the feature `chinese` of the core crate, texts in traditional characters
/// have other vectors.
const MODEL: &str = if text::FOLDS_TRADITIONAL { "hash-v1" } else { "hash-v1-as-written" };

const WORD_WEIGHT: f32 = 1.0;
const LETTER_GRAM_WEIGHT: f32 = 0.35;
const HAN_UNIGRAM_WEIGHT: f32 = 0.3;
const HAN_BIGRAM_WEIGHT: f32 = 1.0;
const HAN_TRIGRAM_WEIGHT: f32 = 0.7;

/// Returns the hash and the weight of each feature of a text, repeated ones included.
fn features(normalized: &str) -> Vec<(u64, f32)> {
    let mut features = Vec::new();
    let characters: Vec<char> = normalized.chars().collect();
    let runs =
        characters.chunk_by(|a, b| text::is_han(*a) == text::is_han(*b) && a.is_alphanumeric() == b.is_alphanumeric());
    for run in runs.filter(|run| run[0].is_alphanumeric()) {
        if text::is_han(run[0]) {
            push_n_grams(run, 1, 'h', HAN_UNIGRAM_WEIGHT, &mut features);
            push_n_grams(run, 2, 'h', HAN_BIGRAM_WEIGHT, &mut features);
            push_n_grams(run, 3, 'h', HAN_TRIGRAM_WEIGHT, &mut features);
        } else {
            push_n_grams(run, run.len(), 'w', WORD_WEIGHT, &mut features);
            let bounded: Vec<char> =
                std::iter::once('^').chain(run.iter().copied()).chain(std::iter::once('$')).collect();
            push_n_grams(&bounded, 3, 'l', LETTER_GRAM_WEIGHT, &mut features);
            push_n_grams(&bounded, 4, 'l', LETTER_GRAM_WEIGHT, &mut features);
        }
    }
    features
}

/// Appends the n-grams of a run of characters. `prefix` keeps features of different types apart.
fn push_n_grams(run: &[char], n: usize, prefix: char, weight: f32, features: &mut Vec<(u64, f32)>) {
    for gram in run.windows(n) {
        let key: String = std::iter::once(prefix).chain(gram.iter().copied()).collect();
        features.push((xxh3_64(key.as_bytes()), weight));
    }
}

#[async_trait]
impl Embedder for HashEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        256
    }

    fn semantic_weight(&self) -> f64 {
        0.0
    }

    fn score_floor(&self) -> f64 {
        // Without a common feature, similarity comes from collisions only. Its standard deviation is about 1/√d.
        2.5 / (self.space.dimensions as f64).sqrt()
    }

    async fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Embedding>> {
        if texts.len() > self.max_batch() {
            return Err(Error::invalid(
                "embed",
                format!("{} texts exceed the maximum batch size of {}", texts.len(), self.max_batch()),
            ));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid("embed", "a text is empty; remove it from the batch"));
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            if index % TEXTS_PER_YIELD == TEXTS_PER_YIELD - 1 {
                yield_now().await;
            }
            vectors.push(self.vector(text)?);
        }
        Ok(vectors)
    }
}

/// Number of texts that are hashed before the task yields: 16 short ones take less than a millisecond.
const TEXTS_PER_YIELD: usize = 16;

/// Lets other tasks of the same thread run.
async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests;
