//! The thresholds of the index caches. `docs/design/index-cache.md` lists them with the measurements behind them.

/// Thresholds for writing index caches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CachePolicy {
    /// Indexes with at most this many records have no cache. Default: 8,000 records. Up to this size a vector index
    /// keeps the full vectors, which a cache does not contain.
    pub(crate) min_records: usize,
    /// A search for one user reads the cache of the tenant if it has at most this many times the records of the user.
    /// Default: 4. A record is read from the cache in about a twentieth of the time that its row takes.
    pub(crate) tenant_cache_max_ratio: u64,
    /// A cache is flushed when it lags by at least this many changes. Default: 7,000 changes, far fewer than the 40,000
    /// that the change log keeps.
    pub(crate) flush_min_changes: i64,
    /// On close, a cache is flushed when it lags by at least this many changes, so that the next open replays fewer.
    /// Default: 1,000 changes.
    pub(crate) close_max_lag: i64,
    /// A connection that has written more rows than this is a bulk import: its caches are built on close even if no
    /// reader has loaded the index. Default: 32,000 rows. A record takes at least four rows, so this is at most 8,000
    /// records.
    pub(crate) bulk_import_min_rows: u64,
    /// Number of vectors in one segment of a rebuilt cache. Default: 8,000, the maximum of an index without sign bits,
    /// so that the sign bits are built only once, at the end of a load.
    pub(crate) vector_segment_records: usize,
    /// Number of documents in one segment of a rebuilt keyword cache. Default: 65,536, the maximum of packed postings.
    pub(crate) keyword_segment_records: usize,
    /// The append file of a keyword cache is compacted when it has at least this many records. Default: 50,000, which
    /// leaves room for one more flush in a packed segment.
    pub(crate) compaction_min_records: u64,
    /// Size of the read buffer for headers and short arrays. Long arrays are read in place. Default: 16 KiB.
    pub(crate) read_buffer_bytes: usize,
    /// Size of the write buffer. Default: 256 KiB.
    pub(crate) write_buffer_bytes: usize,
}

impl CachePolicy {
    /// The values of every store.
    pub(crate) const DEFAULT: Self = Self {
        min_records: 8_000,
        tenant_cache_max_ratio: 4,
        flush_min_changes: 7_000,
        close_max_lag: 1_000,
        bulk_import_min_rows: 4 * 8_000,
        vector_segment_records: 8_000,
        keyword_segment_records: 65_536,
        compaction_min_records: 50_000,
        read_buffer_bytes: 16 << 10,
        write_buffer_bytes: 1 << 18,
    };
}
