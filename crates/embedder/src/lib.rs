#![doc = include_str!("../README.md")]

mod embedder;
mod hash;

pub use embedder::{Embedder, Purpose};
pub use hash::HashEmbedder;
