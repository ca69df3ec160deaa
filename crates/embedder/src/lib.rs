#![doc = include_str!("../README.md")]

mod cached;
mod embedder;
mod hash;
mod recent;

pub use cached::CachedEmbedder;
pub use embedder::{Embedder, Purpose};
pub use hash::HashEmbedder;
pub use recent::Recent;
