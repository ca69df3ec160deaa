//! Compares the index caches with the database, and rebuilds those that disagree with it.
//!
//! A valid cache equals the database by construction. This check detects caches that a fault outside of this crate, or
//! a bug in it, has made wrong.

use std::{fmt, io, path::Path};

use memory_engine_core::EmbeddingSpace;
use memory_engine_keyword_store::SegmentedPostings;
use rusqlite::Connection;
use rustc_hash::FxHashSet;

use crate::{
    cache::{
        file::IndexCacheFile,
        index_caches::{CacheId, IndexCaches},
        keywords, vectors,
    },
    database::{change_log, epoch, error::SqliteError, index_metadata},
    keywords::keyword_rows,
    vectors::vector_rows,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Maximum number of records of each cache that are compared with the database.
const SAMPLE_RECORDS: i64 = 2_000;

/// A cache that disagrees with the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongCache {
    pub(crate) cache: CacheId,
    pub(crate) problem: CacheProblem,
}

/// The disagreement between a cache and the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheProblem {
    /// The file cannot be read to its end, or a checksum is wrong.
    Damaged,
    /// The file is cut before the end of its first segment, or belongs to another database.
    Foreign,
    /// The cache has another number of records than the database.
    Count { cached: u64, stored: u64 },
    /// Records of the sample are missing in the cache or have another content.
    Content { differences: usize, sample: usize },
}

impl fmt::Display for WrongCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cache {
            CacheId::Vectors(_) => f.write_str("the index cache of the vectors ")?,
            CacheId::Postings { tenant } => write!(f, "the index cache of the terms of tenant number {tenant} ")?,
        }
        match self.problem {
            CacheProblem::Damaged => f.write_str("is damaged"),
            CacheProblem::Foreign => f.write_str("is cut, or belongs to another database"),
            CacheProblem::Count { cached, stored } => {
                write!(f, "has {cached} records, and the database has {stored}")
            }
            CacheProblem::Content { differences, sample } => {
                write!(f, "disagrees with the database in {differences} of {sample} records")
            }
        }
    }
}

/// Compares each cache that searches would use with the database. Changes nothing.
pub(crate) fn find_wrong_caches(connection: &Connection, database: &Path) -> Result<Vec<WrongCache>, SqliteError> {
    let mut wrong = Vec::new();
    let versions = index_metadata::versions(connection)?;
    if let Some(space) = versions.serving.as_deref().and_then(EmbeddingSpace::parse) {
        let problem = check_vectors(connection, database, &space, versions.table)?;
        wrong.extend(problem.map(|problem| WrongCache { cache: CacheId::Vectors(versions.table), problem }));
    }
    for tenant in tenants(connection)? {
        let problem = check_postings(connection, database, tenant)?;
        wrong.extend(problem.map(|problem| WrongCache { cache: CacheId::Postings { tenant }, problem }));
    }
    Ok(wrong)
}

/// Removes all caches and rebuilds the wrong ones from the database, in a transaction that holds the write lock. Every
/// process reads its indexes again.
pub(crate) fn rebuild_caches(
    connection: &Connection,
    database: &Path,
    wrong: &[WrongCache],
) -> Result<(), SqliteError> {
    let space = index_metadata::versions(connection)?.serving.as_deref().and_then(EmbeddingSpace::parse);
    let Some(space) = space else { return Ok(()) };
    let caches = IndexCaches::new(database, space);
    let newest = change_log::newest(connection)?;
    wrong.iter().try_for_each(|wrong| caches.rebuild(connection, wrong.cache, newest))
}

/// Ends the epoch, so that no process reads a wrong cache, and lets every process read its indexes again.
pub(crate) fn discard_caches(connection: &Connection, database: &Path) -> Result<(), SqliteError> {
    epoch::end(connection, database)?;
    epoch::remove_files(database);
    change_log::invalidate_all(connection)
}

