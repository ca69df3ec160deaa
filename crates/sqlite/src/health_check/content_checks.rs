//! The checks of the contents of a database, which `data/checks.sql` lists.

use memory_engine_core::Finding;
use memory_engine_sql::checks::{self, Check, Placeholders};
use rusqlite::Connection;

use crate::database::error::SqliteError;

const CHECKS: &str = include_str!("../../data/checks.sql");

/// Returns all checks, in the order of their repairs.
pub(crate) fn all() -> Result<Vec<Check>, SqliteError> {
    Ok(checks::parse(CHECKS)?)
}

/// Runs one check.
pub(crate) fn find(
    connection: &Connection,
    check: &Check,
    placeholders: &Placeholders,
) -> Result<Option<Finding>, SqliteError> {
    let summary = connection.query_row(&check.summary(placeholders), [], |row| {
        Ok((row.get("problems")?, row.get("first")?, row.get("last")?))
    });
    let (problems, first, last) = summary?;
    Ok(check.finding(problems, first, last))
}
