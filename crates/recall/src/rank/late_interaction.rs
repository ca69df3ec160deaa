//! Token-by-token similarity of the query and the candidates (late interaction), for embedders with token vectors.

use memory_engine_core::{MultiVector, Record, Result};
use memory_engine_embedder::Purpose;
use memory_engine_vector_store::{MaxSim, TokenIdf, max_sim};
use tokio::time::Instant;

use super::query_terms::IDF_MIN_CANDIDATES;
use crate::{candidate::Candidate, run::RecallRun, trace::Stage};

/// The similarities of the candidates, in their order. All lists are empty if the embedder has no token vectors, or the
/// comparison failed.
#[derive(Debug, Default)]
pub(super) struct TokenSimilarities {
    /// To the whole query. `None` for a candidate without token vectors.
    pub(super) whole: Vec<Option<MaxSim>>,
    /// To each sentence of the query, if it has several. Sentences without tokens are left out.
    pub(super) sentences: Vec<Vec<Option<MaxSim>>>,
    /// Weighted mean of the token vectors of each candidate, for near-duplicate detection. Empty for static token
    /// vectors: the similarity thresholds are calibrated for vectors of a model.
    pub(super) means: Vec<Option<Vec<f32>>>,
    /// True if the vectors come from a fixed table and do not depend on context.
    pub(super) are_static: bool,
}

impl TokenSimilarities {
    /// Returns true if no candidate has token vectors that were compared.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.iter().all(Option::is_none)
    }

    /// Returns false for a candidate that the table of word vectors cannot compare with the query, because it is in
    /// another language. Its vector is then no better.
    pub(super) fn is_comparable(&self, candidate: usize) -> bool {
        !self.are_static || self.is_empty() || self.whole[candidate].is_some()
    }
}

impl RecallRun<'_> {
    /// Compares the query, and each of its sentences, with the candidates. The result is empty without token vectors,
    /// and on a failure.
    pub(super) async fn token_similarities(
        &mut self,
        candidates: &[(Candidate, Record)],
        sentences: &[String],
    ) -> TokenSimilarities {
        if !self.plan.has_semantics() {
            return TokenSimilarities::default();
        }
        let started = Instant::now();
        let outcome = self.trace.limit(Stage::Tokens, self.compare_tokens(candidates, sentences)).await;
        self.trace.finish(Stage::Tokens, started, outcome)
    }

    async fn compare_tokens(
        &self,
        candidates: &[(Candidate, Record)],
        sentences: &[String],
    ) -> Result<TokenSimilarities> {
        if let Some(query) = self.plan.backend.embedder.static_tokens(&self.plan.query.text) {
            return Ok(self.compare_static_tokens(&query, candidates, sentences));
        }
        let backend = &self.plan.backend;
        let texts = std::iter::once(&self.plan.query.text).chain(sentences).cloned().collect();
        let encodings = backend.embed_with_tokens(texts, Purpose::Query).await?;
        let mut queries = encodings.into_iter().map(|encoding| encoding.tokens);
        let Some(query) = queries.next().flatten() else { return Ok(TokenSimilarities::default()) };
        let ids: Vec<_> = candidates.iter().map(|(candidate, _)| candidate.id).collect();
        let texts = self.token_vectors(&ids).await?;
        Ok(TokenSimilarities {
            means: texts.iter().map(|text| text.as_ref().map(MultiVector::weighted_mean)).collect(),
            ..compare(&query, queries.flatten(), &texts)
        })
    }

    /// As [`Self::compare_tokens`], with the vectors of the embedder's table.
    fn compare_static_tokens(
        &self,
        query: &MultiVector,
        candidates: &[(Candidate, Record)],
        sentences: &[String],
    ) -> TokenSimilarities {
        let embedder = &self.plan.backend.embedder;
        let texts: Vec<_> = candidates.iter().map(|(_, record)| embedder.static_tokens(&record.text)).collect();
        let sentences = sentences.iter().filter_map(|sentence| embedder.static_tokens(sentence));
        TokenSimilarities { are_static: true, ..compare(query, sentences, &texts) }
    }
}

/// Compares a query and its sentences with each text.
fn compare(
    query: &MultiVector,
    sentences: impl Iterator<Item = MultiVector>,
    texts: &[Option<MultiVector>],
) -> TokenSimilarities {
    let idf = TokenIdf::of_texts(texts.iter().flatten(), IDF_MIN_CANDIDATES);
    let to_texts = |query: &MultiVector| texts.iter().map(|text| max_sim(query, text.as_ref()?, &idf)).collect();
    TokenSimilarities {
        whole: to_texts(query),
        sentences: sentences.map(|sentence| to_texts(&sentence)).collect(),
        ..TokenSimilarities::default()
    }
}