fn tenants(connection: &Connection) -> Result<Vec<i64>, SqliteError> {
    let mut prepared = connection.prepare_cached("SELECT tenant FROM tenants ORDER BY tenant")?;
    let tenants = prepared.query_map([], |row| row.get(0))?;
    Ok(tenants.collect::<rusqlite::Result<_>>()?)
}

fn check_vectors(
    connection: &Connection,
    database: &Path,
    space: &EmbeddingSpace,
    table: VectorTable,
) -> Result<Option<CacheProblem>, SqliteError> {
    let file = IndexCacheFile::new(database, "vectors");
    if file.is_foreign(connection)? {
        return Ok(Some(CacheProblem::Foreign));
    }
    let read = file.read_unchanged(
        connection,
        |records| vectors::LoadedVectors::with_capacity(space, table, records),
        |loaded, input| loaded.extend(space, input),
    )?;
    let cached = match read {
        Ok(cached) => cached,
        // The cache of the other embedding version. No search in this one uses it.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => None,
        Err(_) => return Ok(Some(CacheProblem::Damaged)),
    };
    let Some((mut cached, newest)) = cached else { return Ok(None) };
    let changed: FxHashSet<i64> = change_log::changed_rows(connection, newest)?.into_iter().collect();
    changed.iter().for_each(|row| cached.remove(*row));
    let mut stored = count(connection, &format!("SELECT count(*) FROM {}", table.name()))?;
    let mut sample = vectors::LoadedVectors::empty(space, table);
    let exists = format!("SELECT count(*) FROM {} WHERE record = ?1", table.name());
    for row in &changed {
        stored -= connection.prepare_cached(&exists)?.query_row([row], |row| row.get::<_, u64>(0))?;
    }
    if cached.index.len() as u64 != stored {
        return Ok(Some(CacheProblem::Count { cached: cached.index.len() as u64, stored }));
    }
    vector_rows::for_each_sampled(connection, table, SAMPLE_RECORDS, |vector| {
        if !changed.contains(&vector.row) {
            sample.insert(vector);
        }
    })?;
    let differences = cached.index.count_differences(&sample.index);
    let sample = sample.index.len();
    Ok((differences > 0).then_some(CacheProblem::Content { differences, sample }))
}

fn check_postings(connection: &Connection, database: &Path, tenant: i64) -> Result<Option<CacheProblem>, SqliteError> {
    let file = keywords::cache_file(database, tenant);
    if file.is_foreign(connection)? {
        return Ok(Some(CacheProblem::Foreign));
    }
    let read = file.read_unchanged(
        connection,
        |_| SegmentedPostings::default(),
        |postings, input| keywords::extend(postings, input).map(drop),
    )?;
    let Ok(cached) = read else { return Ok(Some(CacheProblem::Damaged)) };
    let Some((mut cached, newest)) = cached else { return Ok(None) };
    let changed: FxHashSet<i64> = change_log::changed_rows(connection, newest)?.into_iter().collect();
    for row in &changed {
        cached.remove(*row);
    }
    let mut stored = Vec::new();
    keyword_rows::for_each_of_tenant(connection, tenant, |terms| {
        if !changed.contains(&terms.row) {
            stored.push(terms.row);
        }
        Ok(())
    })?;
    if cached.len() != stored.len() {
        return Ok(Some(CacheProblem::Count { cached: cached.len() as u64, stored: stored.len() as u64 }));
    }
    let step = stored.len().div_ceil(SAMPLE_RECORDS as usize).max(1);
    let sampled: FxHashSet<i64> = stored.into_iter().step_by(step).collect();
    let mut sample = SegmentedPostings::default();
    keyword_rows::for_each_of_tenant(connection, tenant, |terms| {
        if sampled.contains(&terms.row) { keywords::insert(&mut sample, &terms) } else { Ok(()) }
    })?;
    let differences = cached.count_differences(&sample);
    let sample = sample.len();
    Ok((differences > 0).then_some(CacheProblem::Content { differences, sample }))
}

fn count(connection: &Connection, sql: &str) -> Result<u64, SqliteError> {
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
