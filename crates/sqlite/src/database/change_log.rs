//! The log of index changes, for processes that keep indexes in memory.

use rusqlite::Connection;

use crate::database::error::SqliteError;

/// Number of changes that the change log keeps. A process that has missed more reads its indexes again.
const LOG_MAX_CHANGES: i64 = 40_000;
/// The change log is trimmed when it exceeds [`LOG_MAX_CHANGES`] by more than this: trimming at each write would write
/// one more page each time.
const LOG_TRIM_SLACK: i64 = 1_000;

/// Logs that the terms or the vector of a record, or fields that filters read, have changed. The random nonce of the
/// change tells it from a change of the same number that was lost when a backup was restored.
pub(crate) fn append(connection: &Connection, row: i64) -> Result<(), SqliteError> {
    connection.prepare_cached("INSERT INTO changes (record, nonce) VALUES (?1, random())")?.execute([row])?;
    Ok(())
}

/// Replaces the log by a gap, so that every process reads its indexes again.
pub(crate) fn invalidate_all(connection: &Connection) -> Result<(), SqliteError> {
    connection.execute_batch(
        "INSERT INTO changes (change, record, nonce) SELECT coalesce(max(change), 0) + 2, 0, random() FROM changes;
         DELETE FROM changes WHERE change < (SELECT max(change) FROM changes);",
    )?;
    Ok(())
}

/// Deletes the oldest changes if the log exceeds its maximum length.
pub(crate) fn trim(connection: &Connection) -> Result<(), SqliteError> {
    let sql = "DELETE FROM changes WHERE change <= (SELECT max(change) FROM changes) - ?1
        AND (SELECT max(change) FROM changes) - (SELECT min(change) FROM changes) > ?2";
    connection.prepare_cached(sql)?.execute([LOG_MAX_CHANGES, LOG_MAX_CHANGES + LOG_TRIM_SLACK])?;
    Ok(())
}

/// The lag of an index behind the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lag {
    /// The index is up to date.
    None,
    /// The log contains the missing changes, up to `newest`.
    Changes { newest: i64 },
    /// The log does not contain all missing changes: the index must be read again. `newest` is the last change.
    Unknown { newest: i64 },
}

/// Returns the lag of an index that contains changes up to `seen`; `None` if the index has not been read.
pub(crate) fn lag(connection: &Connection, seen: Option<i64>) -> Result<Lag, SqliteError> {
    let sql = "SELECT (SELECT min(change) FROM changes), (SELECT max(change) FROM changes)";
    // Both are NULL while the log is empty.
    let (oldest, newest) = connection.prepare_cached(sql)?.query_row([], |row| {
        Ok((row.get::<_, Option<i64>>(0)?.unwrap_or_default(), row.get::<_, Option<i64>>(1)?.unwrap_or_default()))
    })?;
    Ok(match seen {
        Some(seen) if seen >= newest => Lag::None,
        Some(seen) if seen + 1 >= oldest => Lag::Changes { newest },
        Some(_) | None => Lag::Unknown { newest },
    })
}

/// Returns the rows of the records that have changed after `change`.
pub(crate) fn changed_rows(connection: &Connection, change: i64) -> Result<Vec<i64>, SqliteError> {
    let mut prepared = connection.prepare_cached("SELECT DISTINCT record FROM changes WHERE change > ?1")?;
    let rows = prepared.query_map([change], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the rows up to `last_row` of the records that have changed after `change`, ascending.
pub(crate) fn changed_rows_up_to(connection: &Connection, change: i64, last_row: i64) -> Result<Vec<i64>, SqliteError> {
    let sql = "SELECT DISTINCT record FROM changes WHERE change > ?1 AND record <= ?2 ORDER BY record";
    let mut prepared = connection.prepare_cached(sql)?;
    let rows = prepared.query_map([change, last_row], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the number of the last change; 0 if there is none.
pub(crate) fn newest(connection: &Connection) -> Result<i64, SqliteError> {
    let sql = "SELECT coalesce(max(change), 0) FROM changes";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
