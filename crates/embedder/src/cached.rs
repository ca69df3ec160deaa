//! An embedder with a cache.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::sync::Mutex;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, ErrorKind, MultiVector, Result};

use crate::{
    embedder::{Embedder, Purpose, Scale, TextEncoding},
    weighted_lru::WeightedLru,
};

/// An [`Embedder`] that caches vectors: the same text is not embedded twice for the same purpose. The cache key is a
/// 128-bit hash of the exact text, so the vector of a text never depends on earlier texts.
///
/// ```
/// # use std::sync::Arc;
/// use memory_engine_embedder::{CachedEmbedder, Embedder, HashEmbedder, Purpose};
///
/// # futures::executor::block_on(async {
/// let embedder = CachedEmbedder::new(Arc::new(HashEmbedder::default()), 1 << 20);
/// let texts = ["Hello World", "Hello World"];
/// let vectors = embedder.embed(&texts, Purpose::Document).await?;
/// assert_eq!(vectors[0], vectors[1]);
/// # Ok::<(), memory_engine_core::Error>(())
/// # }).unwrap();
/// ```
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Mutex<WeightedLru<(Purpose, u128), TextEncoding>>,
}

impl fmt::Debug for CachedEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedEmbedder").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl CachedEmbedder {
    /// Caches the most recently used vectors, at most `max_bytes` in total.
    pub fn new(inner: impl Embedder, max_bytes: usize) -> Self {
        Self { inner: Arc::new(inner), cache: Mutex::new(WeightedLru::new(max_bytes)) }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Embedder for CachedEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        self.inner.space()
    }
    fn max_batch(&self) -> usize {
        self.inner.max_batch()
    }
    fn semantic_weight(&self) -> f64 {
        self.inner.semantic_weight()
    }
    fn score_floor(&self) -> f64 {
        self.inner.score_floor()
    }
    fn scale(&self, query: &str) -> Scale {
        self.inner.scale(query)
    }
    fn unrelated(&self, query: &str, text: &str) -> f64 {
        self.inner.unrelated(query, text)
    }
    fn static_tokens(&self, text: &str) -> Option<MultiVector> {
        self.inner.static_tokens(text)
    }
    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        let encodings = self.embed_with_tokens(texts, purpose).await?;
        Ok(encodings.into_iter().map(|encoding| encoding.embedding).collect())
    }
    async fn embed_with_tokens(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<TextEncoding>> {
        let keys: Vec<_> = texts.iter().map(|text| (purpose, xxhash_rust::xxh3::xxh3_128(text.as_bytes()))).collect();
        let mut found: Vec<Option<TextEncoding>> = {
            let mut cache = self.cache.lock();
            keys.iter().map(|key| cache.get(key)).collect()
        };
        // The indexes of the distinct texts without a cached vector.
        let mut missing: Vec<usize> = Vec::new();
        for index in (0..texts.len()).filter(|index| found[*index].is_none()) {
            if !missing.iter().any(|other| keys[*other] == keys[index]) {
                missing.push(index);
            }
        }
        if !missing.is_empty() || texts.is_empty() {
            let new_texts: Vec<&str> = missing.iter().map(|index| texts[*index]).collect();
            let encodings = self.inner.embed_with_tokens(&new_texts, purpose).await?;
            // A wrong answer in the cache would be the answer to every retry.
            TextEncoding::check_batch(self.space(), new_texts.len(), &encodings)?;
            let mut cache = self.cache.lock();
            for (index, encoding) in missing.into_iter().zip(encodings) {
                let key = keys[index];
                cache.put(key, encoding.clone(), encoding.size_bytes() + size_of_val(&key));
                for other in (index..keys.len()).filter(|other| keys[*other] == key) {
                    found[other] = Some(encoding.clone());
                }
            }
        }
        let missing = || Error::new(ErrorKind::Internal, "embed", "a text has no vector");
        found.into_iter().map(|encoding| encoding.ok_or_else(missing)).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed assertion panics")]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::hash::HashEmbedder;

    /// Counts the embedded texts. With a `spoil`, it answers its first call with what that makes of the right vectors.
    #[derive(Debug, Default)]
    struct CountingEmbedder {
        inner: HashEmbedder,
        texts: AtomicUsize,
        spoil: Option<fn(Vec<Embedding>) -> Vec<Embedding>>,
    }

    #[async_trait]
    impl Embedder for CountingEmbedder {
        fn space(&self) -> &EmbeddingSpace {
            self.inner.space()
        }
        fn max_batch(&self) -> usize {
            self.inner.max_batch()
        }
        fn semantic_weight(&self) -> f64 {
            self.inner.semantic_weight()
        }
        fn score_floor(&self) -> f64 {
            self.inner.score_floor()
        }
        async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
            let is_first = self.texts.fetch_add(texts.len(), Ordering::Relaxed) == 0;
            let vectors = self.inner.embed(texts, purpose).await?;
            Ok(match self.spoil {
                Some(spoil) if is_first => spoil(vectors),
                _ => vectors,
            })
        }
    }

    #[test]
    fn r12_a_text_is_embedded_once_for_each_purpose_and_vectors_keep_their_places() {
        let counting = Arc::new(CountingEmbedder::default());
        let cached = CachedEmbedder::new(counting.clone(), 1 << 20);
        let embed = |texts: &[&str], purpose| futures::executor::block_on(cached.embed(texts, purpose)).unwrap();
        let embedded_texts = || counting.texts.load(Ordering::Relaxed);
        let first = embed(&["a", "b", "a", "a"], Purpose::Document);
        assert_eq!((embedded_texts(), &first[0], &first[0]), (2, &first[2], &first[3]));
        let second = embed(&["b", "c", "a"], Purpose::Document);
        assert_eq!((embedded_texts(), &second[0], &second[2]), (3, &first[1], &first[0]));
        let plain = futures::executor::block_on(counting.inner.embed(&["c"], Purpose::Document)).unwrap();
        assert_eq!(second[1], plain[0]);
        embed(&["a"], Purpose::Query);
        assert_eq!(embedded_texts(), 4, "another purpose is embedded separately");
        assert_eq!(embed(&[], Purpose::Query), []);
    }

    #[test]
    fn nothing_of_a_wrong_answer_is_cached() {
        let spoils: [fn(Vec<Embedding>) -> Vec<Embedding>; 4] = [
            |vectors| vectors.into_iter().skip(1).collect(),
            |vectors| vectors.iter().chain(&vectors).cloned().collect(),
            |_| Vec::new(),
            |vectors| vec![vectors[0].clone(), Embedding::new(vec![1.0; 4]).unwrap()],
        ];
        for spoil in spoils {
            let spoiled = CountingEmbedder { spoil: Some(spoil), ..CountingEmbedder::default() };
            let cached = CachedEmbedder::new(spoiled, 1 << 20);
            let embed = |texts: &[&str]| futures::executor::block_on(cached.embed(texts, Purpose::Document));
            assert_eq!(embed(&["one", "two"]).unwrap_err().kind(), ErrorKind::DimensionMismatch);
            let right = futures::executor::block_on(HashEmbedder::default().embed(&["one", "two"], Purpose::Document));
            assert_eq!(embed(&["one", "two"]).unwrap(), right.unwrap());
        }
    }

    #[test]
    fn the_cache_is_limited_and_errors_are_not_cached() {
        let counting = Arc::new(CountingEmbedder::default());
        let cached = CachedEmbedder::new(counting.clone(), 3000);
        let embed = |texts: &[&str]| futures::executor::block_on(cached.embed(texts, Purpose::Document));
        for n in 0..50 {
            embed(&[&format!("text {n}")]).unwrap();
        }
        embed(&["text 0"]).unwrap();
        assert_eq!(counting.texts.load(Ordering::Relaxed), 51);
        assert!(embed(&[""]).is_err());
        assert!(embed(&[""]).is_err());
    }
}
