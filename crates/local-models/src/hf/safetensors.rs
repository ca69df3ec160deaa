//! Reads tensors from a safetensors file.
//!
//! The crate `safetensors` parses and validates the header. Tensors are read one by one, because the crate's own reader
//! needs the whole file in memory.

use std::{fs::File, path::Path};

use safetensors::{Dtype, tensor::Metadata};

use crate::{
    encoder::TensorSource,
    error::ModelError,
    source::CheckedReader,
    weights::{StoredTensor, f16_to_f32},
};

/// Maximum header size that the format allows, in bytes.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The tensor used to detect the prefix of tensor names.
const WORD_EMBEDDINGS: &str = "embeddings.word_embeddings.weight";

/// An open file with the tensors of a BERT model.
pub(super) struct SafetensorsFile {
    source: CheckedReader<File>,
    header: Metadata,
    /// Position of the first tensor.
    data_start: u64,
    /// `"bert."` or similar if the encoder is part of a larger model.
    prefix: &'static str,
}

impl SafetensorsFile {
    pub(super) fn open(path: &Path) -> Result<Self, ModelError> {
        let mut source = CheckedReader::new(File::open(path)?)?;
        let length = source.u64()?;
        if length > MAX_HEADER_BYTES {
            return Err(ModelError::corrupt(format!(
                "the header has {length} bytes; at most {MAX_HEADER_BYTES} are allowed"
            )));
        }
        let header = source.bytes(length, "the header")?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|error| ModelError::corrupt(format!("the header is invalid: {error}")))?;
        let data_start = source.position();
        if header.data_len() as u64 > source.length() - data_start {
            return Err(ModelError::corrupt("the tensors exceed the end of the file"));
        }
        let prefix = ["", "bert.", "roberta.", "model."]
            .into_iter()
            .find(|prefix| header.info(&format!("{prefix}{WORD_EMBEDDINGS}")).is_some())
            .ok_or_else(|| {
                ModelError::unsupported(format!(
                    "the tensor {WORD_EMBEDDINGS} is missing; the file is not a BERT encoder"
                ))
            })?;
        Ok(Self { source, header, data_start, prefix })
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let name = format!("{}{}", self.prefix, hub_name(name));
        let tensor = self.header.info(&name).ok_or_else(|| ModelError::corrupt(format!("tensor {name} is missing")))?;
        // The encoder reads its small tables as vectors.
        let is_flattened = shape.len() == 1 && tensor.shape.len() == 2 && tensor.shape[0] * tensor.shape[1] == shape[0];
        if tensor.shape != shape && !is_flattened {
            let message = format!("tensor {name} has the shape {:?}; expected {shape:?}", tensor.shape);
            return Err(ModelError::corrupt(message));
        }
        let dtype = tensor.dtype;
        let (begin, end) = tensor.data_offsets;
        self.source.seek(self.data_start + begin as u64)?;
        let bytes = self.source.bytes((end - begin) as u64, &name)?;
        let halves = || bytes.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes));
        let values: Vec<f32> = if dtype == Dtype::F32 {
            bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
        } else if dtype == Dtype::F16 {
            halves().map(f16_to_f32).collect()
        } else if dtype == Dtype::BF16 {
            halves().map(|bits| f32::from_bits(u32::from(bits) << 16)).collect()
        } else {
            return Err(ModelError::unsupported(format!(
                "tensor {name} has the unsupported type {dtype:?}; expected F32, F16 or BF16"
            )));
        };
        if values.iter().any(|value| !value.is_finite()) {
            return Err(ModelError::corrupt(format!("tensor {name} has values that are not finite")));
        }
        Ok(values)
    }
}

impl TensorSource for SafetensorsFile {
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<StoredTensor, ModelError> {
        self.read(name, &[rows, columns]).map(StoredTensor::Full)
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, ModelError> {
        self.read(name, &[length])
    }
}

/// Converts an E5S1 tensor name, such as `l0.q.w`, to the one of Hugging Face.
fn hub_name(name: &str) -> String {
    let (body, kind) = name.rsplit_once('.').unwrap_or((name, ""));
    let kind = if kind == "b" { "bias" } else { "weight" };
    let plain = match name {
        "emb.word" => Some("word_embeddings"),
        "emb.pos" => Some("position_embeddings"),
        "emb.type" => Some("token_type_embeddings"),
        _ => None,
    };
    if let Some(plain) = plain {
        return format!("embeddings.{plain}.weight");
    }
    let Some((layer, part)) = body.split_once('.').filter(|_| body != "emb.ln") else {
        return format!("embeddings.LayerNorm.{kind}");
    };
    let part = match part {
        "q" => "attention.self.query",
        "k" => "attention.self.key",
        "v" => "attention.self.value",
        "ao" => "attention.output.dense",
        "aln" => "attention.output.LayerNorm",
        "fi" => "intermediate.dense",
        "fo" => "output.dense",
        _ => "output.LayerNorm",
    };
    format!("encoder.layer.{}.{part}.{kind}", layer.trim_start_matches('l'))
}

#[cfg(test)]
mod tests {
    use super::hub_name;

    #[test]
    fn tensor_names_are_converted() {
        assert_eq!(hub_name("emb.word"), "embeddings.word_embeddings.weight");
        assert_eq!(hub_name("emb.ln.b"), "embeddings.LayerNorm.bias");
        assert_eq!(hub_name("l11.q.w"), "encoder.layer.11.attention.self.query.weight");
        assert_eq!(hub_name("l0.oln.b"), "encoder.layer.0.output.LayerNorm.bias");
    }
}
