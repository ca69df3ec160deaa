//! The indexes of a database in memory, with their caches.

use std::{path::Path, sync::Arc};

use memory_engine_core::EmbeddingSpace;
use rusqlite::Connection;

use crate::{
    cache::{
        file::IndexCacheFile, filter_cache::FilterCache, keywords::KeywordIndex, manifest::Manifest,
        vectors::VectorIndex,
    },
    database::error::SqliteError,
    rows::addresses::AddressCache,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// The loaded addresses, filter matches, postings and vectors.
#[derive(Debug, Clone)]
pub(crate) struct IndexCaches {
    pub(crate) addresses: Arc<AddressCache>,
    pub(crate) filters: Arc<FilterCache>,
    pub(crate) keywords: Arc<KeywordIndex>,
    pub(crate) vectors: Arc<VectorIndex>,
}

/// Identifies one cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CacheId {
    /// The vectors in a table.
    Vectors(VectorTable),
    /// The postings of a tenant.
    Postings {
        /// Number of the tenant.
        tenant: i64,
    },
}

impl IndexCaches {
    /// Returns the indexes of a database. They are not loaded yet.
    pub(crate) fn new(database: &Path, space: EmbeddingSpace) -> Self {
        Self {
            addresses: Arc::default(),
            filters: Arc::default(),
            keywords: Arc::new(KeywordIndex::new(database.to_owned())),
            vectors: Arc::new(VectorIndex::new(space, Some(IndexCacheFile::new(database, "vectors")))),
        }
    }

    /// Returns the indexes of a database that has no cache files. They are not loaded yet.
    pub(crate) fn without_files(space: EmbeddingSpace) -> Self {
        Self {
            addresses: Arc::default(),
            filters: Arc::default(),
            keywords: Arc::new(KeywordIndex::without_files()),
            vectors: Arc::new(VectorIndex::new(space, None)),
        }
    }

    /// Returns true if the database has cache files.
    pub(crate) fn has_files(&self) -> bool {
        self.keywords.has_files()
    }

    /// Returns true if the cache of a loaded index lags by more than the flush threshold.
    pub(crate) fn needs_flush(&self) -> bool {
        self.vectors.needs_flush() || !self.keywords.tenants_to_flush().is_empty()
    }

    /// Returns true if an index that is large enough for a cache is loaded.
    pub(crate) fn any_loaded(&self) -> bool {
        self.vectors.is_loaded() || !self.keywords.loaded_tenants().is_empty()
    }

    /// Returns the manifest of a cache, if the cache is valid.
    pub(crate) fn manifest(&self, connection: &Connection, cache: CacheId) -> Result<Option<Manifest>, SqliteError> {
        match cache {
            CacheId::Vectors(_) => match self.vectors.file() {
                Some(file) => file.manifest(connection),
                None => Ok(None),
            },
            CacheId::Postings { tenant } => self.keywords.file(tenant).manifest(connection),
        }
    }

    /// Appends the changes since the last segment to a cache.
    pub(crate) fn append(
        &self,
        connection: &Connection,
        cache: CacheId,
        manifest: &Manifest,
        newest: i64,
    ) -> Result<(), SqliteError> {
        match cache {
            CacheId::Vectors(table) => self.vectors.append(connection, table, manifest, newest),
            CacheId::Postings { tenant } => self.keywords.append(connection, tenant, manifest, newest),
        }
    }

    /// Writes a new cache in place of the old one.
    pub(crate) fn rebuild(&self, connection: &Connection, cache: CacheId, newest: i64) -> Result<(), SqliteError> {
        match cache {
            CacheId::Vectors(table) => self.vectors.rebuild(connection, table, newest),
            CacheId::Postings { tenant } => self.keywords.rebuild(connection, tenant, newest),
        }
    }

    /// Sets the last change that a cache contains.
    pub(crate) fn mark_cached(&self, cache: CacheId, change: i64) {
        match cache {
            CacheId::Vectors(_) => self.vectors.mark_cached(change),
            CacheId::Postings { tenant } => self.keywords.mark_cached(tenant, change),
        }
    }
}
