//! An embedder that is told the vectors of its texts, so that no model takes part in what is measured.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use memory_engine::{
    Error, ErrorKind, Result,
    embed::{Embedder, Embedding, EmbeddingSpace, Purpose},
};

/// Gives the vectors of the texts that it was told.
#[derive(Debug)]
pub struct GivenEmbedder {
    space: EmbeddingSpace,
    known: Mutex<BTreeMap<String, Embedding>>,
}

impl GivenEmbedder {
    /// One that knows no text yet.
    pub fn new(dimensions: usize) -> Arc<Self> {
        Arc::new(Self { space: EmbeddingSpace::cosine("given", dimensions), known: Mutex::default() })
    }

    /// Tells it the vector of a text.
    ///
    /// # Errors
    /// `InvalidInput` for what is no vector.
    pub fn learn(&self, text: &str, vector: Vec<f32>) -> Result<()> {
        let embedding = Embedding::new(vector)?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned(), embedding);
        Ok(())
    }
}

#[async_trait]
impl Embedder for GivenEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        1000
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    /// None is left out for being far: the others leave out none, either.
    fn score_floor(&self) -> f64 {
        -2.0
    }

    async fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Embedding>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Error::new(ErrorKind::NotFound, "embed", "a text that has no vector in the data");
        texts.iter().map(|text| known.get(*text).cloned().ok_or_else(unknown)).collect()
    }
}
