//! The directory of a persistent Chroma client.

mod reader;
mod rows;

pub use reader::{ChromaCollection, ChromaItem, ChromaReader};
pub use rows::rows;
