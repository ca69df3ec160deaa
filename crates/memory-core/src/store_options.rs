//! The options with which a database is opened.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    embedding::EmbeddingSpace,
    error::Error,
    time::{Clock, SystemClock},
};

/// The action for a store whose indexes were made with another analyzer or embedding space. Default:
/// [`Refuse`](Self::Refuse).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mismatch {
    /// Fail with `SchemaMismatch`, and leave the store as it is.
    #[default]
    Refuse,
    /// Open the store and leave its indexes as they are. Records can be read. A call that needs a mismatched index
    /// fails with `SchemaMismatch`.
    Leave,
    /// Begin a second version of the vectors next to the mismatched one, or continue to fill it. Searches use the old
    /// version until `EmbeddingVersionStore::switch`. A mismatched keyword index is treated as by
    /// [`Rebuild`](Self::Rebuild).
    Refill,
    /// Empty the mismatched indexes and queue every active record for them, in one transaction.
    Rebuild,
}

crate::enum_names! {
    Mismatch, "way to handle a mismatch" {
        Refuse => "refuse",
        Leave => "leave",
        Refill => "refill",
        Rebuild => "rebuild",
    }
}

/// The embedding space, analyzer and clock of a database, and the action if its indexes were made with others. The
/// builder of the facade sets all of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The embedding space of the vectors. There is no default.
    pub space: EmbeddingSpace,
    /// The fingerprint of the analyzer of the keyword index: `Analyzer::fingerprint`. There is no default.
    pub analyzer: String,
    /// The clock of deletions and leases. Default: the machine's clock.
    pub clock: Arc<dyn Clock>,
    /// The action for a store that was made with another space or analyzer. Default: [`Mismatch::Refuse`].
    pub mismatch: Mismatch,
    /// The space of the embedder that is being replaced. A store of that space is treated as by [`Mismatch::Refill`].
    /// Default: none.
    pub replaced: Option<EmbeddingSpace>,
}

impl StoreOptions {
    /// Creates default options for an embedding space and the fingerprint of an analyzer.
    pub fn new(space: EmbeddingSpace, analyzer: impl Into<String>) -> Self {
        Self {
            space,
            analyzer: analyzer.into(),
            clock: Arc::new(SystemClock),
            mismatch: Mismatch::default(),
            replaced: None,
        }
    }

    crate::setters! {
        #![must_use]
        /// Sets [`clock`](Self::clock).
        with_clock(clock: impl Clock) => clock = Arc::new(clock);
        /// Sets [`mismatch`](Self::mismatch).
        with_mismatch(mismatch: Mismatch);
    }
}
