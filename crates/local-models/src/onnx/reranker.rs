//! Reranking with a cross-encoder: a model that reads query and candidate together.

use async_trait::async_trait;
use memory_engine_core::{Result, Score};
use memory_engine_reranker::Reranker;

use super::{batch::Batch, handle::ModelHandle, loaded::LoadedModel};
use crate::{error::ModelError, tokenizer::Tokenizer};

/// Maximum number of pairs of one run. Pairs are long.
const BATCH: usize = 16;

/// Scores pairs with a cross-encoder: the logistic function of the model's output, 0 to 1. A pair longer than a window
/// is cut at the end of the candidate, and a query of more than half a window at its own end.
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
    async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let question = question.to_owned();
        let candidates: Vec<String> = candidates.iter().map(|text| (*text).to_owned()).collect();
        let scores = self.0.run(move |model| score_pairs(model, &question, &candidates)).await?;
        Ok(scores.into_iter().map(|score| Score::new(f64::from(score))).collect())
    }
}

fn score_pairs(model: &LoadedModel, question: &str, candidates: &[String]) -> Result<Vec<f32>, ModelError> {
    let question = model.tokenizer.encode(question);
    let pair = |text: &String| pair(&model.tokenizer, &question, &model.tokenizer.encode(text), model.max_tokens);
    let pairs: Vec<(Vec<u32>, usize)> = candidates.iter().map(pair).collect();
    let mut scores = Vec::with_capacity(pairs.len());
    for part in pairs.chunks(BATCH) {
        let output = model.runtime.run(&Batch::new(part))?;
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
