//! Rerankers behind an HTTP API.

pub(crate) mod options;
mod wire;

use async_trait::async_trait;
use memory_engine_core::{Error, ErrorKind, Result, Score};
use memory_engine_reranker::Reranker;
use reqwest::Method;

pub use options::{RerankApi, RerankOptions};

use crate::{
    client::{Call, HttpClient},
    endpoint::Endpoint,
};
use options::OPERATION;

/// A cross-encoder behind one of the rerank APIs. Its scores are between 0 and 1. If a service returns raw scores
/// (logits), the logistic function is applied.
#[derive(Debug)]
pub struct HttpReranker {
    client: HttpClient,
    endpoint: Endpoint,
    options: RerankOptions,
}

impl HttpReranker {
    /// Creates a client for a model at an endpoint. Requests go to the path `rerank` below it. Sends nothing.
    ///
    /// # Errors
    /// `InvalidInput` if the name of the model is empty (except for TEI), or `max_batch` is 0.
    pub fn new(client: HttpClient, endpoint: Endpoint, options: RerankOptions) -> Result<Self> {
        if (options.model.is_empty() && options.api != RerankApi::Tei) || options.max_batch == 0 {
            return Err(Error::invalid(OPERATION, "the name of the model is empty or max_batch is 0; set both"));
        }
        Ok(Self { client, endpoint, options })
    }

    async fn score(&self, query: &str, candidates: &[&str]) -> Result<Vec<f64>> {
        let body = self.options.api.request(&self.options, query, candidates);
        let call = Call::new(OPERATION, Method::POST, &self.endpoint, &["rerank"]).with_json(&body)?;
        let response: wire::RerankResponse = self.client.json(call).await?;
        let rows = response.rows();
        let corrupt = |message: String| Error::new(ErrorKind::Corrupt, OPERATION, message);
        if rows.len() != candidates.len() {
            return Err(corrupt(format!(
                "the service returned {} scores for {} candidates",
                rows.len(),
                candidates.len()
            )));
        }
        let mut scores = vec![None; candidates.len()];
        for row in rows {
            match scores.get_mut(row.index) {
                Some(slot @ None) if row.score.is_finite() => *slot = Some(row.score),
                Some(None) => return Err(corrupt("a score is not finite".into())),
                Some(Some(_)) => return Err(corrupt("the service returned two scores for one candidate".into())),
                None => return Err(corrupt("the service returned a score for a candidate that was not sent".into())),
            }
        }
        Ok(scores.into_iter().flatten().collect())
    }
}

#[async_trait]
impl Reranker for HttpReranker {
    async fn rerank(&self, query: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        if query.trim().is_empty() {
            return Err(Error::invalid(OPERATION, "the query is empty"));
        }
        // Services reject empty texts. Empty candidates get a score of 0.
        let non_empty: Vec<usize> = (0..candidates.len()).filter(|i| !candidates[*i].trim().is_empty()).collect();
        let mut raw_scores = Vec::with_capacity(non_empty.len());
        for batch in non_empty.chunks(self.options.max_batch) {
            let texts: Vec<&str> = batch.iter().map(|i| candidates[*i]).collect();
            raw_scores.extend(self.score(query, &texts).await?);
        }
        if raw_scores.iter().any(|score| !(0.0..=1.0).contains(score)) {
            raw_scores.iter_mut().for_each(|score| *score = 1.0 / (1.0 + (-*score).exp()));
        }
        let mut scores = vec![Score::new(0.0); candidates.len()];
        for (i, score) in non_empty.into_iter().zip(raw_scores) {
            scores[i] = Score::new(score);
        }
        Ok(scores)
    }
}
