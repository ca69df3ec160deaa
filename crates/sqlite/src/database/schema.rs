//! The schema of a database file, and its migrations.

use std::{collections::BTreeSet, path::Path};

use memory_engine_core::{
    Error, ErrorKind,
    observe::{Operation, observe_blocking},
    operation_span,
};
use memory_engine_sql::migrations::Migration;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::database::{error::SqliteError, views};

/// The schema that this version reads and writes.
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// The application id in the header of a memory-engine database: "MemE".
pub(crate) const APPLICATION_ID: i32 = 0x4d65_6d45;

/// The migrations in order. Their number is the schema version.
pub(crate) const MIGRATIONS: &[Migration] = &memory_engine_sql::migrations!();

/// Returns the names of the migrations in order.
pub fn migration_names() -> Vec<&'static str> {
    MIGRATIONS.iter().map(|migration| migration.name).collect()
}

/// Migrates the database to the schema of this version. If several processes open a new file at once, one migrates it,
/// and the others find it migrated.
pub(crate) fn migrate_to_latest(transaction: &Transaction<'_>, path: &Path) -> Result<(), SqliteError> {
    let current = read_schema(transaction, path)?;
    if current == SCHEMA {
        return Ok(());
    }
    // A table cannot be changed under a view.
    let sets = if current == 0 { BTreeSet::new() } else { views::listed(transaction)? };
    if !sets.is_empty() {
        views::replace(transaction, &BTreeSet::new())?;
    }
    for migration in MIGRATIONS.iter().skip(current as usize) {
        run_migration(transaction, migration.name, "up", migration.up)?;
    }
    if !sets.is_empty() {
        views::replace(transaction, &sets)?;
    }
    set_schema(transaction, SCHEMA)
}

/// Runs one migration in a span of its own.
pub(crate) fn run_migration(
    transaction: &Transaction<'_>,
    name: &'static str,
    direction: &'static str,
    sql: &str,
) -> Result<(), SqliteError> {
    let span = operation_span!(
        INFO,
        "memory_engine.store.migrate",
        "db.system.name" = "sqlite",
        migration = name,
        direction = direction,
    );
    observe_blocking(&span, Operation::Unmeasured, SqliteError::kind, || Ok(transaction.execute_batch(sql)?))
}

/// Runs `body` in a write transaction, which is rolled back if it fails.
pub(crate) fn in_transaction(
    connection: &mut Connection,
    body: impl FnOnce(&Transaction<'_>) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    body(&transaction)?;
    Ok(transaction.commit()?)
}

/// Returns the schema of a database, 0 for an empty one.
///
/// # Errors
/// `InvalidInput` if it belongs to another application; `SchemaMismatch` if its schema is newer than this version.
pub(crate) fn read_schema(connection: &Connection, path: &Path) -> Result<u32, SqliteError> {
    let path = path.display();
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let schema: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application == 0 && schema == 0 && tables == 0 {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        let message = format!("{path} is a SQLite database of another application; choose another file");
        return Err(Error::invalid("open", message).into());
    }
    match u32::try_from(schema) {
        Ok(schema) if schema <= SCHEMA => Ok(schema),
        _ => {
            let message =
                format!("{path} was made by a newer memory-engine (schema {schema}, this one knows {SCHEMA}); update");
            Err(Error::new(ErrorKind::SchemaMismatch, "open", message).into())
        }
    }
}

/// Writes the schema into the header of the database. Schema 0 removes the application id.
pub(crate) fn set_schema(transaction: &Transaction<'_>, schema: u32) -> Result<(), SqliteError> {
    let application = if schema == 0 { 0 } else { APPLICATION_ID };
    transaction.pragma_update(None, "application_id", application)?;
    transaction.pragma_update(None, "user_version", schema)?;
    Ok(())
}
