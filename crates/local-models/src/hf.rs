//! Hugging Face model directories: `config.json`, `tokenizer.json`, `model.safetensors`, and the files that
//! sentence-transformers adds.
//!
//! Supported are BERT encoders with WordPiece tokenizers (MiniLM, bge) or unigram tokenizers (multilingual e5), and
//! XLM-R encoders. Other models are rejected, with an error that names the unsupported part.

mod config;
mod json;
mod safetensors;
mod tokenizer_json;

use std::path::Path;

use memory_engine_core::Kernel;

use crate::{encoder::Encoder, error::ModelError, parts::ModelParts, tokenizer::Tokenizer};
use json::require_json;
use safetensors::SafetensorsFile;

#[cfg(feature = "onnx")]
pub(crate) use config::read_pooling;

const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";

/// Maximum size of `tokenizer.json`. The largest published ones are below 40 MB.
const MAX_TOKENIZER_BYTES: u64 = 1 << 28;

/// Opens a model directory.
pub(crate) fn open(directory: &Path, kernel: Kernel, integer: bool) -> Result<ModelParts, ModelError> {
    let shape = config::read_shape(directory)?;
    let tokenizer = read_tokenizer(directory)?;
    let config = config::read_pooling(directory)?;
    let encoder = SafetensorsFile::open(&directory.join(WEIGHTS))
        .and_then(|mut file| Encoder::open(&mut file, shape, kernel, integer))
        .map_err(|error| error.in_context(WEIGHTS))?;
    Ok(ModelParts { encoder, tokenizer, pooling: config.pooling, max_tokens: config.max_tokens })
}

/// Opens the tokenizer of a directory.
pub(crate) fn read_tokenizer(directory: &Path) -> Result<Tokenizer, ModelError> {
    let json = require_json(directory, TOKENIZER, MAX_TOKENIZER_BYTES)?;
    tokenizer_json::read(&json).map_err(|error| error.in_context(TOKENIZER))
}
