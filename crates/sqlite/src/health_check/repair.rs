//! Repairs the findings of a health check, each kind in one transaction that holds the write lock. Differences of the
//! schema are found before the transaction that repairs them.

use std::path::Path;

use memory_engine_core::{Error, ErrorKind, Finding, ProblemKind, Timestamp};
use memory_engine_sql::checks::Placeholders;
use rusqlite::{Connection, Transaction};

use crate::{
    cache::check,
    database::{error::SqliteError, file::DatabaseFile, index_metadata, schema},
    health_check::{content_checks, functions, integrity, schema_objects::SchemaDifferences},
};

/// Repairs all repairable problems. Returns a description of each repair, and of each that failed.
///
/// # Errors
/// An error of a check or of a cache, even if earlier repairs are complete.
pub(crate) fn run(
    connection: &mut Connection,
    file: &DatabaseFile,
    now: Timestamp,
) -> Result<Vec<String>, SqliteError> {
    let path = &file.path;
    let schema = schema::read_schema(connection, path)?;
    if schema != schema::SCHEMA {
        let message = format!("the database has schema {schema}, not {}; migrate it first", schema::SCHEMA);
        return Err(Error::new(ErrorKind::SchemaMismatch, "repair", message).into());
    }
    functions::define(connection)?;
    let mut repaired = repair_schema(connection)?;
    repaired.extend(repair_contents(connection, path, now)?);
    // An encrypted file has no caches.
    if file.key.is_none() {
        repaired.extend(repair_caches(connection, path)?);
    }
    Ok(repaired)
}

/// Creates missing indexes and views, and rebuilds indexes that disagree with their table.
fn repair_schema(connection: &mut Connection) -> Result<Vec<String>, SqliteError> {
    let mut repaired = Vec::new();
    let damages = integrity::check(connection)?;
    let differences = SchemaDifferences::of(connection)?;
    if damages.iter().any(|finding| finding.kind == ProblemKind::FileDamaged) || differences.prevents_checks() {
        let message = "the file is damaged, or tables are missing; restore it from a backup";
        return Err(Error::new(ErrorKind::Corrupt, "repair", message).into());
    }
    if let Some(finding) = damages.iter().find(|finding| finding.kind == ProblemKind::IndexInvalid) {
        let result = schema::in_transaction(connection, |transaction| Ok(transaction.execute_batch("REINDEX")?));
        repaired.push(describe(finding, result));
    }
    for (kind, statements) in &differences.repairs {
        let result = schema::in_transaction(connection, |transaction| Ok(transaction.execute_batch(statements)?));
        let finding = differences.findings.iter().find(|finding| finding.kind == *kind);
        repaired.extend(finding.map(|finding| describe(finding, result)));
    }
    Ok(repaired)
}

/// Runs the repairs of the data file whose check finds a problem, in order.
fn repair_contents(connection: &mut Connection, path: &Path, now: Timestamp) -> Result<Vec<String>, SqliteError> {
    let mut repaired = Vec::new();
    for check in content_checks::all()? {
        let Some(repair) = check.repair else { continue };
        // The embedding versions are read for each check, because a repair may change them.
        let placeholders = Placeholders::new(&index_metadata::versions(connection)?, now);
        let mut found = None;
        let result = schema::in_transaction(connection, |transaction: &Transaction<'_>| {
            found = content_checks::find(transaction, &check, &placeholders)?;
            if found.is_none() {
                return Ok(());
            }
            transaction.execute_batch(&placeholders.fill(repair))?;
            if is_cached(check.kind) { check::discard_caches(transaction, path) } else { Ok(()) }
        });
        match found {
            Some(finding) => repaired.push(describe(&finding, result)),
            None => result?,
        }
    }
    Ok(repaired)
}

/// Returns true if a repair of this kind changes tables whose contents are in index caches.
fn is_cached(kind: ProblemKind) -> bool {
    let uncached = ["queue-", "tombstone-", "derivation-", "graph-"];
    !uncached.iter().any(|prefix| kind.as_str().starts_with(prefix))
}

fn repair_caches(connection: &mut Connection, path: &Path) -> Result<Vec<String>, SqliteError> {
    let mut wrong = Vec::new();
    schema::in_transaction(connection, |transaction| {
        wrong = check::find_wrong_caches(transaction, path)?;
        if wrong.is_empty() { Ok(()) } else { check::discard_caches(transaction, path) }
    })?;
    // In a second transaction, because a cache must not contain changes that may be rolled back.
    schema::in_transaction(connection, |transaction| check::rebuild_caches(transaction, path, &wrong))?;
    Ok(wrong.iter().map(|wrong| format!("{}: {wrong}", ProblemKind::CacheWrong)).collect())
}

fn describe(finding: &Finding, result: Result<(), SqliteError>) -> String {
    match result {
        Ok(()) => finding.repaired(),
        Err(error) => finding.not_repaired(&error.into_error("repair")),
    }
}
