//! The epoch and the fingerprint of a cache: they identify the state of the database that the cache belongs to.
//!
//! The epoch is a random number that is stored in the database and in its caches. It ends when data is deleted or
//! replaced, so that no cache with that data is ever read again. The fingerprint detects a database that was restored
//! to an earlier state.

use std::{fs, path::Path};

use memory_engine_core::RecordId;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{cache::format::Stamp, database::error::SqliteError};

/// Key of the epoch in the table `origins`. Part of the format.
const EPOCH_KEY: &str = "side files";

/// Returns the current epoch; `None` if there has been no cache since the last deletion.
pub(crate) fn current(connection: &Connection) -> Result<Option<u64>, SqliteError> {
    let sql = "SELECT made_by FROM origins WHERE part = ?1";
    let epoch: Option<String> = connection.prepare_cached(sql)?.query_row([EPOCH_KEY], |row| row.get(0)).optional()?;
    Ok(epoch.and_then(|epoch| u64::from_str_radix(&epoch, 16).ok()))
}

/// Returns the id of the existing record that changed last, up to a change. It differs in a database that was restored
/// to an earlier state and then written to.
pub(crate) fn fingerprint(connection: &Connection, change: i64) -> Result<Option<u128>, SqliteError> {
    let sql = "SELECT r.id FROM changes c CROSS JOIN records r ON r.record = c.record WHERE c.change <= ?1
        ORDER BY c.change DESC LIMIT 1";
    let id = connection.prepare_cached(sql)?.query_row([change], |row| row.get::<_, [u8; 16]>(0)).optional()?;
    Ok(id.map(u128::from_be_bytes))
}

/// Returns the stamp of a new cache that contains the changes up to `change`. Starts an epoch if there is none. Returns
/// `None` if the log contains no change of an existing record.
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
        .prepare_cached("INSERT OR REPLACE INTO origins (part, made_by) VALUES (?1, ?2)")?
        .execute(params![EPOCH_KEY, format!("{random:016x}")])?;
    Ok(random)
}

/// Ends the epoch and removes all cache files, in the transaction that deletes or replaces data that they may contain.
pub(crate) fn end(connection: &Connection, database: &Path) -> rusqlite::Result<()> {
    let ended_epochs = connection.prepare_cached("DELETE FROM origins WHERE part = ?1")?.execute([EPOCH_KEY])?;
    let (Some(directory), Some(name)) = (database.parent(), database.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    if ended_epochs == 0 {
        return Ok(());
    }
    let is_cache = |entry: &fs::DirEntry| {
        let file = entry.file_name();
        let suffix = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix('-'));
        suffix.is_some_and(|suffix| suffix.starts_with("vectors") || suffix.starts_with("terms"))
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten().filter(is_cache) {
        // Without the epoch the file is never read again. If it cannot be removed now, the next deletion removes it.
        let _ = fs::remove_file(entry.path());
    }
    Ok(())
}
