//! A cross-encoder: a model that reads question and candidate together.

use async_trait::async_trait;
use memory_engine_core::{Result, Score};
use memory_engine_reranker::Reranker;

use super::{Inner, OnnxModel, batch::Batch};
use crate::{ModelError, local::error, tokenizer::Tokenizer};

/// Pairs of one run: they are long.
const BATCH: usize = 16;

/// Judges by a cross-encoder: the logistic function of what the model says, 0 to 1. A pair that is longer than a window
/// loses the end of its candidate, and a question of more than half a window its own end.
#[derive(Debug)]
pub struct OnnxReranker(OnnxModel);

impl OnnxReranker {
    pub(super) async fn of(model: OnnxModel) -> Result<Self> {
        let reranker = Self(model);
        reranker.rerank("a", &["b"]).await?;
        Ok(reranker)
    }
}

#[async_trait]
impl Reranker for OnnxReranker {
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let (inner, question) = (self.0.0.clone(), question.to_owned());
        let candidates: Vec<String> = candidates.iter().map(|text| (*text).to_owned()).collect();
        let scores = self.0.0.worker.run(move || inner.judge(&question, &candidates)).await?;
        Ok(scores.map_err(error)?.into_iter().map(|score| Score::new(f64::from(score))).collect())
    }
}

impl Inner {
    fn judge(&self, question: &str, candidates: &[String]) -> Result<Vec<f32>, ModelError> {
        let question = self.tokenizer.encode(question);
        let pair = |text: &String| pair(&self.tokenizer, &question, &self.tokenizer.encode(text), self.max_tokens);
        let pairs: Vec<(Vec<u32>, usize)> = candidates.iter().map(pair).collect();
        let mut scores = Vec::with_capacity(pairs.len());
        for part in pairs.chunks(BATCH) {
            let output = self.runtime.run(&Batch::new(part))?;
            match output.shape[..] {
                [_] | [_, 1] => scores.extend(output.values),
                // Two classes: how much more likely the pair belongs together than not.
                [_, 2] => scores.extend(output.values.as_chunks().0.iter().map(|[no, yes]| yes - no)),
                _ => {
                    let message = format!("the model gives no score, but an output of the shape {:?}", output.shape);
                    return Err(ModelError::unsupported(message));
                }
            }
        }
        Ok(scores.into_iter().map(|score| 1.0 / (1.0 + (-score).exp())).collect())
    }
}

/// Question and candidate as one sequence, and where the candidate begins for a model that tells them apart.
fn pair(tokenizer: &Tokenizer, question: &[u32], text: &[u32], max_tokens: usize) -> (Vec<u32>, usize) {
    let (start, end) = tokenizer.ends();
    // XLM-R has two separators between the texts and one type of token; BERT one separator and two types.
    let between = match tokenizer {
        Tokenizer::Unigram(_) => &[end, end][..],
        Tokenizer::WordPiece(_) => &[end],
    };
    let room = max_tokens.saturating_sub(2 + between.len());
    let question = &question[..question.len().min(room / 2)];
    let text = &text[..text.len().min(room - question.len())];
    let ids = [&[start], question, between, text, &[end]].concat();
    let second = if between.len() == 1 { question.len() + 2 } else { ids.len() };
    (ids, second)
}
