//! Embedding versions: the one that serves searches, and at most one second version.

use memory_engine_core::{Error, ErrorKind, Index, Job, Result};
use memory_engine_vector_store::EmbeddingVersionRole;

use crate::index_metadata::IndexMetadata;

/// The row of `index_metadata` with the space of the serving version, and the job that makes its vectors.
pub const SERVING_PART: &str = Job::Embedding.as_str();
/// The row of `index_metadata` with the space of the second version, and the job that fills it.
pub const SECOND_PART: &str = Job::Reembedding.as_str();
/// The row of `index_metadata` with the table of the serving version.
pub const TABLE_PART: &str = "serving table";
/// The rows of `index_metadata` that describe the versions.
pub const PARTS: [&str; 3] = [SERVING_PART, SECOND_PART, TABLE_PART];

/// The renames of jobs, in order, that exchange the queued items of the two versions at the cut-over.
pub const JOB_RENAMES: [(&str, &str); 3] =
    [(SECOND_PART, "changing"), (SERVING_PART, SECOND_PART), ("changing", SERVING_PART)];

/// One of the two vector tables. Vectors do not move between them: at the cut-over the table of the second version
/// becomes the serving one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VectorTable {
    /// The table of the first version.
    #[default]
    First,
    /// The table of the next version. The version after that is in the first table again.
    Second,
}

impl VectorTable {
    /// Both tables.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];

    /// The name of the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "vectors",
            Self::Second => "secondary_vectors",
        }
    }

    /// The name of the table with the token vectors of the same records, in a database that has a table for them.
    pub const fn token_table(self) -> &'static str {
        match self {
            Self::First => "vector_tokens",
            Self::Second => "secondary_vector_tokens",
        }
    }

    /// Returns the table of this name; the first table for any other name.
    pub fn from_name(name: Option<&str>) -> Self {
        if name == Some(Self::Second.name()) { Self::Second } else { Self::First }
    }

    /// The other table.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// The first step of starting a second version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// None: the vectors of this process already serve.
    Serving,
    /// None: the second version was started before.
    Resume,
    /// Empty the other table, and store the space of the second version.
    Create,
}

/// The versions of the vectors in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredEmbeddingVersions {
    /// The space of the serving version; `None` before the store was first opened.
    pub serving: Option<String>,
    /// The space of the second version, if there is one.
    pub second: Option<String>,
    /// The table of the serving version.
    pub table: VectorTable,
}

impl StoredEmbeddingVersions {
    /// Reads one row of `index_metadata`. Rows that do not describe vectors are ignored.
    pub fn read_part(&mut self, part: &str, made_by: String) {
        match part {
            SERVING_PART => self.serving = Some(made_by),
            SECOND_PART => self.second = Some(made_by),
            TABLE_PART => self.table = VectorTable::from_name(Some(&made_by)),
            _ => {}
        }
    }

    /// Returns true if the vectors of this process serve.
    pub fn is_serving(&self, metadata: &IndexMetadata) -> bool {
        self.serving.as_deref() == Some(metadata.space())
    }

    fn is_second(&self, metadata: &IndexMetadata) -> bool {
        self.second.as_deref() == Some(metadata.space())
    }

    /// Returns the role of the version in the space of this process, and its table.
    ///
    /// # Errors
    /// `SchemaMismatch` if the store has no version in that space.
    pub fn role(
        &self,
        metadata: &IndexMetadata,
        operation: &'static str,
    ) -> Result<(EmbeddingVersionRole, VectorTable)> {
        if self.is_serving(metadata) {
            return Ok((EmbeddingVersionRole::Serving, self.table));
        }
        if self.is_second(metadata) {
            return Ok((EmbeddingVersionRole::Second, self.table.other()));
        }
        Err(self.refusal(metadata, operation))
    }

    /// Returns the table that searches read.
    ///
    /// # Errors
    /// `SchemaMismatch` unless the vectors of this process serve.
    pub fn serving_table(&self, metadata: &IndexMetadata, operation: &'static str) -> Result<VectorTable> {
        if self.is_serving(metadata) { Ok(self.table) } else { Err(self.refusal(metadata, operation)) }
    }

    /// Returns the table for the vectors that are written together with new records. `None` while there are two
    /// versions, or while another space serves: then a background job computes the vectors of new records.
    pub fn table_for_new_records(&self, metadata: &IndexMetadata) -> Option<VectorTable> {
        (self.is_serving(metadata) && self.second.is_none()).then_some(self.table)
    }

    /// Returns the error of a search, or of opening a store for searches, if the vectors of this process do not serve.
    pub fn refusal(&self, metadata: &IndexMetadata, operation: &'static str) -> Error {
        if !self.is_second(metadata) {
            return metadata.mismatch(Index::Embedding, self.serving.as_deref(), operation);
        }
        let serving = self.serving.as_deref().unwrap_or("nothing");
        let message = format!(
            "the vectors of '{serving}' serve, and those of '{}' are being made next to them; open the store with \
             Mismatch::Refill to complete them, or with the embedder of '{serving}'",
            metadata.space()
        );
        Error::new(ErrorKind::SchemaMismatch, operation, message)
    }

    /// Decides how a second version in the space of this process starts.
    ///
    /// # Errors
    /// `SchemaMismatch` if there is a second version of another space.
    pub fn begin(&self, metadata: &IndexMetadata) -> Result<Begin> {
        if self.is_serving(metadata) {
            return Ok(Begin::Serving);
        }
        match self.second.as_deref() {
            None => Ok(Begin::Create),
            Some(_) if self.is_second(metadata) => Ok(Begin::Resume),
            Some(second) => {
                let serving = self.serving.as_deref().unwrap_or("nothing");
                let message = format!(
                    "there are vectors of '{second}' next to those of '{serving}' already; remove them first, with \
                     drop_second_embedding_version"
                );
                Err(Error::new(ErrorKind::SchemaMismatch, "reindex", message))
            }
        }
    }
}

#[cfg(test)]
mod tests;
