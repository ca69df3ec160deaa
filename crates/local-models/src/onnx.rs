//! The user's own ONNX models, run by an ONNX Runtime library that is loaded on first use.
//!
//! A directory contains `model.onnx` (or `onnx/model.onnx`, as hubs store it) and `tokenizer.json`. The pooling method
//! is read from `1_Pooling/config.json` if that file exists.

mod batch;
mod embedder;
mod handle;
mod loaded;
mod options;
mod reranker;
mod runtime;

use std::path::PathBuf;

use handle::ModelHandle;
use memory_engine_core::Result;

pub use embedder::OnnxEmbedder;
pub use options::{OnnxOptions, OnnxPooling};
pub use reranker::OnnxReranker;

/// An ONNX model with its tokenizer and its own thread. Clones share the model.
#[derive(Debug, Clone)]
pub struct OnnxModel(ModelHandle);

impl OnnxModel {
    /// Opens the model in a directory, off the calling thread.
    ///
    /// The runtime is the library of [`OnnxOptions::runtime`], of the variable `ORT_DYLIB_PATH`, or of the system, in
    /// this order. A process has one runtime: the first that is loaded is used for all later models. After a failed
    /// attempt to load a library, the process cannot load another one.
    ///
    /// # Errors
    /// `Unsupported` if there is no runtime (1.17 or newer) or the model is neither an encoder nor a cross-encoder;
    /// `NotFound` if a file is missing; `Corrupt` if one is damaged.
    pub async fn open(directory: impl Into<PathBuf>, options: OnnxOptions) -> Result<Self> {
        ModelHandle::open(directory.into(), options).await.map(Self)
    }

    /// Returns the model as an embedder.
    ///
    /// # Errors
    /// `Unsupported` if its output is not a vector; an error if a vector is not finite. One word is embedded as a
    /// check.
    pub async fn embedder(&self) -> Result<OnnxEmbedder> {
        OnnxEmbedder::open(self.0.clone()).await
    }

    /// Returns the model as a reranker: a cross-encoder, which reads query and candidate together.
    ///
    /// # Errors
    /// `Unsupported` if its output is not a score. One pair is scored as a check.
    pub async fn reranker(&self) -> Result<OnnxReranker> {
        OnnxReranker::open(self.0.clone()).await
    }
}
