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
    /// Number of threads. Default: the number of processors.
    pub threads: Option<usize>,
    /// Cosine up to which two texts are unrelated. Default: 0.
    pub score_floor: Option<f64>,
}

impl OnnxOptions {
    /// Sets the runtime's library.
    #[must_use]
    pub fn with_runtime(mut self, path: impl Into<PathBuf>) -> Self {
        self.runtime = Some(path.into());
        self
    }

    /// Sets the model's file within its directory.
    #[must_use]
    pub fn with_file(mut self, name: impl Into<PathBuf>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// Sets the pooling.
    #[must_use]
    pub fn with_pooling(mut self, pooling: OnnxPooling) -> Self {
        self.pooling = Some(pooling);
        self
    }

    /// Sets the texts before queries and documents.
    #[must_use]
    pub fn with_prefixes(mut self, query: impl Into<String>, document: impl Into<String>) -> Self {
        self.query_prefix = Some(query.into());
        self.document_prefix = Some(document.into());
        self
    }

    /// Sets the maximum number of tokens of a window.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the cosine up to which two texts are unrelated.
    #[must_use]
    pub fn with_score_floor(mut self, floor: f64) -> Self {
        self.score_floor = Some(floor);
        self
    }
}
