//! The options of a SQL store.

pub use memory_engine_core::{Mismatch, StoreOptions};
