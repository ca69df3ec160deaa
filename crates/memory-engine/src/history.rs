//! What was changed, taken back, branched off or deleted.

pub use memory_engine_core::{BlockReason, Tombstone};
pub use memory_engine_recall::{Fork, Inherits};

pub use crate::{
    retraction::{Retraction, Rewind},
    update::Edit,
};
