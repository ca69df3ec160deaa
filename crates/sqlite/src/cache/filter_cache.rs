//! Caches the rows that match recently used filters.
//!
//! Evaluating a filter on every record of a large user or database takes longer than the search. The cache keeps the
//! matching rows of the most recently used filters, and updates them from the change log.

use std::sync::Arc;

use memory_engine_core::Filter;
use memory_engine_sql::filter;
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::{
    cache::row_set::RowSet,
    database::{
        change_log::{self, Lag},
        error::SqliteError,
        statement::Statement,
    },
    rows::scopes::CoveredScope,
};

/// Number of filters that are cached regardless of their size. One takes at most one bit per record of the database.
const MIN_CACHED_FILTERS: usize = 16;
/// Maximum number of cached filters: a server with many users has a filter for each of them.
const MAX_CACHED_FILTERS: usize = 1000;
/// Maximum size of all matches together, as long as there are more than [`MIN_CACHED_FILTERS`].
const MAX_CACHED_BYTES: usize = 8 << 20;

/// The matching rows of the most recently used filters.
#[derive(Debug, Default)]
pub(crate) struct FilterCache {
    /// In the order of their last use, the latest at the end.
    entries: Mutex<Vec<CachedFilter>>,
}

#[derive(Debug)]
struct CachedFilter {
    filter: Filter,
    tenant: i64,
    namespace: Option<i64>,
    dimensions: Vec<(&'static str, String)>,
    /// Locked during evaluation, so that concurrent searches with the same filter evaluate it once.
    matches: Arc<Mutex<FilterMatches>>,
}

/// The rows that match a filter, up to a change.
#[derive(Debug, Default)]
struct FilterMatches {
    rows: Arc<RowSet>,
    /// The last change that the rows contain; `None` before they were read.
    newest_change: Option<i64>,
}

impl FilterCache {
    /// Returns the rows of the covered records that match the filter, in any state, after at least the changes that
    /// this transaction sees. Callers look for them in an index that has active records only.
    pub(crate) fn matching_rows(
        &self,
        connection: &Connection,
        covered: &CoveredScope,
        filter: &Filter,
    ) -> Result<Arc<RowSet>, SqliteError> {
        if covered.is_narrow() {
            // A session or branch has few records. Reading them is fast, and does not evict other filters.
            let mut rows = RowSet::default();
            evaluate(connection, covered, filter, None, &mut rows)?;
            return Ok(Arc::new(rows));
        }
        let matches = self.matches_of(covered, filter);
        let mut matches = matches.lock();
        matches.refresh(connection, covered, filter)?;
        self.limit_size(matches.rows.bytes());
        Ok(Arc::clone(&matches.rows))
    }

    /// Removes the least recently used filters that exceed the maximum size, if each takes `bytes`. Their sizes are
    /// similar: matches have a bit for every row up to their last one.
    fn limit_size(&self, bytes: usize) {
        let max_filters = (MAX_CACHED_BYTES / bytes.max(1)).clamp(MIN_CACHED_FILTERS, MAX_CACHED_FILTERS);
        let mut entries = self.entries.lock();
        let excess = entries.len().saturating_sub(max_filters);
        entries.drain(..excess);
    }

    /// Returns the cached matches of a filter; empty ones if it is new.
    fn matches_of(&self, covered: &CoveredScope, filter: &Filter) -> Arc<Mutex<FilterMatches>> {
        let mut entries = self.entries.lock();
        let entry = match entries.iter().position(|entry| entry.has_key(covered, filter)) {
            Some(index) => entries.remove(index),
            None => CachedFilter::new(covered, filter),
        };
        let matches = Arc::clone(&entry.matches);
        entries.push(entry);
        matches
    }
}

impl CachedFilter {
    fn new(covered: &CoveredScope, filter: &Filter) -> Self {
        Self {
            filter: filter.clone(),
            tenant: covered.tenant,
            namespace: covered.namespace,
            dimensions: covered.dimensions().to_vec(),
            matches: Arc::default(),
        }
    }

