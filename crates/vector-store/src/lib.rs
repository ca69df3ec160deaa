#![doc = include_str!("../README.md")]

mod codes;
mod index;
mod kernel;
mod memory;
mod signs;
mod store;
mod vectors;

pub use index::{Among, FlatIndex};
pub use memory::MemoryVectorStore;
pub use store::{VectorEntry, VectorQuery, VectorStore};
