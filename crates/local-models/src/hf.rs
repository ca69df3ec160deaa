//! Ordinary Hugging Face directories: `config.json`, `tokenizer.json`, `model.safetensors`, and
//! what sentence-transformers adds to them.
//!
//! BERT encoders with WordPiece tokenizers (MiniLM, bge) and with unigram tokenizers
//! (multilingual e5), and XLM-R encoders. Everything else is refused by name rather than run
//! wrongly.

mod bert_tables;
mod charsmap;
mod config;
mod safetensors;
mod tokenizer_json;
mod word_piece;

use std::path::Path;

use serde_json::Value;

pub(crate) use charsmap::Charsmap;
pub(crate) use word_piece::WordPiece;

use crate::encoder::Encoder;
use crate::error::ModelError;
use crate::kernel::Kernel;
use crate::model::Parts;
#[cfg(feature = "onnx")]
use crate::model::Pooling;
use crate::tokenizer::Tokenizer;

/// A configuration file larger than this is not one.
const MAX_CONFIG: u64 = 1 << 20;

/// The largest real `tokenizer.json` is below 40 MB.
const MAX_TOKENIZER: u64 = 1 << 28;

/// Opens a directory.
pub(crate) fn open(directory: &Path, kernel: Kernel, integer: bool) -> Result<Parts, ModelError> {
    let within = |name: &'static str| move |error: ModelError| error.within(name);
    let name = "config.json";
    let shape = read_json(directory, name, MAX_CONFIG)?
        .ok_or_else(|| missing(name))
        .and_then(|json| config::read_shape(&json).map_err(within(name)))?;
    let tokenizer = tokenizer(directory)?;
    let (pooling, max_tokens) = config::read_pooling(directory)?;
    let name = "model.safetensors";
    let encoder = safetensors::Safetensors::open(&directory.join(name))
        .and_then(|mut source| Encoder::open(&mut source, shape, kernel, integer))
        .map_err(within(name))?;
    Ok(Parts { encoder, tokenizer, pooling, max_tokens })
}

/// Opens the tokenizer alone.
pub(crate) fn tokenizer(directory: &Path) -> Result<Tokenizer, ModelError> {
    let name = "tokenizer.json";
    let json = read_json(directory, name, MAX_TOKENIZER)?.ok_or_else(|| missing(name))?;
    tokenizer_json::read(&json).map_err(|error| error.within(name))
}

/// How to pool, and the longest window that the model was tuned for, where that is said.
#[cfg(feature = "onnx")]
pub(crate) fn pooling(directory: &Path) -> Result<(Pooling, Option<usize>), ModelError> {
    config::read_pooling(directory)
}

fn missing(name: &str) -> ModelError {
    ModelError::not_found(format!("there is no {name} in it"))
}

/// Reads a JSON file of at most `max_bytes`; `None` when there is none.
fn read_json(directory: &Path, name: &str, max_bytes: u64) -> Result<Option<Value>, ModelError> {
    let path = directory.join(name);
    let length = match std::fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(_) => return Ok(None),
    };
    if length > max_bytes {
        let message = format!("{name}: {length} bytes, more than {max_bytes}");
        return Err(ModelError::corrupt(message));
    }
    let bytes = std::fs::read(&path).map_err(|error| ModelError::from_io(&error).within(name))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| ModelError::corrupt(format!("{name}: {error}")))
}
