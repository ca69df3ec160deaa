//! What of a file is kept in memory, and beside it.

use std::{path::Path, sync::Arc};

use memory_engine_core::EmbeddingSpace;

use crate::{
    cache::directory::Directory, cache::keyword_index::KeywordIndex, cache::side_file::SideFile,
    cache::vector_index::VectorIndex,
};

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

    /// Whether one of them knows so much that its side file lacks that this is to be written.
    pub(crate) fn are_to_be_kept(&self) -> bool {
        self.vectors.is_to_be_kept() || !self.keywords.to_be_kept().is_empty()
    }
}
