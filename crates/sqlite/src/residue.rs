//! Searches a database for traces of deleted records: every table, every index and every file, or only the rows of the
//! users in question.

mod files;
mod rows;
mod schema;

use std::path::Path;

use memory_engine_core::{
    Result, Scope,
    residue::{ResidueProbes, ResidueReport},
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    database::{connection, error::SqliteError, file::DatabaseFile, schema as database_schema},
    rows::scopes,
};
use rows::RowSearch;

/// The limits of the search of a SQLite database, as sentences of the report.
const LIMITS: [&str; 3] = [
    "copies of the file that something else made: backups, snapshots of the file system, cells of a solid-state drive",
    "bytes of removed index entries may remain in unused parts of pages; they hold ids, which tombstones hold as well",
    "fragments of a deleted text that a remaining record also contains",
];

/// Searches a database file for traces of deleted records. Changes nothing. Reads every table, and with
/// [`SearchExtent::Database`](memory_engine_core::residue::SearchExtent::Database) every file of the database. Blocks
/// the calling thread.
///
/// # Errors
/// `NotFound` if there is no file or no memory in it; otherwise those of
/// [`SqliteStore::open`](crate::SqliteStore::open), except the mismatches of indexes.
pub fn find_residue(file: impl Into<DatabaseFile>, probes: &ResidueProbes) -> Result<ResidueReport> {
    let file = file.into().resolve()?;
    let connection = connection::open_existing(&file)?;
    let search = || {
        let transaction = connection.unchecked_transaction()?;
        let report = search(&transaction, &file.path, probes)?;
        transaction.finish()?;
        Ok(report)
    };
    search().map_err(|error: SqliteError| error.into_error("find residue"))
}

/// Searches the database of a connection, in its transaction.
pub(crate) fn search(
    connection: &Connection,
    path: &Path,
    probes: &ResidueProbes,
) -> Result<ResidueReport, SqliteError> {
    database_schema::read_schema(connection, path)?;
    let mut report = ResidueReport::new(format!("SQLite {}", rusqlite::version()));
    let sql = "SELECT made_by FROM index_metadata WHERE part = 'store id'";
    report.store_id = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    report.limits = LIMITS.map(str::to_owned).to_vec();
    if !probes.covers_database() {
        report.limits.push(ResidueReport::USERS_LIMIT.to_owned());
    }
    let byte_search = probes.byte_search();
    let namespaces = namespace_numbers(connection, probes)?;
    let mut search = RowSearch::new(connection, probes, &byte_search, &namespaces);
    for table in schema::tables(connection)? {
        search.table(&table, &mut report)?;
    }
    let shared = search.into_shared_fragments();
    if probes.covers_database() {
        files::search(path, &byte_search, &shared, &mut report)?;
    }
    find_missing_tombstones(connection, probes, &namespaces, &mut report)?;
    report.sort();
    Ok(report)
}

/// Returns the number of the namespace of each deleted record, and then of each redacted user; `None` for one that the
/// database does not have.
fn namespace_numbers(connection: &Connection, probes: &ResidueProbes) -> Result<Vec<Option<i64>>, SqliteError> {
    let deleted = probes.records.iter().map(|probe| &probe.namespace);
    let mut numbers = Vec::with_capacity(probes.records.len());
    let mut last: Option<(&Scope, Option<i64>)> = None;
    for user in deleted.chain(probes.redacted_users()) {
        let number = match last {
            Some((namespace, number)) if namespace == user => number,
            _ => scopes::namespace(connection, user)?,
        };
        last = Some((user, number));
        numbers.push(number);
    }
    Ok(numbers)
}

fn find_missing_tombstones(
    connection: &Connection,
    probes: &ResidueProbes,
    namespaces: &[Option<i64>],
    report: &mut ResidueReport,
) -> Result<(), SqliteError> {
    let mut statement = connection.prepare("SELECT 1 FROM tombstones WHERE namespace = ?1 AND id = ?2")?;
    for (probe, namespace) in probes.records.iter().zip(namespaces) {
        let key = params![namespace, probe.id.as_bytes().as_slice()];
        if statement.query_row(key, |_| Ok(())).optional()?.is_none() {
            report.missing_tombstones.push(probe.id);
        }
    }
    Ok(())
}
