//! The vector index in memory, its cache and its search.

mod loaded;

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use memory_engine_core::{EmbeddingSpace, Hit, Scope};
use memory_engine_vector_store::{SearchSubset, VectorQuery};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rusqlite::Connection;

pub(super) use self::loaded::LoadedVectors;
use self::loaded::VectorKey;
use crate::{
    cache::{
        file::{CacheBuilder, IndexCacheFile},
        filter_cache::FilterCache,
        format::{SegmentHeader, SegmentRole},
        index_load,
        manifest::Manifest,
        policy::CachePolicy,
        timeline::TimelineWindow,
    },
    database::{
        change_log::{self, Lag},
        error::SqliteError,
    },
    records::found::FoundRow,
    rows::addresses::AddressCache,
    vectors::vector_rows,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// If fewer than one in this many vectors pass a filter, their rows are looked up. Otherwise all vectors are checked in
/// order.
const LOOKUP_MIN_ROWS_PER_MATCH: usize = 16;

/// All vectors of an embedding version, read at the first search and kept up to date with the writes of all processes.
#[derive(Debug)]
pub(crate) struct VectorIndex {
    space: EmbeddingSpace,
    policy: CachePolicy,
    loaded: RwLock<LoadedVectors>,
    /// The cache file; `None` for a handle in another space.
    file: Option<IndexCacheFile>,
    /// The last change that the cache contained when this process last read or flushed it.
    cached_change: AtomicI64,
}

impl VectorIndex {
    /// Returns an index that is not loaded yet.
    pub(crate) fn new(space: EmbeddingSpace, file: Option<IndexCacheFile>) -> Self {
        let loaded = RwLock::new(LoadedVectors::empty(&space, VectorTable::First));
        Self { space, policy: CachePolicy::DEFAULT, loaded, file, cached_change: AtomicI64::new(0) }
    }

    /// Returns true if the cache lags behind the index by more than the flush threshold. Returns false while the index
    /// is being read.
    pub(crate) fn needs_flush(&self) -> bool {
        let Some(loaded) = self.loaded.try_read() else { return false };
        let cached = self.cached_change.load(Relaxed);
        self.file.is_some()
            && loaded.index.len() > self.policy.min_records
            && loaded.newest_change.is_some_and(|newest| newest - cached > self.policy.flush_min_changes)
    }

    /// Returns true if the index is loaded and large enough for a cache.
    pub(crate) fn is_loaded(&self) -> bool {
        let Some(loaded) = self.loaded.try_read() else { return false };
        loaded.newest_change.is_some() && loaded.index.len() > self.policy.min_records
    }

    /// Returns true if the index has been read.
    #[cfg(test)]
    pub(crate) fn has_been_read(&self) -> bool {
        self.loaded.read().newest_change.is_some()
    }

    /// Sets the number of vectors in a segment of a rebuilt cache.
    #[cfg(test)]
    pub(crate) fn set_segment_records(&mut self, records: usize) {
        self.policy.vector_segment_records = records;
    }

    /// Sets the last change that the cache contains.
    pub(crate) fn mark_cached(&self, change: i64) {
        self.cached_change.store(change, Relaxed);
    }

    /// Returns the cache file.
    pub(crate) fn file(&self) -> Option<&IndexCacheFile> {
        self.file.as_ref()
    }

    /// Appends the changes since the last segment to the cache. The transaction must hold the write lock and must have
    /// written nothing itself, because a cache must not contain changes that may be rolled back.
    pub(crate) fn append(
        &self,
        connection: &Connection,
        table: VectorTable,
        manifest: &Manifest,
        newest: i64,
    ) -> Result<(), SqliteError> {
        let Some(file) = &self.file else { return Ok(()) };
        let base_change = manifest.newest_change();
        let obsolete = change_log::changed_rows_up_to(connection, base_change, manifest.last_row())?;
        let mut changed = LoadedVectors::empty(&self.space, table);
        vector_rows::for_each_changed(connection, table, base_change, |vector| changed.insert(vector))?;
        let records = changed.index.len();
        let header = SegmentHeader {
            base_change,
            newest_change: newest,
            records: records as u64,
            obsolete: obsolete.len() as u64,
            last_row: manifest.last_row().max(changed.last_row()),
            role: SegmentRole::Appended,
        };
        file.append(connection, manifest, header, |out| changed.save(&self.space, &obsolete, 0..records, out))
    }

    /// Writes a new cache, in a transaction that holds the write lock. A loaded index is not read again.
    pub(crate) fn rebuild(&self, connection: &Connection, table: VectorTable, newest: i64) -> Result<(), SqliteError> {
        let Some(file) = &self.file else { return Ok(()) };
        let segment_records = self.policy.vector_segment_records;
        if self.is_loaded() {
            let loaded = self.current(connection, table)?;
            let newest = loaded.newest_change.unwrap_or(newest);
            let Some(mut builder) = file.builder(connection, newest)? else { return Ok(()) };
            let records = loaded.index.len();
            let last_row = loaded.last_row();
            for start in (0..records).step_by(segment_records) {
                let rows = start..records.min(start + segment_records);
                builder.push_segment(rows.len(), last_row, |out| loaded.save(&self.space, &[], rows, out));
            }
            builder.publish();
            return Ok(());
        }
        let Some(mut builder) = file.builder(connection, newest)? else { return Ok(()) };
        let mut segment = LoadedVectors::empty(&self.space, table);
        vector_rows::for_each(connection, table, |vector| {
            segment.insert(vector);
            if segment.index.len() == segment_records {
                self.push_segment(&mut builder, &segment);
                segment = LoadedVectors::empty(&self.space, table);
            }
        })?;
        self.push_segment(&mut builder, &segment);
        builder.publish();
        Ok(())
    }

    fn push_segment(&self, builder: &mut CacheBuilder<'_>, segment: &LoadedVectors) {
        let records = segment.index.len();
        let last_row = segment.last_row();
        builder.push_segment(records, last_row, |out| segment.save(&self.space, &[], 0..records, out));
    }

    /// Returns the vectors within `scope` nearest to the query, in the transaction of `connection`. `table` is that of
    /// the embedding version.
    pub(crate) fn search(
        &self,
        connection: &Connection,
        table: VectorTable,
        addresses: &AddressCache,
        filters: &FilterCache,
        scope: &Scope,
        query: &VectorQuery,
    ) -> Result<Vec<FoundRow>, SqliteError> {
        let Some(covered) = addresses.covered_scope(connection, scope)? else { return Ok(Vec::new()) };
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let groups = addresses.scopes_within(connection, &covered)?;
        let window = query.filter.as_ref().and_then(TimelineWindow::of);
        let rows = match &query.filter {
            Some(filter) if window.is_none() => Some(filters.matching_rows(connection, &covered, filter)?),
            _ => None,
        };
        if rows.as_ref().is_some_and(|rows| rows.is_empty()) {
            return Ok(Vec::new());
        }
        let loaded = self.current(connection, table)?;
        let keys: Vec<VectorKey>;
        let is_admitted = |key: &VectorKey| rows.as_ref().is_some_and(|rows| rows.contains(key.row));
        let subset = match (&rows, window) {
            (Some(rows), _) if rows.len() < loaded.index.len() / LOOKUP_MIN_ROWS_PER_MATCH => {
                keys = rows.iter().map(VectorKey::of_row).collect();
                SearchSubset::Keys(&keys)
            }
            (Some(_), _) => SearchSubset::Matching(&is_admitted),
            (None, Some(window)) => {
                keys = loaded.keys_in(window, &groups);
                SearchSubset::Keys(&keys)
            }
            (None, None) => SearchSubset::Groups(&groups),
        };
        // The index allocates memory for `limit` hits.
        let limit = query.limit.min(loaded.index.len());
        let mut lookup = vector_rows::VectorLookup::new(connection, table)?;
        let hits = loaded.index.search_with(&query.embedding, subset, limit, |key| lookup.vector(key.row))?;
        Ok(hits
            .into_iter()
            .map(|(VectorKey { row, id, .. }, score)| FoundRow { row, hit: Hit { id, score } })
            .collect())
    }

    /// Loads the vectors that are not loaded yet.
    pub(crate) fn load(&self, connection: &Connection, table: VectorTable) -> Result<(), SqliteError> {
        self.current(connection, table).map(drop)
    }

    /// Returns the vectors, with at least the changes that this transaction sees. Another search may have read later
    /// ones.
    fn current(
        &self,
        connection: &Connection,
        table: VectorTable,
    ) -> Result<RwLockReadGuard<'_, LoadedVectors>, SqliteError> {
        let loaded = self.loaded.read();
        if change_log::lag(connection, loaded.newest_change_of(table))? == Lag::None {
            return Ok(loaded);
        }
        drop(loaded);
        let mut loaded = self.loaded.write();
        match change_log::lag(connection, loaded.newest_change_of(table))? {
            Lag::None => {}
            Lag::Changes { newest } => {
                let seen = loaded.newest_change.unwrap_or_default();
                for row in change_log::changed_rows(connection, seen)? {
                    loaded.remove(row);
                }
                vector_rows::for_each_changed(connection, table, seen, |vector| loaded.insert(vector))?;
                loaded.newest_change = Some(newest);
            }
            Lag::Unknown { newest } => {
                *loaded = self.read_all(connection, table, newest)?;
                drop(loaded);
                // The cache does not contain the changes since its last segment.
                return self.current(connection, table);
            }
        }
        loaded.sort_timeline_if_due();
        Ok(RwLockWriteGuard::downgrade(loaded))
    }

    /// Reads all vectors, from the cache if it is valid.
    fn read_all(&self, connection: &Connection, table: VectorTable, newest: i64) -> Result<LoadedVectors, SqliteError> {
        index_load::observe_load("vectors", |load| {
            if let Some(cached) = self.read_cache(connection, table)? {
                load.record_file_load(cached.index.len());
                return Ok(cached);
            }
            let capacity = self.policy.min_records.min(vector_rows::last_row(connection, table)? as usize);
            let mut loaded = LoadedVectors::with_capacity(&self.space, table, capacity);
            vector_rows::for_each(connection, table, |vector| loaded.insert(vector))?;
            load.record_row_load(loaded.index.len());
            loaded.newest_change = Some(newest);
            Ok(loaded)
        })
    }

    /// Reads the cache, if it is valid.
    fn read_cache(&self, connection: &Connection, table: VectorTable) -> Result<Option<LoadedVectors>, SqliteError> {
        let Some(file) = &self.file else { return Ok(None) };
        let cached = file.read(
            connection,
            |records| LoadedVectors::with_capacity(&self.space, table, records),
            |loaded, input| loaded.extend(&self.space, input),
        )?;
        let Some((mut loaded, newest)) = cached else { return Ok(None) };
        loaded.index.finish_extending();
        self.mark_cached(newest);
        loaded.newest_change = Some(newest);
        Ok(Some(loaded))
    }
}
