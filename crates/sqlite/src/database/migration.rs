//! Migrates database files that no store has open.

use std::collections::BTreeSet;

use memory_engine_core::{Error, ErrorKind, Result, ViewSet};
use rusqlite::Transaction;

use crate::database::{
    connection, epoch,
    error::SqliteError,
    file::DatabaseFile,
    schema::{MIGRATIONS, SCHEMA, in_transaction, migrate_to_latest, read_schema, run_migration, set_schema},
    views,
};

/// Migrates a database file to the schema of this version, as opening it does. Creates the file if it does not exist.
/// Returns its previous schema. Blocks the calling thread.
///
/// # Errors
/// Those of [`SqliteStore::open`](crate::SqliteStore::open), except the mismatches of indexes, which stay as they are.
pub fn migrate_up(file: impl Into<DatabaseFile>) -> Result<u32> {
    let file = file.into();
    let path = &file.path;
    connection::check_path(path)?;
    let mut connection =
        connection::open_writer(&file, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    let mut previous = SCHEMA;
    in_transaction(&mut connection, |transaction| {
        previous = read_schema(transaction, path)?;
        migrate_to_latest(transaction, path)
    })
    .map_err(|failure| failure.into_error("migrate"))?;
    connection::close(connection);
    Ok(previous)
}

/// Installs a set of views in a file, which may be in use. Replaces the set if it is installed, and migrates the file
/// to the schema of this version. Blocks the calling thread.
///
/// # Errors
/// Those of [`migrate_up`](crate::migrate_up); `Unsupported` for a set that only Postgres has; `Conflict` if a table or
/// a view of another program has the name of a view.
pub fn install_views(file: impl Into<DatabaseFile>, set: ViewSet) -> Result<()> {
    if views::statements(set).is_none() {
        let names = views::SETS.map(|(set, _)| set.as_str()).join(" and ");
        let message = format!("a SQLite file can have the views {names}; only Postgres has the views {set}");
        return Err(Error::new(ErrorKind::Unsupported, "views", message));
    }
    change_views(file.into(), |sets| sets.insert(set))
}

/// Removes a set of views from a file, which may be in use. Blocks the calling thread.
///
/// # Errors
/// Those of [`migrate_up`](crate::migrate_up).
pub fn remove_views(file: impl Into<DatabaseFile>, set: ViewSet) -> Result<()> {
    change_views(file.into(), |sets| sets.remove(&set))
}

/// Returns the sets of views that are installed in a file. Blocks the calling thread.
///
/// # Errors
/// Those of [`schema`](crate::schema()).
pub fn installed_views(file: impl Into<DatabaseFile>) -> Result<BTreeSet<ViewSet>> {
    let file = file.into();
    let connection = connection::open_existing(&file)?;
    let run = || {
        let schema = read_schema(&connection, &file.path)?;
        let mut sets = if schema == 0 { BTreeSet::new() } else { views::listed(&connection)? };
        sets.retain(|set| views::statements(*set).is_some());
        Ok(sets)
    };
    run().map_err(|failure: SqliteError| failure.into_error("views"))
}

fn change_views(file: DatabaseFile, edit: impl FnOnce(&mut BTreeSet<ViewSet>) -> bool) -> Result<()> {
    let path = &file.path;
    connection::check_path(path)?;
    let mut connection =
        connection::open_writer(&file, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    let changed = in_transaction(&mut connection, |transaction| {
        migrate_to_latest(transaction, path)?;
        let mut sets = views::listed(transaction)?;
        edit(&mut sets);
        views::replace(transaction, &sets)
    });
    connection::close(connection);
    changed.map_err(|failure| failure.into_error("views"))
}

/// Returns the schema of a database file, 0 for an empty one. Blocks the calling thread.
///
/// # Errors
/// `NotFound` if there is no file; otherwise those of [`SqliteStore::open`](crate::SqliteStore::open), except the
/// mismatches of indexes.
pub fn schema(file: impl Into<DatabaseFile>) -> Result<u32> {
    let file = file.into();
    let connection = connection::open_existing(&file)?;
    read_schema(&connection, &file.path).map_err(|failure| failure.into_error("migrate"))
}

/// Migrates a database file that no process has open back to an earlier schema; 0 empties it. Removes the installed
/// sets of views. Waits up to 5 seconds for other writers, and blocks the calling thread.
///
/// # Errors
/// Those of [`SqliteStore::open`](crate::SqliteStore::open), and `InvalidInput` for a schema that is later than that of
/// the file.
pub fn migrate_down(file: impl Into<DatabaseFile>, schema: u32) -> Result<()> {
    let file = file.into().resolve()?;
    let path = &file.path;
    connection::check_exists(path)?;
    let mut connection =
        connection::open_writer(&file, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    let revert = |transaction: &Transaction<'_>| {
        let current = read_schema(transaction, path)?;
        if schema > current {
            let path = path.display();
            let message = format!("{path} has schema {current}, which is before {schema}; choose at most {current}");
            return Err(Error::invalid("migrate", message).into());
        }
        if current > 0 {
            views::replace(transaction, &BTreeSet::new())?;
        }
        for migration in MIGRATIONS[schema as usize..current as usize].iter().rev() {
            run_migration(transaction, migration.name, "down", migration.down)?;
        }
        set_schema(transaction, schema)
    };
    in_transaction(&mut connection, revert).map_err(|failure| failure.into_error("migrate"))?;
    // An earlier schema may have no place for the epoch, and would not remove these files with the data in them.
    epoch::remove_files(path);
    connection::close(connection);
    Ok(())
}
