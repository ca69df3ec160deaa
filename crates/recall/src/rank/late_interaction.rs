//! Token-by-token similarity of the query and the candidates (late interaction), for embedders with token vectors.

use memory_engine_core::{MultiVector, Record, Result};
use memory_engine_embedder::Purpose;
use memory_engine_vector_store::{MaxSim, TokenIdf, max_sim};
use tokio::time::Instant;

use super::query_terms::IDF_MIN_CANDIDATES;
use crate::{candidate::Candidate, run::RecallRun, trace::Stage};

/// The similarities of the candidates, in their order. Both lists are empty if there are no token vectors.
#[derive(Debug, Default)]
pub(super) struct Similarities {
    /// To the whole query. `None` for a candidate that cannot be compared with it.
    pub(super) whole: Vec<Option<MaxSim>>,
    /// To each sentence of the query, if it has several. Sentences without tokens are left out.
    pub(super) sentences: Vec<Vec<Option<MaxSim>>>,
}

/// The similarities of the candidates by each kind of token vectors. All are empty if the comparison failed.
#[derive(Debug, Default)]
pub(super) struct TokenSimilarities {
    /// By the embedder's token vectors; by its table of words, if it has no others.
    pub(super) tokens: Similarities,
    /// By the embedder's table of words, if `tokens` are not.
    pub(super) words: Similarities,
    /// Weighted mean of the token vectors of each candidate, for near-duplicate detection. Empty for static token
    /// vectors: the similarity thresholds are calibrated for vectors of a model.
    pub(super) means: Vec<Option<Vec<f32>>>,
    /// True if `tokens` come from a fixed table and do not depend on context.
    pub(super) are_static: bool,
}

impl TokenSimilarities {
    /// Returns true if no candidate has token vectors that were compared.
    pub(super) fn is_empty(&self) -> bool {
        self.tokens.whole.iter().all(Option::is_none)
    }

    /// Returns false for a candidate that the table of word vectors cannot compare with the query, because it is in
    /// another language. Its vector is then no better.
    pub(super) fn is_comparable(&self, candidate: usize) -> bool {
        !self.are_static || self.is_empty() || self.tokens.whole[candidate].is_some()
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
        let started = Instant::now();
        // The table needs no run of a model, so that it still counts when the model fails.
        let words = self.compare_words(candidates, sentences);
        let outcome = self.trace.limit(Stage::Tokens, self.compare_tokens(candidates, sentences)).await;
        let found: TokenSimilarities = self.trace.finish(Stage::Tokens, started, outcome);
        if found.are_static {
            TokenSimilarities { tokens: words, ..found }
        } else {
            TokenSimilarities { words, ..found }
        }
    }

    /// Compares by the token vectors of the model. Only `are_static` is set if the embedder is a table.
    async fn compare_tokens(
        &self,
        candidates: &[(Candidate, Record)],
        sentences: &[String],
    ) -> Result<TokenSimilarities> {
        if !self.plan.has_semantics() {
            return Ok(TokenSimilarities::default());
        }
        let backend = &self.plan.backend;
        let texts = std::iter::once(&self.plan.query.text).chain(sentences).cloned().collect();
        let encodings = backend.embed_with_tokens(texts, Purpose::Query).await?;
        let mut queries = encodings.into_iter().map(|encoding| encoding.tokens);
        let Some(query) = queries.next().flatten() else {
            return Ok(TokenSimilarities { are_static: true, ..TokenSimilarities::default() });
        };
        let ids: Vec<_> = candidates.iter().map(|(candidate, _)| candidate.id).collect();
        let texts = self.token_vectors(&ids).await?;
        let means = texts.iter().map(|text| text.as_ref().map(MultiVector::weighted_mean)).collect();
        let tokens = compare(&query, queries.flatten(), &texts);
        Ok(TokenSimilarities { tokens, means, ..TokenSimilarities::default() })
    }

    /// Compares by the vectors of the embedder's table.
    fn compare_words(&self, candidates: &[(Candidate, Record)], sentences: &[String]) -> Similarities {
        let embedder = &self.plan.backend.embedder;
        let Some(query) = embedder.static_tokens(&self.plan.query.text) else { return Similarities::default() };
        let texts: Vec<_> = candidates.iter().map(|(_, record)| embedder.static_tokens(&record.text)).collect();
        compare(&query, sentences.iter().filter_map(|sentence| embedder.static_tokens(sentence)), &texts)
    }
}

/// Compares a query and its sentences with each text.
fn compare(
    query: &MultiVector,
    sentences: impl Iterator<Item = MultiVector>,
    texts: &[Option<MultiVector>],
) -> Similarities {
    let idf = TokenIdf::of_texts(texts.iter().flatten(), IDF_MIN_CANDIDATES);
    let to_texts = |query: &MultiVector| texts.iter().map(|text| max_sim(query, text.as_ref()?, &idf)).collect();
    Similarities { whole: to_texts(query), sentences: sentences.map(|sentence| to_texts(&sentence)).collect() }
}
