//! The methods of [`MemoryEngine`](crate::MemoryEngine) that read and write memories, one subject per file.

mod change;
mod drain;
#[cfg(feature = "enrichment")]
pub mod facts;
pub mod import;
pub(crate) mod read;
pub(crate) mod records;
pub(crate) mod remember;
mod remember_all;
