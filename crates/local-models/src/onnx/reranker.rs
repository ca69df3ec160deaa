//! Reranking with a cross-encoder: a model that reads query and candidate together.

use async_trait::async_trait;
use memory_engine_core::{Result, Score};
use memory_engine_reranker::Reranker;

use super::{batch::Batch, handle::ModelHandle, loaded::LoadedModel};
use crate::{error::ModelError, tokenizer::Tokenizer};

/// Maximum number of pairs of one run. Pairs are long.
const MAX_BATCH_PAIRS: usize = 16;

/// Scores pairs with a cross-encoder: the logistic function of the model's output, 0 to 1. A pair longer than a window
/// is truncated at the end of the candidate. A query is truncated to half a window.
#[derive(Debug)]
pub struct OnnxReranker(ModelHandle);

impl OnnxReranker {
    pub(super) async fn open(handle: ModelHandle) -> Result<Self> {
        let reranker = Self(handle);
        reranker.rerank("a", &["b"]).await?;
        Ok(reranker)
    }
}

#[async_trait]
impl Reranker for OnnxReranker {
    async fn rerank(&self, query: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let query = query.to_owned();
        let candidates: Vec<String> = candidates.iter().map(|text| (*text).to_owned()).collect();
        let scores = self.0.run(move |model| score_pairs(model, &query, &candidates)).await?;
        Ok(scores.into_iter().map(|score| Score::new(f64::from(score))).collect())
    }
}

fn score_pairs(model: &LoadedModel, query: &str, candidates: &[String]) -> Result<Vec<f32>, ModelError> {
    let query = model.tokenizer.encode(query);
    let pair = |text: &String| encode_pair(&model.tokenizer, &query, &model.tokenizer.encode(text), model.max_tokens);
    let pairs: Vec<(Vec<u32>, usize)> = candidates.iter().map(pair).collect();
    let mut scores = Vec::with_capacity(pairs.len());
    for chunk in pairs.chunks(MAX_BATCH_PAIRS) {
        let output = model.runtime.run(&Batch::new(chunk))?;
        match output.shape[..] {
            [_] | [_, 1] => scores.extend(output.values),
            // Two classes: the difference of the logits of "relevant" and "not relevant".
            [_, 2] => scores.extend(output.values.as_chunks().0.iter().map(|[no, yes]| yes - no)),
            _ => {
                let message = format!("the model is not a cross-encoder: its output has the shape {:?}", output.shape);
                return Err(ModelError::unsupported(message));
            }
        }
    }
    Ok(scores.into_iter().map(|score| 1.0 / (1.0 + (-score).exp())).collect())
}

/// Encodes query and candidate as one sequence. Returns it with the index of the candidate, or with its length if the
/// model does not distinguish the two texts.
fn encode_pair(tokenizer: &Tokenizer, query: &[u32], text: &[u32], max_tokens: usize) -> (Vec<u32>, usize) {
    let (start, end) = tokenizer.ends();
    // XLM-R has two separators between the texts and one type of token; BERT one separator and two types.
    let separator = match tokenizer {
        Tokenizer::Unigram(_) => &[end, end][..],
        Tokenizer::WordPiece(_) => &[end],
    };
    let room = max_tokens.saturating_sub(2 + separator.len());
    let query = &query[..query.len().min(room / 2)];
    let text = &text[..text.len().min(room - query.len())];
    let ids = [&[start], query, separator, text, &[end]].concat();
    let second = if separator.len() == 1 { query.len() + 2 } else { ids.len() };
    (ids, second)
}
