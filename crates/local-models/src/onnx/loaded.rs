//! A loaded ONNX model: session, tokenizer and everything else read from its directory.

use std::path::{Path, PathBuf};

use super::{
    options::{OnnxOptions, OnnxPooling},
    runtime::Runtime,
};
use crate::{
    error::ModelError,
    hf,
    pooling::Pooling,
    prefixes::{Prefixes, prefixes_of},
    tokenizer::Tokenizer,
};

/// Maximum window length in tokens if neither the options nor the directory set one.
const DEFAULT_MAX_TOKENS: usize = 512;

/// A model with its tokenizer.
#[derive(Debug)]
pub(super) struct LoadedModel {
    pub(super) id: String,
    pub(super) runtime: Runtime,
    pub(super) tokenizer: Tokenizer,
    pub(super) pooling: Pooling,
    pub(super) prefixes: Prefixes,
    pub(super) max_tokens: usize,
    pub(super) options: OnnxOptions,
}

impl LoadedModel {
    pub(super) fn read(directory: &Path, options: OnnxOptions) -> Result<Self, ModelError> {
        Self::read_files(directory, options).map_err(|error| error.in_context(directory.display()))
    }

    fn read_files(directory: &Path, options: OnnxOptions) -> Result<Self, ModelError> {
        let tokenizer = hf::read_tokenizer(directory)?;
        let configured = hf::read_pooling(directory)?;
        let pooling = match options.pooling {
            Some(OnnxPooling::Mean) => Pooling::Mean,
            Some(OnnxPooling::First) => Pooling::First,
            None => configured.pooling,
        };
        let file =
            options.file.as_deref().map_or_else(|| find_model_file(directory), |file| Ok(directory.join(file)))?;
        let path = directory.canonicalize().ok();
        let name = path.as_deref().and_then(Path::file_name);
        let name = name.map_or_else(|| "model".into(), |name| name.to_string_lossy());
        // Other weights produce other vectors, so the file name is a part of the id.
        let id = format!("{name}/{}", file.file_name().unwrap_or_default().to_string_lossy());
        let prefixes = prefixes_of(&name);
        let runtime = Runtime::open(&file, &options)?;
        let max_tokens = options.max_tokens.or(configured.max_tokens).unwrap_or(DEFAULT_MAX_TOKENS).max(8);
        Ok(Self { id, runtime, tokenizer, pooling, prefixes, max_tokens, options })
    }
}

fn find_model_file(directory: &Path) -> Result<PathBuf, ModelError> {
    let candidates = [directory.join("model.onnx"), directory.join("onnx/model.onnx")];
    let missing = || ModelError::not_found("the directory contains neither model.onnx nor onnx/model.onnx");
    candidates.into_iter().find(|path| path.is_file()).ok_or_else(missing)
}
