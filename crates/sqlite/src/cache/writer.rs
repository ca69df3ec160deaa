//! Writes the index caches from the writer thread.
//!
//! An index cache lets a large database open without reading every row. It is append-only: each flush adds a segment
//! with the changes since the one before. Between flushes a cache lags behind the database by fewer than
//! [`CachePolicy::flush_min_changes`] changes; readers replay the rest from the change log.
//!
//! A flush runs in its own transaction after the user's transaction has committed, so a cache never contains a change
//! that could still be rolled back.

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use crate::{
    cache::{
        index_caches::{CacheId, IndexCaches},
        manifest::Manifest,
        policy::CachePolicy,
        tenant_sizes::TenantSizes,
    },
    database::{change_log, error::SqliteError, index_metadata, schema::in_transaction},
};
use memory_engine_sql::embedding_versions::VectorTable;
use memory_engine_sql::index_metadata::IndexMetadata;

/// Decides when caches are flushed, and flushes them.
#[derive(Debug)]
pub(crate) struct CacheWriter {
    caches: IndexCaches,
    metadata: IndexMetadata,
    policy: CachePolicy,
    /// `Connection::total_changes` at the last flush.
    rows_at_last_flush: u64,
    /// The newest change at the first flush. Counts as the last rebuild of a cache that was not rebuilt yet.
    first_flush: Option<i64>,
    /// The newest change when each cache was last rebuilt.
    rebuilt_at: FxHashMap<CacheId, i64>,
    tenant_sizes: TenantSizes,
}

/// The reason for a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlushReason {
    /// Enough has been written since the last flush, or a reader has requested it.
    Due,
    /// The database is being closed.
    Closing,
}

/// A cache that may be flushed.
#[derive(Debug)]
struct FlushCandidate {
    cache: CacheId,
    /// True if the index is loaded, so that writing its cache does not read it from the database.
    is_in_memory: bool,
    /// Number of records; `None` if it has to be counted.
    records: Option<u64>,
}

/// The action of a flush for one cache.
#[derive(Debug)]
enum FlushPlan {
    /// The cache is recent enough, or is not needed. `cached` is the last change it contains, if it exists.
    Skip { cached: Option<i64> },
    /// Append one segment.
    Append(Manifest),
    /// Write the cache from the beginning: it does not exist yet, or it needs compaction.
    Rebuild,
}

impl CacheWriter {
    /// Returns a writer that has flushed nothing yet.
    pub(crate) fn new(caches: IndexCaches, metadata: IndexMetadata) -> Self {
        Self {
            caches,
            metadata,
            policy: CachePolicy::DEFAULT,
            rows_at_last_flush: 0,
            first_flush: None,
            rebuilt_at: FxHashMap::default(),
            tenant_sizes: TenantSizes::default(),
        }
    }

    /// Flushes the caches if enough has been written since the last flush, or if a cache lags far behind a loaded
    /// index.
    ///
    /// # Errors
    /// Returns the error of the database. The caches stay valid.
    pub(crate) fn flush_if_due(&mut self, connection: &mut Connection) -> Result<(), SqliteError> {
        if !self.caches.has_files() {
            return Ok(());
        }
        let rows = connection.total_changes();
        let has_written_much = rows - self.rows_at_last_flush >= self.policy.flush_min_changes as u64;
        if !has_written_much && !self.caches.needs_flush() {
            return Ok(());
        }
        self.rows_at_last_flush = rows;
        in_transaction(connection, |transaction| self.flush(transaction, FlushReason::Due))
    }

    /// Flushes the caches of a database that is being closed, so that the next open is fast. Does nothing for a
    /// process that wrote little and has loaded no large index.
    ///
    /// # Errors
    /// Returns the error of the database. The caches stay valid.
    pub(crate) fn flush_on_close(&mut self, connection: &mut Connection) -> Result<(), SqliteError> {
        if !self.caches.has_files() {
            return Ok(());
        }
        let has_written_little = connection.total_changes() < self.policy.close_max_lag as u64;
        if has_written_little && !self.caches.any_loaded() {
            return Ok(());
        }
        in_transaction(connection, |transaction| self.flush(transaction, FlushReason::Closing))
    }

    fn flush(&mut self, connection: &Connection, reason: FlushReason) -> Result<(), SqliteError> {
        let newest = change_log::newest(connection)?;
        for candidate in self.candidates(connection, reason)? {
            let cache = candidate.cache;
            let cached = match self.plan(connection, &candidate, newest, reason)? {
                FlushPlan::Skip { cached } => cached,
                FlushPlan::Append(manifest) => {
                    self.caches.append(connection, cache, &manifest, newest)?;
                    Some(newest)
                }
                FlushPlan::Rebuild => {
                    self.caches.rebuild(connection, cache, newest)?;
                    Some(newest)
                }
            };
            if let Some(change) = cached {
                self.caches.mark_cached(cache, change);
            }
        }
        Ok(())
    }

