//! The log of what has changed in the indexes, for processes that keep them in memory.

use rusqlite::Connection;

use crate::database::error::SqliteError;

/// How many changes the log keeps. A process that has missed more reads an index anew.
const KEPT: i64 = 40_000;

/// How many more there may be before it is shortened: doing so at each write would write one page more each time.
const SPARE: i64 = 1000;

/// From how many changes on that a side file lacks they are added to it: long before the log lacks them.
pub(crate) const LAG: i64 = 7000;

/// Notes that the terms or the vector of a record have changed.
pub(crate) fn note(connection: &Connection, row: i64) -> Result<(), SqliteError> {
    connection.prepare_cached("INSERT INTO changes (record) VALUES (?1)")?.execute([row])?;
    Ok(())
}

/// Notes that nothing is as it was, so that whoever keeps an index reads it anew.
pub(crate) fn note_all(connection: &Connection) -> Result<(), SqliteError> {
    connection.execute_batch(
        "INSERT INTO changes (change, record) SELECT coalesce(max(change), 0) + 2, 0 FROM changes;
         DELETE FROM changes WHERE change < (SELECT max(change) FROM changes);",
    )?;
    Ok(())
}

/// Shortens the log when it is too long.
pub(crate) fn forget_old(connection: &Connection) -> Result<(), SqliteError> {
    let sql = "DELETE FROM changes WHERE change <= (SELECT max(change) FROM changes) - ?1
        AND (SELECT max(change) FROM changes) - (SELECT min(change) FROM changes) > ?2";
    connection.prepare_cached(sql)?.execute([KEPT, KEPT + SPARE])?;
    Ok(())
}

/// What has happened since an index was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing.
    None,
    /// What [`since`] lists, up to this change.
    Until(i64),
    /// More than the log holds: everything has to be read, and is then as of this change.
    Everything(i64),
}

/// What is new to an index that has seen this change; `None` for one that has not been read.
pub(crate) fn news(connection: &Connection, seen: Option<i64>) -> Result<News, SqliteError> {
    let sql = "SELECT (SELECT min(change) FROM changes), (SELECT max(change) FROM changes)";
    let (first, last): (Option<i64>, Option<i64>) =
        connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (first, last) = first.zip(last).unwrap_or_default();
    Ok(match seen {
        Some(seen) if seen >= last => News::None,
        Some(seen) if seen + 1 >= first => News::Until(last),
        Some(_) | None => News::Everything(last),
    })
}

/// The records that have changed after `change`.
pub(crate) fn since(connection: &Connection, change: i64) -> Result<Vec<i64>, SqliteError> {
    let mut prepared = connection.prepare_cached("SELECT DISTINCT record FROM changes WHERE change > ?1")?;
    let rows = prepared.query_map([change], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Those among them that are no greater than `row`.
pub(crate) fn up_to(connection: &Connection, change: i64, row: i64) -> Result<Vec<i64>, SqliteError> {
    let sql = "SELECT DISTINCT record FROM changes WHERE change > ?1 AND record <= ?2 ORDER BY record";
    let mut prepared = connection.prepare_cached(sql)?;
    let rows = prepared.query_map([change, row], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The last change; 0 before the first.
pub(crate) fn last(connection: &Connection) -> Result<i64, SqliteError> {
    let sql = "SELECT coalesce(max(change), 0) FROM changes";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
