//! What of a file is kept in memory, and beside it.

use std::{path::Path, sync::Arc};

use memory_core::EmbeddingSpace;
use rusqlite::Connection;

use crate::{
    changes::LAG,
    directory::Directory,
    failure::Failure,
    generations,
    keyword_index::KeywordIndex,
    migration::in_transaction,
    origin::Origin,
    scopes,
    side_file::{self, SideFile},
    vector_index::VectorIndex,
};

/// How many rows are much to have written: a record is four at the least, and a change for the side files.
const ROWS: u64 = 4 * LAG as u64;

/// The addresses, the terms and the vectors of a file.
#[derive(Debug, Clone)]
pub(crate) struct Caches {
    pub(crate) directory: Arc<Directory>,
    pub(crate) keywords: Arc<KeywordIndex>,
    pub(crate) vectors: Arc<VectorIndex>,
}

impl Caches {
    /// Those of a file, of which nothing has been read.
    pub(crate) fn new(path: &Path, space: EmbeddingSpace) -> Self {
        Self {
            directory: Arc::default(),
            keywords: Arc::new(KeywordIndex::new(path.to_owned())),
            vectors: Arc::new(VectorIndex::new(space, Some(SideFile::of(path, "vectors")))),
        }
    }

    /// Whether one of them has changed so much that its side file is to be written.
    pub(crate) fn are_to_be_kept(&self) -> bool {
        self.vectors.is_to_be_kept() || !self.keywords.to_be_kept().is_empty()
    }

    /// Writes the side files that are to be written, in a transaction of its own.
    pub(crate) fn keep(&self, connection: &mut Connection, origin: &Origin) -> Result<(), Failure> {
        if !self.are_to_be_kept() {
            return Ok(());
        }
        in_transaction(connection, |transaction| {
            if self.vectors.is_to_be_kept() {
                self.keep_vectors(transaction, origin)?;
            }
            self.keywords.to_be_kept().into_iter().try_for_each(|tenant| self.keywords.keep(transaction, tenant))
        })
    }

    /// The same when the file is closed. Whoever has written much has everything read for it, so that the next one who opens
    /// the file need not; files that went with something that was deleted are written again, without it.
    pub(crate) fn keep_at_the_end(&self, connection: &mut Connection, origin: &Origin) -> Result<(), Failure> {
        if connection.total_changes() > ROWS {
            in_transaction(connection, |transaction| {
                self.keep_vectors(transaction, origin)?;
                let mut tenants = scopes::tenants(transaction)?.into_iter();
                tenants.try_for_each(|tenant| self.keywords.keep(transaction, tenant))
            })?;
        }
        if !side_file::are_there(connection)? {
            self.vectors.has_lost_its_file();
            self.keywords.has_lost_its_files();
        }
        self.keep(connection, origin)
    }

    fn keep_vectors(&self, connection: &Connection, origin: &Origin) -> Result<(), Failure> {
        match generations::home(connection, origin)? {
            Some(table) => self.vectors.keep(connection, table),
            None => Ok(()),
        }
    }
}