    /// Returns the caches that may need a flush: the vectors, and the postings of large tenants.
    fn candidates(&mut self, connection: &Connection, reason: FlushReason) -> Result<Vec<FlushCandidate>, SqliteError> {
        let mut candidates = Vec::new();
        if let Some(table) = index_metadata::versions(connection)?.table_for_new_records(&self.metadata) {
            let is_in_memory = match reason {
                FlushReason::Due => self.caches.vectors.needs_flush(),
                FlushReason::Closing => self.caches.vectors.is_loaded(),
            };
            candidates.push(FlushCandidate { cache: CacheId::Vectors(table), is_in_memory, records: None });
        }
        if connection.total_changes() >= self.policy.close_max_lag as u64 {
            self.tenant_sizes.update(connection, self.policy.min_records, reason == FlushReason::Closing)?;
        }
        let loaded = match reason {
            FlushReason::Due => self.caches.keywords.tenants_to_flush(),
            FlushReason::Closing => self.caches.keywords.loaded_tenants(),
        };
        let mut tenants: FxHashMap<i64, (u64, bool)> = FxHashMap::default();
        for (tenant, records) in loaded {
            tenants.insert(tenant, (records as u64, true));
        }
        for (tenant, records) in self.tenant_sizes.larger_than(self.policy.min_records) {
            tenants.entry(tenant).or_insert((records, false)).0 = records;
        }
        for (tenant, (records, is_in_memory)) in tenants {
            let cache = CacheId::Postings { tenant };
            candidates.push(FlushCandidate { cache, is_in_memory, records: Some(records) });
        }
        Ok(candidates)
    }

    /// Chooses between skipping, appending and rebuilding.
    ///
    /// A missing cache is built if its content is in memory, at the end of a bulk import, or when the index has grown
    /// by half since the last rebuild: reading a large index from the database only to cache it would slow down
    /// writers.
    fn plan(
        &mut self,
        connection: &Connection,
        candidate: &FlushCandidate,
        newest: i64,
        reason: FlushReason,
    ) -> Result<FlushPlan, SqliteError> {
        let first_flush = *self.first_flush.get_or_insert(newest);
        let changes_since_rebuild = newest - self.rebuilt_at.get(&candidate.cache).copied().unwrap_or(first_flush);
        let min_records = self.policy.min_records;
        match self.caches.manifest(connection, candidate.cache)? {
            Some(manifest) => {
                if newest - manifest.newest_change() < self.min_flush_lag(reason) {
                    return Ok(FlushPlan::Skip { cached: Some(manifest.newest_change()) });
                }
                if !manifest.needs_compaction(min_records) || changes_since_rebuild < min_records as i64 {
                    return Ok(FlushPlan::Append(manifest));
                }
            }
            None => {
                let records = match (candidate.records, candidate.cache) {
                    (Some(records), _) => records,
                    (None, CacheId::Vectors(table)) => count_vectors(connection, table, min_records)?,
                    (None, CacheId::Postings { .. }) => 0,
                };
                let is_bulk_import =
                    reason == FlushReason::Closing && connection.total_changes() > self.policy.bulk_import_min_rows;
                let has_grown_by_half = changes_since_rebuild >= (records / 2) as i64;
                let is_worthwhile = candidate.is_in_memory || is_bulk_import || has_grown_by_half;
                if records <= min_records as u64 || !is_worthwhile {
                    return Ok(FlushPlan::Skip { cached: None });
                }
            }
        }
        self.rebuilt_at.insert(candidate.cache, newest);
        Ok(FlushPlan::Rebuild)
    }

    /// Returns the minimum lag of a cache that is flushed, in changes.
    fn min_flush_lag(&self, reason: FlushReason) -> i64 {
        match reason {
            FlushReason::Due => self.policy.flush_min_changes,
            FlushReason::Closing => self.policy.close_max_lag,
        }
    }
}

/// Counts the vectors in a table. If there are more than `limit`, returns an upper bound instead, which needs no scan.
fn count_vectors(connection: &Connection, table: VectorTable, limit: usize) -> Result<u64, SqliteError> {
    let sql = format!(
        "SELECT (SELECT coalesce(max(record), 0) FROM {0}), (SELECT count(*) FROM (SELECT 1 FROM {0} LIMIT {1}))",
        table.name(),
        limit + 1
    );
    let (upper_bound, counted) =
        connection.prepare_cached(&sql)?.query_row([], |row| Ok((row.get::<_, u64>(0)?, row.get(1)?)))?;
    Ok(if counted > limit as u64 { upper_bound.max(counted) } else { counted })
}
