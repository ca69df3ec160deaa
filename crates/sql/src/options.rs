//! What every SQL store has to know to open its indexes.

pub use memory_engine_core::{Mismatch, StoreOptions};
