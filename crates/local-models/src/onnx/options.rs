//! What an ONNX file does not say about itself.

use std::path::PathBuf;

/// How token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnnxPooling {
    /// The mean over all tokens.
    Mean,
    /// The first token's vector, as bge has it.
    First,
}

/// Choices for an ONNX model. What is `None` is found out.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OnnxOptions {
    /// The runtime's library (`libonnxruntime.so`, `onnxruntime.dll`); else `ORT_DYLIB_PATH`, else the system's.
    pub runtime: Option<PathBuf>,
    /// The model's file within its directory; else `model.onnx` or `onnx/model.onnx`.
    pub file: Option<PathBuf>,
    /// How to pool; else what the directory says, or the mean. A model that pools by itself is left to it.
    pub pooling: Option<OnnxPooling>,
    /// What goes before questions; else what the directory's name says.
    pub query_prefix: Option<String>,
    /// What goes before what is to be found; else what the directory's name says.
    pub document_prefix: Option<String>,
    /// The longest window in tokens; else what the directory says, or 512.
    pub max_tokens: Option<usize>,
    /// How many threads compute; else as many as there are processors.
    pub threads: Option<usize>,
    /// The cosine up to which two texts have nothing to do with each other; else 0.
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

    /// Sets how to pool.
    #[must_use]
    pub fn with_pooling(mut self, pooling: OnnxPooling) -> Self {
        self.pooling = Some(pooling);
        self
    }

    /// Sets what goes before questions and before what is to be found.
    #[must_use]
    pub fn with_prefixes(mut self, query: impl Into<String>, document: impl Into<String>) -> Self {
        (self.query_prefix, self.document_prefix) = (Some(query.into()), Some(document.into()));
        self
    }

    /// Sets the longest window in tokens.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets how many threads compute.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the cosine up to which two texts have nothing to do with each other.
    #[must_use]
    pub fn with_score_floor(mut self, floor: f64) -> Self {
        self.score_floor = Some(floor);
        self
    }
}
