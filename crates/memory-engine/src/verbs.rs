//! The methods of [`MemoryEngine`](crate::MemoryEngine) that read and write memories, one subject per file.

mod drain;
#[cfg(feature = "enrichment")]
pub mod facts;
pub(crate) mod forget;
pub(crate) mod forget_text;
pub mod import;
pub(crate) mod linked;
pub(crate) mod read;
pub(crate) mod records;
pub(crate) mod remember;
mod remember_all;
pub mod retention;
pub(crate) mod turn;
pub(crate) mod update;
pub(crate) mod verb;
