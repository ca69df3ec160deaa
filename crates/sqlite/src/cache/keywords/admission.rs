//! Checks single records against a filter.

use memory_engine_core::Filter;
use rusqlite::{CachedStatement, Connection};

use memory_engine_sql::filter;

use crate::database::{error::SqliteError, statement::Statement};

/// A prepared statement that checks one record.
pub(super) struct Admission<'c> {
    prepared: CachedStatement<'c>,
    /// Number of the parameter for the row.
    row_parameter: usize,
}

impl<'c> Admission<'c> {
    /// Prepares the statement for a filter.
    pub(super) fn new(connection: &'c Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let mut statement = Statement::new("SELECT 1 FROM records r CROSS JOIN scopes s ON s.scope = r.scope WHERE ");
        filter::write(filter, &mut statement);
        statement.push(" AND r.record = ?");
        let (prepared, row_parameter) = statement.prepare_for_each(connection)?;
        Ok(Self { prepared, row_parameter })
    }

    /// Returns true if the record passes the filter.
    pub(super) fn admits(&mut self, row: i64) -> Result<bool, SqliteError> {
        self.prepared.raw_bind_parameter(self.row_parameter, row)?;
        Ok(self.prepared.raw_query().next()?.is_some())
    }
}
