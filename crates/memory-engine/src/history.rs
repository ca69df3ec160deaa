//! Changes, retractions, branches and deletions.

pub use memory_engine_core::{
    BlockReason, Tombstone,
    history::{Edit, FormerState},
};
pub use memory_engine_recall::{Fork, Inherits};

pub use crate::verbs::retraction::{Retraction, Rewind};
