//! The records that pass a filter, in memory.
//!
//! A search with a filter needs the rows of all records that pass it, and evaluating a filter on every record of a large memory
//! takes longer than the search. The rows of the latest filters are therefore kept, and brought up to date by evaluating a
//! filter on the records that have changed since.

use std::sync::Arc;

use memory_engine_core::Filter;
use memory_engine_sql::filter;
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::{
    cache::{
        change_log::{self, Lag},
        row_set::RowSet,
    },
    database::{error::SqliteError, statement::Statement},
    records::scopes::Reach,
};

/// Number of filters whose rows are kept. The rows of one take a bit for each record of the database.
const MAX_FILTERS: usize = 16;

/// The rows that pass the latest filters.
#[derive(Debug, Default)]
pub(crate) struct FilterRows {
    /// The last used one at the end.
    latest: Mutex<Vec<Kept>>,
}

#[derive(Debug)]
struct Kept {
    filter: Filter,
    tenant: i64,
    namespace: Option<i64>,
    below: Vec<(&'static str, String)>,
    /// Locked while they are evaluated: of several searches at once, one does it.
    evaluated: Arc<Mutex<Evaluated>>,
}

/// Rows, and how far they follow the database.
#[derive(Debug, Default)]
struct Evaluated {
    rows: Arc<RowSet>,
    /// The last change that the rows contain; `None` before they were read.
    newest_change: Option<i64>,
}

impl FilterRows {
    /// Returns the rows of the active records within reach that pass a filter, as of this transaction or later.
    pub(crate) fn matching(
        &self,
        connection: &Connection,
        reach: &Reach,
        filter: &Filter,
    ) -> Result<Arc<RowSet>, SqliteError> {
        if reach.is_narrow() {
            // A conversation: few records, which are read faster than they would be found here.
            let mut rows = RowSet::default();
            evaluate(connection, reach, filter, None, &mut rows)?;
            return Ok(Arc::new(rows));
        }
        let evaluated = self.evaluated(reach, filter);
        let mut evaluated = evaluated.lock();
        evaluated.bring_up_to_date(connection, reach, filter)?;
        Ok(Arc::clone(&evaluated.rows))
    }

    fn evaluated(&self, reach: &Reach, filter: &Filter) -> Arc<Mutex<Evaluated>> {
        let mut latest = self.latest.lock();
        let kept = match latest.iter().position(|kept| kept.is_of(reach, filter)) {
            Some(place) => latest.remove(place),
            None => {
                if latest.len() >= MAX_FILTERS {
                    latest.remove(0);
                }
                Kept::new(reach, filter)
            }
        };
        let evaluated = Arc::clone(&kept.evaluated);
        latest.push(kept);
        evaluated
    }
}

impl Kept {
    fn new(reach: &Reach, filter: &Filter) -> Self {
        Self {
            filter: filter.clone(),
            tenant: reach.tenant,
            namespace: reach.namespace,
            below: reach.below().to_vec(),
            evaluated: Arc::default(),
        }
    }

    fn is_of(&self, reach: &Reach, filter: &Filter) -> bool {
        (self.tenant, self.namespace) == (reach.tenant, reach.namespace)
            && self.below == reach.below()
            && self.filter == *filter
    }
}

impl Evaluated {
    fn bring_up_to_date(&mut self, connection: &Connection, reach: &Reach, filter: &Filter) -> Result<(), SqliteError> {
        let newest = match change_log::lag(connection, self.newest_change)? {
            Lag::None => return Ok(()),
            Lag::Changes { newest } => {
                let seen = self.newest_change.unwrap_or_default();
                // If evaluating fails half-way, the rows count as not read.
                self.newest_change = None;
                let rows = Arc::make_mut(&mut self.rows);
                for row in change_log::changed_rows(connection, seen)? {
                    rows.remove(row);
                }
                evaluate(connection, reach, filter, Some(seen), rows)?;
                newest
            }
            Lag::Unknown { newest } => {
                self.newest_change = None;
                let mut rows = RowSet::default();
                evaluate(connection, reach, filter, None, &mut rows)?;
                self.rows = Arc::new(rows);
                newest
            }
        };
        self.newest_change = Some(newest);
        Ok(())
    }
}

/// Adds the rows of the active records within reach that pass a filter: of all, or of those that changed after a change.
fn evaluate(
    connection: &Connection,
    reach: &Reach,
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
            reach.covers(&mut statement);
        }
        None if reach.below().is_empty() => {
            statement.push("records r INDEXED BY records_by_namespace");
            if filter::reads_address(filter) {
                statement.push(" CROSS JOIN scopes s ON s.scope = r.scope");
            }
            reach.namespaces("r.namespace", statement.push(" WHERE "));
        }
        None => {
            statement.push("scopes s CROSS JOIN records r INDEXED BY records_by_scope ON r.scope = s.scope WHERE ");
            reach.scopes(&mut statement);
        }
    }
    filter::write(filter, statement.push(" AND r.state = 'active' AND "));
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut found = prepared.query(values)?;
    while let Some(row) = found.next()? {
        rows.insert(row.get(0)?);
    }
    Ok(())
}
