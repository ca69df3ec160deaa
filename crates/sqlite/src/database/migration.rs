//! Migrating files that no store has open.

use std::path::Path;

use memory_engine_core::{Error, Result};
use rusqlite::Transaction;

use crate::database::{
    connection,
    schema::{MIGRATIONS, MIGRATIONS_BY_NAME, SCHEMA, in_transaction, mark, recognise, run_migration, up},
};

/// Brings a database file to the schema of this version, as opening it does, and gives the schema that it had. Of a
/// file that is not there a new one is made.
///
/// Call it from a place that may block.
///
/// # Errors
/// Those of [`SqliteStore::open`](crate::SqliteStore::open) but for the mismatches, which are left alone.
pub fn migrate_up(path: &Path) -> Result<u32> {
    connection::check_path(path)?;
    let mut connection = connection::open_writer(path, connection::DEFAULT_BUSY_TIMEOUT, connection::PAGE)?;
    let mut found = SCHEMA;
    in_transaction(&mut connection, |transaction| {
        found = recognise(transaction, path)?;
        up(transaction, path)
    })
    .map_err(|failure| failure.into_error("migrate"))?;
    connection::close(connection);
    Ok(found)
}

/// The schema of a database file, 0 for an empty one. Call it from a place that may block.
///
/// # Errors
/// `NotFound` when there is no file; else those of [`SqliteStore::open`](crate::SqliteStore::open) but for the
/// mismatches.
pub fn schema(path: &Path) -> Result<u32> {
    let connection = connection::open_existing(path)?;
    recognise(&connection, path).map_err(|failure| failure.into_error("migrate"))
}

/// Takes a database file that no process has open back to an earlier schema; 0 empties it.
///
/// It waits for other writers as long as is usual. Call it from a place that may block.
///
/// # Errors
/// Those of [`SqliteStore::open`](crate::SqliteStore::open), and `InvalidInput` for a schema that is later than the
/// file's.
pub fn migrate_down(path: &Path, schema: u32) -> Result<()> {
    connection::must_exist(path)?;
    let mut connection = connection::open_writer(path, connection::DEFAULT_BUSY_TIMEOUT, connection::PAGE)?;
    let down = |transaction: &Transaction<'_>| {
        let found = recognise(transaction, path)?;
        if schema > found {
            let message = format!("{} has schema {found}, which is before {schema}", path.display());
            return Err(Error::invalid("migrate", message).into());
        }
        for step in (schema..found).rev() {
            run_migration(transaction, MIGRATIONS_BY_NAME[step as usize], "down", MIGRATIONS[step as usize].1)?;
        }
        mark(transaction, schema)
    };
    in_transaction(&mut connection, down).map_err(|failure| failure.into_error("migrate"))?;
    connection::close(connection);
    Ok(())
}
