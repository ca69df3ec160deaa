#![doc = include_str!("../README.md")]

mod cached;
mod embedder;
mod hash;
#[cfg(feature = "english")]
mod token_vectors;
mod weighted_lru;
#[cfg(feature = "english")]
mod word_table;
#[cfg(feature = "english")]
mod words;

pub use cached::CachedEmbedder;
pub use embedder::{Embedder, Purpose, Scale, TextEncoding};
pub use hash::HashEmbedder;
pub use weighted_lru::WeightedLru;
#[cfg(feature = "english")]
pub use words::WordEmbedder;

/// The embedder of an engine that names none.
#[cfg(feature = "english")]
pub type DefaultEmbedder = WordEmbedder;
/// The embedder of an engine that names none.
#[cfg(not(feature = "english"))]
pub type DefaultEmbedder = HashEmbedder;
