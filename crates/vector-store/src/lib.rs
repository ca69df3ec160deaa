#![doc = include_str!("../README.md")]

mod index;
mod kernel;
mod memory;
mod store;

pub use index::ExactIndex;
pub use memory::MemoryVectorStore;
pub use store::{VectorEntry, VectorQuery, VectorStore};
