//! The epoch and the fingerprint of a cache: they identify the state of the database that the cache belongs to.
//!
//! The epoch is a random number that is stored in the database and in its caches. It ends when data is deleted or
//! replaced, so that no cache with that data is ever read again. The fingerprint detects a database that was restored
//! to an earlier state.

use std::{fs, path::Path};

use memory_engine_core::RecordId;
use rusqlite::{Connection, OptionalExtension, params};

use crate::database::error::SqliteError;

/// Key of the epoch in the table `index_metadata`. Part of the format.
const EPOCH_KEY: &str = "cache epoch";
/// Key of the store id in the table `index_metadata`. A migration writes it.
const STORE_ID_KEY: &str = "store id";

/// Identifies the state of the database that a segment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Random number that changes when data is deleted or replaced.
    pub(crate) epoch: u64,
    /// The store id and the nonce of the newest change.
    pub(crate) fingerprint: u128,
}

/// Returns the current epoch; `None` if there has been no cache since the last deletion.
pub(crate) fn current(connection: &Connection) -> Result<Option<u64>, SqliteError> {
    stored_number(connection, EPOCH_KEY)
}

fn stored_number(connection: &Connection, key: &str) -> Result<Option<u64>, SqliteError> {
    let sql = "SELECT made_by FROM index_metadata WHERE part = ?1";
    let hex: Option<String> = connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
    Ok(hex.and_then(|hex| u64::from_str_radix(&hex, 16).ok()))
}

/// Returns the fingerprint of the database as of a change: the store id and the nonce of the change, two random
/// numbers. It differs in another database, and in one that was restored to an earlier state and then written to.
/// Returns `None` if the log does not contain the change.
pub(crate) fn fingerprint(connection: &Connection, change: i64) -> Result<Option<u128>, SqliteError> {
    let Some(store_id) = stored_number(connection, STORE_ID_KEY)? else { return Ok(None) };
    let sql = "SELECT nonce FROM changes WHERE change = ?1";
    let nonce = connection.prepare_cached(sql)?.query_row([change], |row| row.get::<_, i64>(0)).optional()?;
    Ok(nonce.map(|nonce| u128::from(store_id) << 64 | u128::from(nonce.cast_unsigned())))
}

/// Returns the stamp of a new cache that contains the changes up to `change`. Starts an epoch if there is none. Returns
/// `None` if the log does not contain the change.
pub(crate) fn stamp(connection: &Connection, change: i64) -> Result<Option<Stamp>, SqliteError> {
    let Some(fingerprint) = fingerprint(connection, change)? else { return Ok(None) };
    let epoch = match current(connection)? {
        Some(epoch) => epoch,
        None => start(connection)?,
    };
    Ok(Some(Stamp { epoch, fingerprint }))
}

fn start(connection: &Connection) -> Result<u64, SqliteError> {
    let random = u128::from_be_bytes(*RecordId::new().as_bytes()) as u64;
    connection
        .prepare_cached("INSERT OR REPLACE INTO index_metadata (part, made_by) VALUES (?1, ?2)")?
        .execute(params![EPOCH_KEY, format!("{random:016x}")])?;
    Ok(random)
}

/// Ends the epoch and removes all cache files, in the transaction that deletes or replaces data that they may contain.
pub(crate) fn end(connection: &Connection, database: &Path) -> rusqlite::Result<()> {
    let ended_epochs = connection.prepare_cached("DELETE FROM index_metadata WHERE part = ?1")?.execute([EPOCH_KEY])?;
    if ended_epochs > 0 {
        remove_files(database);
    }
    Ok(())
}

/// Removes all cache files next to a database, or next to a link to it. Without an epoch they are never read again. A
/// file that cannot be removed now is removed with the next deletion.
pub(crate) fn remove_files(database: &Path) {
    let (Some(directory), Some(name)) = (database.parent(), database.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let is_cache = |entry: &fs::DirEntry| {
        let file = entry.file_name();
        let suffix = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix('-'));
        suffix.is_some_and(|suffix| suffix.starts_with("vectors") || suffix.starts_with("terms"))
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten().filter(is_cache) {
        let _ = fs::remove_file(entry.path());
    }
}
