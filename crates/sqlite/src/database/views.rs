//! Installs and removes the sets of views for programs that read by SQL.

use std::collections::BTreeSet;

use memory_engine_core::{Error, ErrorKind, Result, ViewSet};
use memory_engine_sql::views::{VIEWS_PART, read_sets, set_names};
use rusqlite::{Connection, OptionalExtension};

use crate::database::{connection, error::SqliteError, file::DatabaseFile, index_metadata, schema};

/// The sets that a file can have, with the statements that create their views. Each begins at the start of a line.
const SETS: [(ViewSet, &str); 2] = [
    (ViewSet::Companion, include_str!("../../views/companion.sql")),
    (ViewSet::Story, include_str!("../../views/story.sql")),
];

/// Installs a set of views in a file, which may be in use. Replaces the set if it is installed, and migrates the file
/// to the schema of this version. Blocks the calling thread.
///
/// # Errors
/// Those of [`migrate_up`](crate::migrate_up); `Unsupported` for a set that only Postgres has; `Conflict` if a table or
/// a view of another program has the name of a view.
pub fn install_views(file: impl Into<DatabaseFile>, set: ViewSet) -> Result<()> {
    if statements(set).is_none() {
        let names = SETS.map(|(set, _)| set.as_str()).join(" and ");
        let message = format!("a SQLite file can have the views {names}; only Postgres has the views {set}");
        return Err(Error::new(ErrorKind::Unsupported, "views", message));
    }
    change(file.into(), |sets| sets.insert(set))
}

/// Removes a set of views from a file, which may be in use. Blocks the calling thread.
///
/// # Errors
/// Those of [`migrate_up`](crate::migrate_up).
pub fn remove_views(file: impl Into<DatabaseFile>, set: ViewSet) -> Result<()> {
    change(file.into(), |sets| sets.remove(&set))
}

/// Returns the sets of views that are installed in a file. Blocks the calling thread.
///
/// # Errors
/// Those of [`schema`](crate::schema()).
pub fn installed_views(file: impl Into<DatabaseFile>) -> Result<BTreeSet<ViewSet>> {
    let file = file.into();
    let connection = connection::open_existing(&file)?;
    let run = || {
        let schema = schema::read_schema(&connection, &file.path)?;
        let mut sets = if schema == 0 { BTreeSet::new() } else { listed(&connection)? };
        sets.retain(|set| statements(*set).is_some());
        Ok(sets)
    };
    run().map_err(|failure: SqliteError| failure.into_error("views"))
}

fn change(file: DatabaseFile, edit: impl FnOnce(&mut BTreeSet<ViewSet>) -> bool) -> Result<()> {
    let path = &file.path;
    connection::check_path(path)?;
    let mut connection =
        connection::open_writer(&file, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    let changed = schema::in_transaction(&mut connection, |transaction| {
        schema::migrate_to_latest(transaction, path)?;
        let mut sets = listed(transaction)?;
        edit(&mut sets);
        replace(transaction, &sets)
    });
    connection::close(connection);
    changed.map_err(|failure| failure.into_error("views"))
}

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
        let taken = "SELECT s.name FROM sqlite_schema s WHERE instr(?1, 'CREATE VIEW ' || s.name || ' ') > 0";
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
