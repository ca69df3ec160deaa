#![doc = include_str!("../README.md")]

mod cached;
mod embedder;
mod hash;
mod weighted_lru;

pub use cached::CachedEmbedder;
pub use embedder::{Embedder, Purpose, TextEncoding};
pub use hash::HashEmbedder;
pub use weighted_lru::WeightedLru;
