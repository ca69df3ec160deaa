//! The schema of a database file, and its migrations.

use std::path::Path;

use memory_engine_core::{
    Error, ErrorKind,
    observe::{Operation, observe_blocking},
    operation_span,
};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::database::error::SqliteError;

/// The schema that this version reads and writes.
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// The application id in the header of a memory-engine database: "MemE".
pub(crate) const APPLICATION_ID: i32 = 0x4d65_6d45;

/// The migration to each schema from the one before, and back.
pub(crate) const MIGRATIONS: [(&str, &str); 21] = [
    (include_str!("../../migrations/0001_initial.up.sql"), include_str!("../../migrations/0001_initial.down.sql")),
    (include_str!("../../migrations/0002_synonyms.up.sql"), include_str!("../../migrations/0002_synonyms.down.sql")),
    (include_str!("../../migrations/0003_life.up.sql"), include_str!("../../migrations/0003_life.down.sql")),
    (include_str!("../../migrations/0004_changes.up.sql"), include_str!("../../migrations/0004_changes.down.sql")),
    (include_str!("../../migrations/0005_graph.up.sql"), include_str!("../../migrations/0005_graph.down.sql")),
    (include_str!("../../migrations/0006_companion.up.sql"), include_str!("../../migrations/0006_companion.down.sql")),
    (
        include_str!("../../migrations/0007_generations.up.sql"),
        include_str!("../../migrations/0007_generations.down.sql"),
    ),
    (include_str!("../../migrations/0008_waiting.up.sql"), include_str!("../../migrations/0008_waiting.down.sql")),
    (include_str!("../../migrations/0009_postings.up.sql"), include_str!("../../migrations/0009_postings.down.sql")),
    (include_str!("../../migrations/0010_counts.up.sql"), include_str!("../../migrations/0010_counts.down.sql")),
    (
        include_str!("../../migrations/0011_relation_rule.up.sql"),
        include_str!("../../migrations/0011_relation_rule.down.sql"),
    ),
    (
        include_str!("../../migrations/0012_lease_owners.up.sql"),
        include_str!("../../migrations/0012_lease_owners.down.sql"),
    ),
    (
        include_str!("../../migrations/0013_token_vectors.up.sql"),
        include_str!("../../migrations/0013_token_vectors.down.sql"),
    ),
    (include_str!("../../migrations/0014_story.up.sql"), include_str!("../../migrations/0014_story.down.sql")),
    (
        include_str!("../../migrations/0015_change_marks.up.sql"),
        include_str!("../../migrations/0015_change_marks.down.sql"),
    ),
    (
        include_str!("../../migrations/0016_lease_start.up.sql"),
        include_str!("../../migrations/0016_lease_start.down.sql"),
    ),
    (
        include_str!("../../migrations/0017_record_groups.up.sql"),
        include_str!("../../migrations/0017_record_groups.down.sql"),
    ),
    (
        include_str!("../../migrations/0018_pin_and_expiry.up.sql"),
        include_str!("../../migrations/0018_pin_and_expiry.down.sql"),
    ),
    (include_str!("../../migrations/0019_audit_log.up.sql"), include_str!("../../migrations/0019_audit_log.down.sql")),
    (
        include_str!("../../migrations/0020_neighbor_index.up.sql"),
        include_str!("../../migrations/0020_neighbor_index.down.sql"),
    ),
    (
        include_str!("../../migrations/0021_damaged_metadata.up.sql"),
        include_str!("../../migrations/0021_damaged_metadata.down.sql"),
    ),
];

/// The names of the migrations.
pub const MIGRATIONS_BY_NAME: [&str; MIGRATIONS.len()] = [
    "0001_initial",
    "0002_synonyms",
    "0003_life",
    "0004_changes",
    "0005_graph",
    "0006_companion",
    "0007_generations",
    "0008_waiting",
    "0009_postings",
    "0010_counts",
    "0011_relation_rule",
    "0012_lease_owners",
    "0013_token_vectors",
    "0014_story",
    "0015_change_marks",
    "0016_lease_start",
    "0017_record_groups",
    "0018_pin_and_expiry",
    "0019_audit_log",
    "0020_neighbor_index",
    "0021_damaged_metadata",
];

/// Migrates the database to the schema of this version. If several processes open a new file at once, one migrates it,
/// and the others find it migrated.
pub(crate) fn migrate_to_latest(transaction: &Transaction<'_>, path: &Path) -> Result<(), SqliteError> {
    let current = read_schema(transaction, path)?;
    if current == SCHEMA {
        return Ok(());
    }
    for ((up, _), name) in MIGRATIONS.iter().zip(MIGRATIONS_BY_NAME).skip(current as usize) {
        run_migration(transaction, name, "up", up)?;
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
