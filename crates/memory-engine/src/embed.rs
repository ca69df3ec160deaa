//! Embedders and their vectors.

pub use memory_engine_core::{CodeBits, Embedding, EmbeddingSpace, Metric, MultiVector, Token};
#[cfg(feature = "english")]
pub use memory_engine_embedder::WordEmbedder;
pub use memory_engine_embedder::{
    CachedEmbedder, DefaultEmbedder, Embedder, HashEmbedder, Purpose, Scale, TextEncoding,
};
#[cfg(feature = "local-models")]
pub use memory_engine_local_models::LocalModel;
