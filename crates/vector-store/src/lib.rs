#![doc = include_str!("../README.md")]

mod codes;
mod generations;
mod index;
mod kernel;
mod memory;
mod signs;
mod store;
mod vectors;

pub use generations::{Generation, GenerationRole, Generations};
pub use index::{Among, FlatIndex};
pub use memory::MemoryVectorStore;
pub use store::{GenerationStore, VectorEntry, VectorQuery, VectorStore};
