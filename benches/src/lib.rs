//! Helpers of the benchmarks: synthetic records with vectors, an embedder for them, and the resources of a process.

pub mod filled;
pub mod given;
pub mod process;
pub mod synthetic;
pub mod times;
