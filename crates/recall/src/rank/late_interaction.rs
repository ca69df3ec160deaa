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
    /// The weighted mean of the token vectors of each candidate.
    pub(super) means: Vec<Option<Vec<f32>>>,
}

impl TokenSimilarities {
    /// Returns true if no candidate has token vectors that were compared.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.iter().all(Option::is_none)
    }
}

impl RecallRun<'_> {
    /// Compares the query, and each of its sentences, with the candidates. The result is empty without token vectors, and
    /// on a failure.
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
        let backend = &self.plan.backend;
        let texts = std::iter::once(&self.plan.query.text).chain(sentences).cloned().collect();
        let encodings = backend.embed_with_tokens(texts, Purpose::Query).await?;
        let mut queries = encodings.into_iter().map(|encoding| encoding.tokens);
        let Some(query) = queries.next().flatten() else { return Ok(TokenSimilarities::default()) };
        let ids: Vec<_> = candidates.iter().map(|(candidate, _)| candidate.id).collect();
        let texts = self.scope.token_vectors(backend.vectors.as_ref(), &ids).await?;
        let idf = TokenIdf::of_texts(texts.iter().flatten(), IDF_MIN_CANDIDATES);
        let compare = |query: &MultiVector| texts.iter().map(|text| max_sim(query, text.as_ref()?, &idf)).collect();
        Ok(TokenSimilarities {
            whole: compare(&query),
            sentences: queries.flatten().map(|sentence| compare(&sentence)).collect(),
            means: texts.iter().map(|text| text.as_ref().map(MultiVector::weighted_mean)).collect(),
        })
    }
}
