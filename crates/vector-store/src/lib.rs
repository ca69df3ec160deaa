#![doc = include_str!("../README.md")]

mod codes;
mod embedding_versions;
mod index;
mod kernel;
mod max_sim;
mod memory;
mod signs;
mod store;
mod vectors;

pub use embedding_versions::{EmbeddingVersion, EmbeddingVersionRole, EmbeddingVersions};
pub use index::{FlatIndex, SearchSubset};
pub use max_sim::{MaxSim, TokenIdf, max_sim};
pub use memory::MemoryVectorStore;
pub use store::{EmbeddingVersionStore, VectorEntry, VectorQuery, VectorStore};
