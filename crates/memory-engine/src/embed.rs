//! Embedders and their vectors.

pub use memory_engine_core::{Embedding, EmbeddingSpace, Metric};
pub use memory_engine_embedder::{CachedEmbedder, Embedder, HashEmbedder, Purpose};
#[cfg(feature = "local-models")]
pub use memory_engine_local_models::LocalModel;
