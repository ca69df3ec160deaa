//! The safetensors format: u64 length of a JSON header, the header, then the data.
//!
//! The header maps names to `{"dtype", "shape", "data_offsets": [begin, end]}`, with offsets from
//! the end of the header. All of it is input from outside: each entry is checked when it is used.

use std::fs::File;
use std::path::Path;

use serde_json::{Map, Value};

use crate::encoder::TensorSource;
use crate::error::ModelError;
use crate::source::Source;
use crate::weights::{Stored, f16_to_f32};

/// What the format itself allows.
const MAX_HEADER: u64 = 100_000_000;

/// An open file whose tensors go by Hugging Face's names for BERT.
pub(super) struct Safetensors {
    source: Source<File>,
    header: Map<String, Value>,
    data: u64,
    /// `"bert."` and the like, where the encoder is a part of something larger.
    prefix: &'static str,
}

impl Safetensors {
    pub(super) fn open(path: &Path) -> Result<Self, ModelError> {
        let file = File::open(path).map_err(|error| ModelError::from_io(&error))?;
        let mut source = Source::new(file)?;
        let length = source.u64()?;
        if length > MAX_HEADER {
            return Err(ModelError::corrupt(format!("a header of {length} bytes")));
        }
        let header = source.bytes(length, "the header")?;
        let header = serde_json::from_slice(&header)
            .map_err(|error| ModelError::corrupt(format!("the header is not JSON: {error}")))?;
        let Value::Object(header) = header else {
            return Err(ModelError::corrupt("the header is not a JSON object"));
        };
        let prefix = ["", "bert.", "roberta.", "model."]
            .into_iter()
            .find(|prefix| header.contains_key(&format!("{prefix}{WORDS}")))
            .ok_or_else(|| ModelError::unsupported(format!("there is no tensor {WORDS}")))?;
        Ok(Self { data: source.position(), source, header, prefix })
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let name = format!("{}{}", self.prefix, hub_name(name));
        let entry = self.header.get(&name).ok_or_else(|| ModelError::corrupt(format!("tensor {name} is missing")))?;
        let numbers = |value: &Value| -> Option<Vec<u64>> { value.as_array()?.iter().map(Value::as_u64).collect() };
        let found = numbers(&entry["shape"]).unwrap_or_default();
        let wanted: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        // The encoder asks for its small tables as lists.
        let flat = shape.len() == 1
            && found.len() == 2
            && found.iter().try_fold(1u64, |a, &b| a.checked_mul(b)) == Some(wanted[0]);
        if found != wanted && !flat {
            let message = format!("tensor {name} has shape {found:?}, not {wanted:?}");
            return Err(ModelError::corrupt(message));
        }
        let width = match entry["dtype"].as_str() {
            Some("F32") => 4,
            Some("F16" | "BF16") => 2,
            _ => {
                let message = format!("tensor {name} has the type {}", entry["dtype"]);
                return Err(ModelError::unsupported(message));
            }
        };
        let count: u64 = wanted.iter().product();
        let (begin, end) = match numbers(&entry["data_offsets"]).as_deref() {
            Some(&[begin, end]) if end.checked_sub(begin) == Some(count * width) => (begin, end),
            _ => {
                return Err(ModelError::corrupt(format!("tensor {name} has wrong offsets")));
            }
        };
        let start = self.data.checked_add(begin).filter(|_| end <= self.source.length());
        let start = start.ok_or_else(|| ModelError::corrupt(format!("tensor {name} goes past the end of the file")))?;
        let half = entry["dtype"] == "F16";
        self.source.seek(start)?;
        let values: Vec<f32> = if width == 4 {
            self.source.f32s(count as usize, &name)?
        } else {
            let bytes = self.source.bytes(count * 2, &name)?;
            let bits = bytes.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes));
            if half {
                bits.map(f16_to_f32).collect()
            } else {
                bits.map(|bits| f32::from_bits(u32::from(bits) << 16)).collect()
            }
        };
        if values.iter().any(|value| !value.is_finite()) {
            return Err(ModelError::corrupt(format!("tensor {name} has values that are not finite")));
        }
        Ok(values)
    }
}

impl TensorSource for Safetensors {
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Stored, ModelError> {
        self.read(name, &[rows, columns]).map(Stored::Full)
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, ModelError> {
        self.read(name, &[length])
    }
}

const WORDS: &str = "embeddings.word_embeddings.weight";

/// Hugging Face's name for what E5S1 calls `l0.q.w` and so on.
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
    fn names_are_those_of_the_hub() {
        assert_eq!(hub_name("emb.word"), "embeddings.word_embeddings.weight");
        assert_eq!(hub_name("emb.ln.b"), "embeddings.LayerNorm.bias");
        assert_eq!(hub_name("l11.q.w"), "encoder.layer.11.attention.self.query.weight");
        assert_eq!(hub_name("l0.oln.b"), "encoder.layer.0.output.LayerNorm.bias");
    }
}
