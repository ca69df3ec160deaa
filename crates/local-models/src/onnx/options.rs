//! Options of an ONNX model that its file does not contain.

use std::path::PathBuf;

/// The pooling of token vectors into one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnnxPooling {
    /// The mean over all tokens.
    Mean,
    /// The vector of the first token, as in bge.
    First,
}

/// Options of an ONNX model.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OnnxOptions {
    /// Path of the runtime's library (`libonnxruntime.so`, `onnxruntime.dll`). Default: `ORT_DYLIB_PATH`, or the
    /// library of the system.
    pub runtime: Option<PathBuf>,
    /// The model's file within its directory. Default: `model.onnx` or `onnx/model.onnx`.
    pub file: Option<PathBuf>,
    /// The pooling. Default: that of the directory, or the mean. A model with its own pooling keeps it.
    pub pooling: Option<OnnxPooling>,
    /// The text before queries. Default: by the name of the directory.
    pub query_prefix: Option<String>,
    /// The text before documents. Default: by the name of the directory.
    pub document_prefix: Option<String>,
    /// Maximum number of tokens of a window. Default: that of the directory, or 512.
    pub max_tokens: Option<usize>,
}

impl OnnxOptions {
    memory_engine_core::setters! {
        #![must_use]
        /// Sets the runtime's library.
        with_runtime(path: impl Into<PathBuf>) => runtime = Some(path.into());
        /// Sets the model's file within its directory.
        with_file(name: impl Into<PathBuf>) => file = Some(name.into());
        /// Sets the pooling.
        with_pooling(pooling: OnnxPooling) => pooling = Some(pooling);
        /// Sets the maximum number of tokens of a window.
        with_max_tokens(tokens: usize) => max_tokens = Some(tokens);
    }

    /// Sets the texts before queries and documents.
    #[must_use]
    pub fn with_prefixes(mut self, query: impl Into<String>, document: impl Into<String>) -> Self {
        self.query_prefix = Some(query.into());
        self.document_prefix = Some(document.into());
        self
    }
}
