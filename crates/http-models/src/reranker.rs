//! Rerankers behind an HTTP API.

mod dialect;

use async_trait::async_trait;
use memory_engine_core::{Error, ErrorKind, Result, Score};
use memory_engine_reranker::Reranker;
use reqwest::Method;

pub use dialect::Dialect;

use crate::{Endpoint, HttpClient, client::Call};

const OPERATION: &str = "rerank";

/// A reranking model and what it needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RerankOptions {
    /// How requests and answers look.
    pub dialect: Dialect,
    /// The model's name, as the service knows it; TEI serves one model and takes no name.
    pub model: String,
    /// How many candidates go into one request. 32 for TEI, else 1000.
    pub max_batch: usize,
    /// What the model is to look for, where it takes an instruction (Qwen3 on SiliconFlow).
    pub instruction: Option<String>,
}

impl RerankOptions {
    /// A model by its name.
    pub fn new(dialect: Dialect, model: impl Into<String>) -> Self {
        let max_batch = if dialect == Dialect::Tei { 32 } else { 1000 };
        Self { dialect, model: model.into(), max_batch, instruction: None }
    }

    /// Sets how many candidates go into one request.
    #[must_use]
    pub fn with_max_batch(mut self, candidates: usize) -> Self {
        self.max_batch = candidates;
        self
    }

    /// Sets what the model is to look for.
    #[must_use]
    pub fn with_instruction(mut self, instruction: impl Into<String>) -> Self {
        self.instruction = Some(instruction.into());
        self
    }
}

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
        if (options.model.is_empty() && options.dialect != Dialect::Tei) || options.max_batch == 0 {
            return Err(Error::invalid(OPERATION, "a model's name and at least one candidate in a request are needed"));
        }
        Ok(Self { client, endpoint, options })
    }

    async fn judge(&self, question: &str, candidates: &[&str]) -> Result<Vec<f64>> {
        let body = self.options.dialect.request(&self.options, question, candidates);
        let call = Call::new(OPERATION, Method::POST, &self.endpoint, &["rerank"]).with_json(&body)?;
        let answer: dialect::Answer = self.client.json(call).await?;
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
