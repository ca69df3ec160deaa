//! The operations that can be run.

use clap::ValueEnum;

/// One operation of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    /// Opens the store, recalls once and closes it.
    Open,
    /// Stores one turn and runs its background jobs.
    Remember,
    /// Stores 100 records with their vectors in one call.
    StoreBatch,
    /// Recalls for one user, with default options.
    RecallUser,
    /// Recalls over the whole tenant, with default options.
    RecallTenant,
    /// Recalls over the whole tenant with the keyword retriever only.
    RecallKeywords,
    /// Recalls over the whole tenant with the vector retriever only.
    RecallVectors,
    /// Recalls over the whole tenant with a filter on role and time.
    RecallFilter,
    /// Selects and renders memories for a message.
    Inject,
    /// Replaces the text of a record and runs its background jobs.
    Update,
}

impl Operation {
    /// Returns the name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns the number of counted calls if the caller sets none.
    pub(crate) fn default_repetitions(self) -> usize {
        if self == Self::Open { 10 } else { 50 }
    }
}
