//! The user's own ONNX models, run by an ONNX Runtime that is loaded when it is wanted.
//!
//! A directory holds `model.onnx` (or `onnx/model.onnx`, as hubs have it) and `tokenizer.json`; how to pool is read from
//! `1_Pooling/config.json` where that is there.

mod batch;
mod embedder;
mod options;
mod reranker;
mod runtime;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_engine_core::Result;

pub use embedder::OnnxEmbedder;
pub use options::{OnnxOptions, OnnxPooling};
pub use reranker::OnnxReranker;

use crate::{
    ModelError, hf,
    local::error,
    model::{Pooling, Prefixes, prefixes_of},
    tokenizer::Tokenizer,
    worker::Worker,
};
use runtime::Runtime;

/// The longest window where nothing says otherwise.
const MAX_TOKENS: usize = 512;

/// An ONNX model with its tokenizer and a thread of its own. Cloning gives another handle on the same model.
#[derive(Debug, Clone)]
pub struct OnnxModel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: String,
    runtime: Runtime,
    tokenizer: Tokenizer,
    pooling: Pooling,
    prefixes: Prefixes,
    max_tokens: usize,
    options: OnnxOptions,
    worker: Worker,
}

impl OnnxModel {
    /// Opens the model in a directory, off the calling thread.
    ///
    /// The runtime is the library that [`OnnxOptions::runtime`] or the variable `ORT_DYLIB_PATH` names, else the
    /// system's. A process has one runtime: the first that is loaded serves all later models, and a library that could
    /// not be loaded bars any other.
    ///
    /// # Errors
    /// `Unsupported` when there is no runtime (1.17 or newer) or the model is none of an encoder or cross-encoder;
    /// `NotFound` when a file is missing; `Corrupt` when one is damaged.
    pub async fn open(directory: impl Into<PathBuf>, options: OnnxOptions) -> Result<Self> {
        let (directory, worker) = (directory.into(), Worker::start("memory-onnx")?);
        let read = move || {
            let model = Parts::read(&directory, &options).map_err(|e| e.within(directory.display()));
            model.map(|parts| (parts, options))
        };
        let (parts, options) = worker.run(read).await?.map_err(error)?;
        let Parts { id, runtime, tokenizer, pooling, prefixes, max_tokens } = parts;
        Ok(Self(Arc::new(Inner { id, runtime, tokenizer, pooling, prefixes, max_tokens, options, worker })))
    }

    /// The model as an embedder.
    ///
    /// # Errors
    /// `Unsupported` when it gives no vectors, `Corrupt` when they mean nothing: one word is embedded to see.
    pub async fn embedder(&self) -> Result<OnnxEmbedder> {
        OnnxEmbedder::of(self.clone()).await
    }

    /// The model as a reranker: a cross-encoder, which reads question and candidate together.
    ///
    /// # Errors
    /// `Unsupported` when it gives no score for a pair: one pair is judged to see.
    pub async fn reranker(&self) -> Result<OnnxReranker> {
        OnnxReranker::of(self.clone()).await
    }
}

struct Parts {
    id: String,
    runtime: Runtime,
    tokenizer: Tokenizer,
    pooling: Pooling,
    prefixes: Prefixes,
    max_tokens: usize,
}

impl Parts {
    fn read(directory: &Path, options: &OnnxOptions) -> Result<Self, ModelError> {
        let tokenizer = hf::tokenizer(directory)?;
        let (said, window) = hf::pooling(directory)?;
        let pooling = match options.pooling {
            Some(OnnxPooling::Mean) => Pooling::Mean,
            Some(OnnxPooling::First) => Pooling::First,
            None => said,
        };
        let file = options.file.as_deref().map_or_else(|| find(directory), |file| Ok(directory.join(file)))?;
        let name = directory.canonicalize().ok();
        let name =
            name.as_deref().and_then(Path::file_name).map_or_else(|| "model".into(), |name| name.to_string_lossy());
        // Other weights give other vectors: the file belongs to the name.
        let id = format!("{name}/{}", file.file_name().unwrap_or_default().to_string_lossy());
        let prefixes = prefixes_of(&name);
        let runtime = Runtime::open(&file, options)?;
        let max_tokens = options.max_tokens.or(window).unwrap_or(MAX_TOKENS).max(8);
        Ok(Self { id, runtime, tokenizer, pooling, prefixes, max_tokens })
    }
}

fn find(directory: &Path) -> Result<PathBuf, ModelError> {
    let places = [directory.join("model.onnx"), directory.join("onnx/model.onnx")];
    let missing = || ModelError::not_found("there is no model.onnx in it");
    places.into_iter().find(|place| place.is_file()).ok_or_else(missing)
}
