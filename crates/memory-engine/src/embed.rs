//! Embedders and their vectors.

pub use memory_engine_core::{CodeBits, Embedding, EmbeddingSpace, Metric, MultiVector, Token};
pub use memory_engine_embedder::{CachedEmbedder, Embedder, HashEmbedder, Purpose, TextEncoding};
#[cfg(feature = "local-models")]
pub use memory_engine_local_models::LocalModel;
