//! Records as of a time, changes, retractions, branches and tombstones.

mod branches;
pub(crate) mod handle;
pub(crate) mod retraction;

pub use memory_engine_core::{
    BlockReason, Tombstone,
    history::{Edit, FormerState},
};
pub use memory_engine_recall::{Fork, Inherits};

pub use self::{
    handle::{History, Snapshot},
    retraction::{Retraction, Rewind},
};
