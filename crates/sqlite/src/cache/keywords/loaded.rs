//! The postings of one user or one tenant in memory.

use std::io;

use memory_engine_core::{Result as CoreResult, packed_terms};
use memory_engine_keyword_store::SegmentedPostings;
use parking_lot::RwLock;
use rusqlite::Connection;

use crate::{
    cache::{
        file::IndexCacheFile,
        format::{SegmentReader, SegmentWriter},
        index_load,
    },
    database::{
        change_log::{self, Lag},
        error::SqliteError,
    },
    keywords::keyword_rows::{self, StoredTerms},
};

/// The owner of postings.
#[derive(Debug, Clone, Copy)]
pub(super) enum PostingsOwner {
    /// A user, by the number of the namespace.
    User(i64),
    /// A tenant, with all of its users.
    Tenant(i64),
}

/// Postings, and the last change of the database that they contain.
#[derive(Debug, Default)]
pub(super) struct LoadedPostings {
    pub(super) postings: SegmentedPostings,
    /// The last change that the postings contain; `None` before they were read.
    pub(super) newest_change: Option<i64>,
    /// The last change that the cache contained when this process last read or flushed it.
    pub(super) cached_change: i64,
}

impl LoadedPostings {
    /// Returns true if the postings have been read.
    pub(super) fn is_loaded(&self) -> bool {
        self.newest_change.is_some()
    }

    /// Returns true if the cache lags by more than this many changes.
    pub(super) fn cache_lags_by(&self, changes: i64) -> bool {
        self.newest_change.is_some_and(|newest| newest - self.cached_change > changes)
    }
}

impl PostingsOwner {
    fn read_all(self, connection: &Connection, postings: &mut SegmentedPostings) -> Result<(), SqliteError> {
        let insert = |stored: StoredTerms<'_>| insert(postings, &stored);
        match self {
            Self::User(namespace) => keyword_rows::for_each_of_user(connection, namespace, insert),
            Self::Tenant(tenant) => keyword_rows::for_each_of_tenant(connection, tenant, insert),
        }
    }

    fn read_changed(
        self,
        connection: &Connection,
        change: i64,
        postings: &mut SegmentedPostings,
    ) -> Result<(), SqliteError> {
        let insert = |stored: StoredTerms<'_>| insert(postings, &stored);
        match self {
            Self::User(namespace) => keyword_rows::for_each_changed_of_user(connection, namespace, change, insert),
            Self::Tenant(tenant) => keyword_rows::for_each_changed_of_tenant(connection, tenant, change, insert),
        }
    }
}

/// Adds the terms of a record.
pub(in crate::cache) fn insert(postings: &mut SegmentedPostings, stored: &StoredTerms<'_>) -> Result<(), SqliteError> {
    let terms = packed_terms::pairs(stored.terms, stored.counts).collect::<CoreResult<Vec<_>>>()?;
    postings.insert(stored.row, stored.id, stored.scope, stored.length, terms);
    Ok(())
}

/// Writes the body of a segment: the rows that it makes obsolete in earlier segments, and the postings.
pub(super) fn save(postings: &SegmentedPostings, obsolete: &[i64], out: &mut SegmentWriter) -> io::Result<()> {
    out.deltas(obsolete.iter().copied())?;
    postings.save(out)
}

/// Adds a segment. Returns the rows that it makes obsolete.
pub(in crate::cache) fn extend(
    postings: &mut SegmentedPostings,
    input: &mut SegmentReader<'_>,
) -> io::Result<Vec<i64>> {
    let obsolete = input.deltas()?;
    for row in &obsolete {
        postings.remove(*row);
    }
    postings.extend(input)?;
    Ok(obsolete)
}

/// Loads or updates the postings, so that they contain at least the changes that this transaction sees. Reads the cache
/// if there is one.
pub(super) fn bring_up_to_date(
    connection: &Connection,
    owner: PostingsOwner,
    shared: &RwLock<LoadedPostings>,
    cache: Option<&IndexCacheFile>,
) -> Result<(), SqliteError> {
    if change_log::lag(connection, shared.read().newest_change)? == Lag::None {
        return Ok(());
    }
    let mut loaded = shared.write();
    let mut lag = change_log::lag(connection, loaded.newest_change)?;
    if let Lag::Unknown { newest } = lag {
        load(connection, owner, &mut loaded, cache, newest)?;
        lag = change_log::lag(connection, loaded.newest_change)?;
    }
    match lag {
        Lag::None => {}
        Lag::Changes { newest } => {
            let seen = loaded.newest_change.unwrap_or_default();
            for row in change_log::changed_rows(connection, seen)? {
                loaded.postings.remove(row);
            }
            owner.read_changed(connection, seen, &mut loaded.postings)?;
            loaded.newest_change = Some(newest);
        }
        // The cache lags by more than the change log holds.
        Lag::Unknown { newest } => load(connection, owner, &mut loaded, None, newest)?,
    }
    Ok(())
}

/// Reads all postings, from the cache if there is a valid one.
fn load(
    connection: &Connection,
    owner: PostingsOwner,
    loaded: &mut LoadedPostings,
    cache: Option<&IndexCacheFile>,
    newest: i64,
) -> Result<(), SqliteError> {
    index_load::observe_load("postings", |load| {
        let cached = match cache {
            Some(cache) => cache.read(
                connection,
                |_| SegmentedPostings::default(),
                |postings, input| extend(postings, input).map(drop),
            )?,
            None => None,
        };
        if let Some((postings, newest)) = cached {
            load.record_file_load(postings.len());
            *loaded = LoadedPostings { postings, newest_change: Some(newest), cached_change: newest };
            return Ok(());
        }
        // If reading fails half-way, the postings count as not loaded.
        loaded.newest_change = None;
        loaded.postings = SegmentedPostings::default();
        owner.read_all(connection, &mut loaded.postings)?;
        load.record_row_load(loaded.postings.len());
        loaded.newest_change = Some(newest);
        Ok(())
    })
}
