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

/// A cross-encoder behind one of the rerank APIs. Its scores lie between 0 and 1: where a service gives raw ones, the
/// logistic function brings them there.
#[derive(Debug)]
pub struct HttpReranker {
    client: HttpClient,
    endpoint: Endpoint,
    options: RerankOptions,
}

impl HttpReranker {
    /// A model at an endpoint; requests go to the path `rerank` below it. Nothing is sent yet.
    ///
    /// # Errors
    /// `InvalidInput` when the model has no name and needs one, or a request may hold no candidate.
    pub fn new(client: HttpClient, endpoint: Endpoint, options: RerankOptions) -> Result<Self> {
        if (options.model.is_empty() && options.dialect != RerankApi::Tei) || options.max_batch == 0 {
            return Err(Error::invalid(OPERATION, "a model's name and at least one candidate in a request are needed"));
        }
        Ok(Self { client, endpoint, options })
    }

    async fn judge(&self, question: &str, candidates: &[&str]) -> Result<Vec<f64>> {
        let body = self.options.dialect.request(&self.options, question, candidates);
        let call = Call::new(OPERATION, Method::POST, &self.endpoint, &["rerank"]).with_json(&body)?;
        let answer: wire::RerankResponse = self.client.json(call).await?;
        let rows = answer.rows();
        let corrupt = |message: String| Error::new(ErrorKind::Corrupt, OPERATION, message);
        if rows.len() != candidates.len() {
            return Err(corrupt(format!("{} scores came for {} candidates", rows.len(), candidates.len())));
        }
        let mut scores = vec![None; candidates.len()];
        for row in rows {
            match scores.get_mut(row.index) {
                Some(place @ None) if row.score.is_finite() => *place = Some(row.score),
                Some(None) => return Err(corrupt("a score is not finite".into())),
                Some(Some(_)) => return Err(corrupt("two scores came for one candidate".into())),
                None => return Err(corrupt("a score came for a candidate that was not sent".into())),
            }
        }
        Ok(scores.into_iter().flatten().collect())
    }
}

#[async_trait]
impl Reranker for HttpReranker {
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        if question.trim().is_empty() {
            return Err(Error::invalid(OPERATION, "the question is empty"));
        }
        // Services refuse empty texts; such a candidate answers nothing.
        let told: Vec<usize> = (0..candidates.len()).filter(|i| !candidates[*i].trim().is_empty()).collect();
        let mut judged = Vec::with_capacity(told.len());
        for part in told.chunks(self.options.max_batch) {
            let texts: Vec<&str> = part.iter().map(|i| candidates[*i]).collect();
            judged.extend(self.judge(question, &texts).await?);
        }
        if judged.iter().any(|score| !(0.0..=1.0).contains(score)) {
            judged.iter_mut().for_each(|score| *score = 1.0 / (1.0 + (-*score).exp()));
        }
        let mut scores = vec![Score::new(0.0); candidates.len()];
        for (i, score) in told.into_iter().zip(judged) {
            scores[i] = Score::new(score);
        }
        Ok(scores)
    }
}
