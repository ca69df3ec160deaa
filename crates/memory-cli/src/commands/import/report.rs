//! The report of an import.

use memory_engine::admin::LatencyStats;
use serde::Serialize;

/// The result of an import or a dry run.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct ImportReport {
    /// New records.
    pub(crate) added: u64,
    /// Records that were replaced.
    pub(crate) updated: u64,
    /// Lines whose record was there already.
    pub(crate) unchanged: u64,
    /// Of these, lines that say something else than what is stored under their id.
    pub(crate) different: u64,
    /// Lines that were forgotten earlier and stay away.
    pub(crate) forgotten: u64,
    /// Tombstones taken in.
    pub(crate) tombstones: u64,
    /// Vectors taken over in place of making them.
    pub(crate) vectors: u64,
    /// Records that still wait for their vectors.
    pub(crate) waiting: u64,
    /// Time from the write of a record to its vector, if vectors were computed.
    pub(crate) vector_lag: Option<LatencyStats>,
    /// Rows in which there is nothing to remember.
    pub(crate) passed_over: u64,
    /// Lines that could not be read.
    pub(crate) bad_lines: u64,
    /// The first of them.
    pub(crate) errors: Vec<String>,
}
