//! Vectors by an ONNX model.

use async_trait::async_trait;
use memory_engine_core::{Embedding, EmbeddingSpace, Error, Result};
use memory_engine_embedder::{Embedder, Purpose};

use super::{Inner, OnnxModel, batch::Batch, runtime::Output};
use crate::{ModelError, late::scale_to_unit, local::error, model::Pooling, window::Windows};

const BATCH: usize = 32;

/// Vectors of length one by an ONNX model. A text longer than a window gets the mean of its windows' vectors.
#[derive(Debug)]
pub struct OnnxEmbedder {
    model: OnnxModel,
    space: EmbeddingSpace,
}

impl OnnxEmbedder {
    pub(super) async fn of(model: OnnxModel) -> Result<Self> {
        let mut probe = vectors(&model, vec!["memory".to_owned()], String::new()).await?;
        let dimensions = probe.pop().map_or(0, |vector| vector.len());
        let space = EmbeddingSpace::cosine(model.0.id.as_str(), dimensions);
        Ok(Self { model, space })
    }
}

#[async_trait]
impl Embedder for OnnxEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn max_batch(&self) -> usize {
        BATCH
    }

    fn semantic_weight(&self) -> f64 {
        1.0
    }

    fn score_floor(&self) -> f64 {
        self.model.0.options.score_floor.unwrap_or(0.0)
    }

    async fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedding>> {
        if texts.len() > BATCH {
            return Err(Error::invalid("embed", format!("{} texts; a batch holds {BATCH}", texts.len())));
        }
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(Error::invalid("embed", "a text is empty; leave it out"));
        }
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let Inner { options, prefixes, .. } = &*self.model.0;
        let (named, own) = match purpose {
            Purpose::Query => (&options.query_prefix, prefixes[0]),
            Purpose::Document => (&options.document_prefix, prefixes[1]),
        };
        let prefix = named.clone().unwrap_or_else(|| own.to_owned());
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        vectors(&self.model, texts, prefix).await?.into_iter().map(Embedding::new).collect()
    }
}

async fn vectors(model: &OnnxModel, texts: Vec<String>, prefix: String) -> Result<Vec<Vec<f32>>> {
    let inner = model.0.clone();
    model.0.worker.run(move || inner.vectors(&texts, &prefix)).await?.map_err(error)
}

impl Inner {
    fn vectors(&self, texts: &[String], prefix: &str) -> Result<Vec<Vec<f32>>, ModelError> {
        // The space after a prefix belongs to the next word's first piece.
        let skip = self.tokenizer.encode(prefix.trim_end()).len();
        let cut = |text: &String| {
            let ids = self.tokenizer.encode(&format!("{prefix}{text}"));
            Windows::cut(&ids, skip, self.tokenizer.ends(), self.max_tokens).sequences
        };
        let windows: Vec<Vec<Vec<u32>>> = texts.iter().map(cut).collect();
        let all: Vec<(Vec<u32>, usize)> = windows.iter().flatten().map(|ids| (ids.clone(), ids.len())).collect();
        let mut pooled = Vec::with_capacity(all.len());
        for part in all.chunks(BATCH) {
            let batch = Batch::new(part);
            pooled.extend(pool(&self.runtime.run(&batch)?, &batch, self.pooling)?);
        }
        let mut pooled = pooled.into_iter();
        let join = |windows: &Vec<Vec<u32>>| {
            let mut joined = pooled.next().unwrap_or_default();
            for window in pooled.by_ref().take(windows.len() - 1) {
                joined.iter_mut().zip(window).for_each(|(sum, value)| *sum += value);
            }
            scale_to_unit(&mut joined);
            joined
        };
        Ok(windows.iter().map(join).collect())
    }
}

/// One vector of length one for each row.
fn pool(output: &Output, batch: &Batch, pooling: Pooling) -> Result<Vec<Vec<f32>>, ModelError> {
    let row = |row: usize, width: usize| match output.shape.len() {
        // Pooled by the model itself.
        2 => output.values[row * width..(row + 1) * width].to_vec(),
        _ => {
            let tokens = &output.values[row * batch.width * width..][..batch.length(row) * width];
            let mut vector = tokens[..width].to_vec();
            if pooling == Pooling::Mean {
                for token in tokens[width..].chunks_exact(width) {
                    vector.iter_mut().zip(token).for_each(|(sum, value)| *sum += value);
                }
            }
            vector
        }
    };
    let width = match output.shape[..] {
        [_, width] | [_, _, width] if width > 1 => width,
        _ => return Err(not_vectors(output)),
    };
    if output.shape.len() == 3 && output.shape[1] != batch.width {
        return Err(not_vectors(output));
    }
    let mut vectors: Vec<Vec<f32>> = (0..batch.rows).map(|n| row(n, width)).collect();
    vectors.iter_mut().for_each(|vector| scale_to_unit(vector));
    Ok(vectors)
}

fn not_vectors(output: &Output) -> ModelError {
    ModelError::unsupported(format!("the model gives no vectors, but an output of the shape {:?}", output.shape))
}
