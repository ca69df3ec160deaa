//! The report of an import.

use memory_engine::admin::LatencyStats;
use serde::Serialize;

/// The result of an import or a dry run.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct FileImportReport {
    /// New records.
    pub(crate) added: u64,
    /// Records that were replaced.
    pub(crate) updated: u64,
    /// Lines whose record existed already.
    pub(crate) unchanged: u64,
    /// Of these, lines whose content differs from the stored record.
    pub(crate) different: u64,
    /// Lines whose record was forgotten earlier, and which are not imported.
    pub(crate) forgotten: u64,
    /// Added and replaced records that wait for a review.
    pub(crate) pending: u64,
    /// Imported tombstones.
    pub(crate) tombstones: u64,
    /// Vectors that were imported instead of computed.
    pub(crate) vectors: u64,
    /// Records that still wait for their vectors.
    pub(crate) waiting: u64,
    /// Records within the scope that became dead letters of a job, such as the extraction of their entities.
    pub(crate) dead_letters: u64,
    /// Time from the write of a record to its vector, if vectors were computed.
    pub(crate) vector_lag: Option<LatencyStats>,
    /// Rows without a text to store.
    pub(crate) passed_over: u64,
    /// Lines that could not be read.
    pub(crate) bad_lines: u64,
    /// The errors of the first bad lines.
    pub(crate) errors: Vec<String>,
}
