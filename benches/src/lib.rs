//! What the benchmarks of memory-engine share: made-up records with their vectors, an embedder that knows them, and what a
//! process has used.

pub mod filled;
pub mod given;
pub mod process;
pub mod synthetic;
pub mod times;
