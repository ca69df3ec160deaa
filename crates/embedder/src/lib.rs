#![doc = include_str!("../README.md")]

mod cached;
#[cfg(feature = "chinese")]
mod chinese_table;
mod embedder;
mod hash;
#[cfg(any(feature = "chinese", feature = "english"))]
mod token_vectors;
mod weighted_lru;
#[cfg(feature = "english")]
mod word_table;
mod word_vectors;
#[cfg(feature = "english")]
mod words;

pub use cached::CachedEmbedder;
pub use embedder::{Embedder, Purpose, Scale, TextEncoding};
pub use hash::HashEmbedder;
pub use weighted_lru::WeightedLru;
pub use word_vectors::word_vectors;
#[cfg(feature = "english")]
pub use words::WordEmbedder;

/// The embedder of an engine that names none.
#[cfg(feature = "english")]
pub type DefaultEmbedder = WordEmbedder;
/// The embedder of an engine that names none.
#[cfg(not(feature = "english"))]
pub type DefaultEmbedder = HashEmbedder;
