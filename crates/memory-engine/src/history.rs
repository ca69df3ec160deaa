//! Changes, retractions, branches and deletions.

mod branches;
pub(crate) mod retraction;

pub use memory_engine_core::{
    BlockReason, Tombstone,
    history::{Edit, FormerState},
};
pub use memory_engine_recall::{Fork, Inherits};

pub use self::retraction::{Retraction, Rewind};
