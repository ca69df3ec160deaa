//! The sets of views for programs that read by SQL.

use std::collections::BTreeSet;

use memory_engine_core::{Error, ErrorKind, ViewSet};
use memory_engine_sql::views::{VIEWS_PART, read_sets, set_names};
use rusqlite::{Connection, OptionalExtension};

use crate::database::{error::SqliteError, index_metadata};

/// The sets that a file can have, with the statements that create their views. Each begins at the start of a line.
pub(crate) const SETS: [(ViewSet, &str); 2] = [
    (ViewSet::Companion, include_str!("../../views/companion.sql")),
    (ViewSet::Story, include_str!("../../views/story.sql")),
];

/// Returns the sets that the database lists as installed. A set that only Postgres has stays in the list, so that a
/// database that is restored from a backup of this one has it again.
pub(crate) fn listed(connection: &Connection) -> Result<BTreeSet<ViewSet>, SqliteError> {
    Ok(read_sets(index_metadata::read(connection, VIEWS_PART)?))
}

/// Replaces the installed sets by others, within the transaction of the connection.
pub(crate) fn replace(connection: &Connection, sets: &BTreeSet<ViewSet>) -> Result<(), SqliteError> {
    for sql in listed(connection)?.into_iter().filter_map(statements) {
        for view in sql.lines().filter_map(|line| line.strip_prefix("CREATE VIEW ")?.split(' ').next()) {
            connection.execute_batch(&format!("DROP VIEW IF EXISTS {view}"))?;
        }
    }
    connection.execute("DELETE FROM index_metadata WHERE part = ?1", [VIEWS_PART])?;
    if !sets.is_empty() {
        index_metadata::write(connection, VIEWS_PART, &set_names(sets))?;
    }
    create_listed(connection)
}

/// Creates the views of the listed sets in a database without them.
pub(crate) fn create_listed(connection: &Connection) -> Result<(), SqliteError> {
    for sql in listed(connection)?.into_iter().filter_map(statements) {
        let taken = "SELECT s.name FROM sqlite_schema s WHERE instr(?1, 'CREATE VIEW ' || lower(s.name) || ' ') > 0";
        if let Some(name) = connection.query_row(taken, [sql], |row| row.get::<_, String>(0)).optional()? {
            let message = format!("another program has created {name}, the name of a view of the set; rename it first");
            return Err(Error::new(ErrorKind::Conflict, "views", message).into());
        }
        connection.execute_batch(sql)?;
    }
    Ok(())
}

/// Returns the statements that create a set; `None` for a set that only Postgres has.
pub(crate) fn statements(set: ViewSet) -> Option<&'static str> {
    SETS.iter().find(|(other, _)| *other == set).map(|(_, sql)| *sql)
}
