//! The analyzer and the embedding space that the indexes were made with.
//!
//! The table `index_metadata` stores both. The functions here only decide; each backend reads and writes the table.

use memory_engine_core::{EmbeddingSpace, Error, ErrorKind, Index, Result};

use crate::options::{Mismatch, StoreOptions};

/// The makers of the indexes of this process: the analyzer makes the keyword index, the embedding space the vectors.
#[derive(Debug, Clone)]
pub struct IndexMetadata {
    analyzer: String,
    space: String,
    /// The space that may serve while the vectors in the space of this process are being computed.
    replaced: Option<String>,
}

/// The action for one index when a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconciliation {
    /// Nothing: the index matches, or is left as it is.
    Keep,
    /// Store the maker of the index: the database is new.
    Record,
    /// Start a second embedding version, or continue with it.
    Refill,
    /// Fail: with [`StoredEmbeddingVersions::refusal`](crate::embedding_versions::StoredEmbeddingVersions::refusal) for
    /// vectors, with [`IndexMetadata::mismatch`] for terms.
    Refuse,
    /// Empty the index, queue every record for it and store its new maker.
    Rebuild,
}

impl IndexMetadata {
    /// The metadata of a store that is opened with these options.
    pub fn new(options: &StoreOptions) -> Self {
        let replaced = options.replaced.as_ref().map(ToString::to_string);
        Self { analyzer: options.analyzer.clone(), space: options.space.to_string(), replaced }
    }

    /// Returns the same analyzer with another embedding space.
    #[must_use]
    pub fn in_space(&self, space: &EmbeddingSpace) -> Self {
        Self { space: space.to_string(), replaced: None, ..self.clone() }
    }

    /// The embedding space of this process.
    pub fn space(&self) -> &str {
        &self.space
    }

    /// Returns the analyzer or embedding space with which this process makes the index.
    pub fn maker(&self, index: Index) -> &str {
        match index {
            Index::Keywords => &self.analyzer,
            Index::Embedding => &self.space,
        }
    }

    /// Checks that `stored`, the stored maker of an index, is the maker of this process.
    ///
    /// # Errors
    /// `SchemaMismatch`.
    pub fn check(&self, index: Index, stored: Option<&str>, operation: &'static str) -> Result<()> {
        if stored == Some(self.maker(index)) { Ok(()) } else { Err(self.mismatch(index, stored, operation)) }
    }

    /// Returns the error for an index whose stored maker is `stored`.
    pub fn mismatch(&self, index: Index, stored: Option<&str>, operation: &'static str) -> Error {
        let stored = stored.unwrap_or("nothing");
        let current = self.maker(index);
        let message = match index {
            Index::Keywords => format!(
                "the keyword index was made with the analyzer '{stored}', but '{current}' is in use; index the \
                 records again with `memory reindex`, or in a program with Mismatch::Rebuild"
            ),
            Index::Embedding => format!(
                "the vectors are in the embedding space '{stored}', but '{current}' is in use; open the store with the \
                 embedder of '{stored}', or make new ones with `memory reindex` and that of '{current}', in a \
                 program with Mismatch::Refill, while others search the old ones"
            ),
        };
        Error::new(ErrorKind::SchemaMismatch, operation, message)
    }

    /// Returns true if a store with vectors of the space `stored` keeps them and starts a second embedding version.
    pub fn refills(&self, stored: &str, mismatch: Mismatch) -> bool {
        stored != self.space && (mismatch == Mismatch::Refill || self.replaced.as_deref() == Some(stored))
    }

    /// Decides how opening the store handles an index whose stored maker is `stored`.
    pub fn reconcile(&self, index: Index, stored: Option<&str>, mismatch: Mismatch) -> Reconciliation {
        let Some(stored) = stored else { return Reconciliation::Record };
        if stored == self.maker(index) || mismatch == Mismatch::Leave {
            return Reconciliation::Keep;
        }
        if index == Index::Embedding && self.refills(stored, mismatch) {
            return Reconciliation::Refill;
        }
        match mismatch {
            Mismatch::Refill | Mismatch::Rebuild => Reconciliation::Rebuild,
            Mismatch::Leave => Reconciliation::Keep,
            Mismatch::Refuse => Reconciliation::Refuse,
            _ => Reconciliation::Refuse,
        }
    }
}

#[cfg(test)]
mod tests;