    fn has_key(&self, covered: &CoveredScope, filter: &Filter) -> bool {
        self.tenant == covered.tenant
            && self.namespace == covered.namespace
            && self.dimensions == covered.dimensions()
            && self.filter == *filter
    }
}

impl FilterMatches {
    fn refresh(&mut self, connection: &Connection, covered: &CoveredScope, filter: &Filter) -> Result<(), SqliteError> {
        let newest = match change_log::lag(connection, self.newest_change)? {
            Lag::None => return Ok(()),
            Lag::Changes { newest } => {
                let seen = self.newest_change.unwrap_or_default();
                // If the evaluation fails half-way, the next call reads all rows again.
                self.newest_change = None;
                let rows = Arc::make_mut(&mut self.rows);
                for row in change_log::changed_rows(connection, seen)? {
                    rows.remove(row);
                }
                evaluate(connection, covered, filter, Some(seen), rows)?;
                newest
            }
            Lag::Unknown { newest } => {
                self.newest_change = None;
                let mut rows = RowSet::default();
                evaluate(connection, covered, filter, None, &mut rows)?;
                self.rows = Arc::new(rows);
                newest
            }
        };
        self.newest_change = Some(newest);
        Ok(())
    }
}

/// Adds the rows of the covered records that match the filter: all of them, or with `changed_after` only those that the
/// change log lists after that change. States are not compared, so that a filter by time reads nothing but an index.
fn evaluate(
    connection: &Connection,
    covered: &CoveredScope,
    filter: &Filter,
    changed_after: Option<i64>,
    rows: &mut RowSet,
) -> Result<(), SqliteError> {
    let mut statement = Statement::new("SELECT r.record FROM ");
    match changed_after {
        Some(change) => {
            statement.push("(SELECT DISTINCT record FROM changes WHERE change > ").bind(change);
            statement.push(
                ") c CROSS JOIN records r ON r.record = c.record CROSS JOIN scopes s ON s.scope = r.scope WHERE ",
            );
            covered.push_condition_for_scope(&mut statement);
        }
        None if covered.dimensions().is_empty() => {
            statement.push("records r INDEXED BY records_by_namespace");
            if filter::reads_address(filter) {
                statement.push(" CROSS JOIN scopes s ON s.scope = r.scope");
            }
            covered.push_namespace_condition("r.namespace", statement.push(" WHERE "));
        }
        None => {
            statement.push("scopes s CROSS JOIN records r INDEXED BY records_by_scope ON r.scope = s.scope WHERE ");
            covered.push_scope_condition(&mut statement);
        }
    }
    filter::write(filter, statement.push(" AND "));
    statement.for_each(connection, |row| {
        rows.insert(row.get(0)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use memory_engine_core::{Field, Scope};

    use super::*;

    fn covered(namespace: i64) -> CoveredScope {
        CoveredScope::new(1, Some(namespace), &Scope::user("lin").unwrap())
    }

    /// Returns true if the matches of a user's filter are still cached.
    fn is_cached(cache: &FilterCache, namespace: i64) -> bool {
        let entries = cache.entries.lock();
        entries.iter().any(|entry| entry.namespace == Some(namespace))
    }

    #[test]
    fn small_matches_of_many_users_stay_cached_and_large_ones_do_not() {
        let cache = FilterCache::default();
        let filter = Filter::eq(Field::Kind, "turn");
        for namespace in 0..500 {
            cache.matches_of(&covered(namespace), &filter);
            cache.limit_size(13_000);
        }
        assert!((0..500).all(|namespace| is_cached(&cache, namespace)));
        cache.matches_of(&covered(3), &filter);
        cache.limit_size(2 * MAX_CACHED_BYTES);
        let left: Vec<i64> = (0..500).filter(|namespace| is_cached(&cache, *namespace)).collect();
        assert_eq!((left.len(), left[0], left[1]), (MIN_CACHED_FILTERS, 3, 485), "the latest are kept");
    }
}
