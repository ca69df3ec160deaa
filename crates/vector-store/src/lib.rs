#![doc = include_str!("../README.md")]

mod generations;
mod index;
mod kernel;
mod memory;
mod store;

pub use generations::{Generation, GenerationStore, Generations, Role};
pub use index::ExactIndex;
pub use memory::MemoryVectorStore;
pub use store::{VectorEntry, VectorQuery, VectorStore};
