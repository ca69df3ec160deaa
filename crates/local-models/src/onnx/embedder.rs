//! Embedding with an ONNX model.

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, Result};
use memory_engine_embedder::{Embedder, Purpose};

use super::{batch::Batch, handle::ModelHandle, loaded::LoadedModel, runtime::OnnxOutput};
use crate::{
    error::ModelError,
    matrix,
    pooling::{Pooling, join_windows},
    window::Windows,
};

/// Maximum number of sequences of one run.
const MAX_BATCH_SEQUENCES: usize = 32;

/// An embedder with an ONNX model. Vectors have length 1. A text longer than a window gets the mean of its windows'
/// vectors.
#[derive(Debug)]
pub struct OnnxEmbedder {
    handle: ModelHandle,
    space: EmbeddingSpace,
}

impl OnnxEmbedder {
    pub(super) async fn open(handle: ModelHandle) -> Result<Self> {
        let probe = handle.run(|model| embed(model, &["memory".to_owned()], "")).await?;
        let dimensions = probe.first().map_or(0, Vec::len);
        let space = EmbeddingSpace::cosine(handle.model.id.as_str(), dimensions);
        Ok(Self { handle, space })
    }
}

#[async_trait]
impl Embedder for OnnxEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        MAX_BATCH_SEQUENCES
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    fn score_floor(&self) -> f64 {
        // The cosine of unrelated texts depends on the model, and its files do not say it.
        0.0
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if texts.len() > MAX_BATCH_SEQUENCES {
            return Err(Error::invalid(
                "embed",
                format!("{} texts exceed the maximum batch size of {MAX_BATCH_SEQUENCES}", texts.len()),
            ));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid("embed", "a text is empty; remove it from the batch"));
        }
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let LoadedModel { options, prefixes, .. } = &*self.handle.model;
        let (configured, default) = match purpose {
            Purpose::Query => (&options.query_prefix, prefixes[0]),
            Purpose::Document => (&options.document_prefix, prefixes[1]),
        };
        let prefix = configured.clone().unwrap_or_else(|| default.to_owned());
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let vectors = self.handle.run(move |model| embed(model, &texts, &prefix)).await?;
        vectors.into_iter().map(Embedding::new).collect()
    }
}

fn embed(model: &LoadedModel, texts: &[String], prefix: &str) -> Result<Vec<Vec<f32>>, ModelError> {
    // The space after a prefix is a part of the first piece of the next word.
    let skip = model.tokenizer.encode(prefix.trim_end()).len();
    let windows_of = |text: &String| {
        let ids = model.tokenizer.encode(&format!("{prefix}{text}"));
        Windows::cut(&ids, skip, model.tokenizer.ends(), model.max_tokens).sequences
    };
    let windows: Vec<Vec<Vec<u32>>> = texts.iter().map(windows_of).collect();
    let sequences: Vec<(Vec<u32>, usize)> = windows.iter().flatten().map(|ids| (ids.clone(), ids.len())).collect();
    let mut pooled = Vec::with_capacity(sequences.len());
    for chunk in sequences.chunks(MAX_BATCH_SEQUENCES) {
        let batch = Batch::new(chunk);
        pooled.extend(pool(&model.runtime.run(&batch)?, &batch, model.pooling)?);
    }
    let mut pooled = pooled.into_iter();
    Ok(windows.iter().map(|windows| join_windows(pooled.by_ref().take(windows.len()))).collect())
}

/// Returns one vector of length one for each row.
fn pool(output: &OnnxOutput, batch: &Batch, pooling: Pooling) -> Result<Vec<Vec<f32>>, ModelError> {
    let not_vectors = || {
        ModelError::unsupported(format!(
            "the model is not an embedding model: its output has the shape {:?}",
            output.shape
        ))
    };
    let width = match output.shape[..] {
        [_, width] | [_, _, width] if width > 1 => width,
        _ => return Err(not_vectors()),
    };
    if output.shape.len() == 2 {
        // The model has pooled its tokens already.
        let rows = output.values.chunks_exact(width);
        return Ok(rows.map(|row| Pooling::First.pool(matrix::rows(row, width))).collect());
    }
    if output.shape[1] != batch.width {
        return Err(not_vectors());
    }
    let rows = output.values.chunks_exact(batch.width * width).enumerate();
    Ok(rows.map(|(row, tokens)| pooling.pool(matrix::rows(&tokens[..batch.length(row) * width], width))).collect())
}
