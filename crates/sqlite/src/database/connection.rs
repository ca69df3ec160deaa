//! Connections, set up alike.

use std::{fs, path::Path, time::Duration};

use memory_engine_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags, ffi::ErrorCode};

use crate::{
    database::error::{SqliteError, meaning},
    database::schema,
    metadata_sql,
    options::SqliteOptions,
};

/// Default time that a connection waits for another one that is writing.
pub(crate) const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Time that a checkpoint waits for readers.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(250);

/// Refuses a path at which there can be no database, before SQLite says less about it.
pub(crate) fn check_path(path: &Path) -> Result<()> {
    let name = path.display();
    if path.is_dir() {
        return Err(Error::invalid("open", format!("{name} is a directory; name a file within it")));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |kind, message| Err(Error::new(kind, "open", message));
    let may_write = |path: &Path| fs::metadata(path).is_ok_and(|about| !about.permissions().readonly());
    if !directory.is_dir() {
        let message = format!("the directory {} does not exist; create it first", directory.display());
        return wrong(ErrorKind::NotFound, message);
    }
    if path.exists() && !may_write(path) {
        return wrong(ErrorKind::Unauthorized, format!("{name} is read-only; make it writable"));
    }
    if !may_write(directory) {
        let message = format!(
            "the directory {} is read-only; SQLite writes its log next to the database, so make the directory writable",
            directory.display()
        );
        return wrong(ErrorKind::Unauthorized, message);
    }
    Ok(())
}

/// The usual size of the pages of a new file.
pub(crate) const PAGE: usize = 8192;

/// Returns the page size of a new file: 8 KiB, or 4 KiB if vectors of this width then waste less space. A vector of
/// 384 dimensions fills a fifth of 8 KiB, and almost half of 4 KiB. A vector of 1024 is slightly longer than half of
/// 8 KiB, so that each page would hold one; with 4 KiB it fills one overflow page.
pub(crate) fn page_size(dimensions: usize) -> usize {
    let room = |size: &usize| {
        // SQLite splits a row between its leaf and overflow pages as in section 1.6 of its file format. In addition
        // to the numbers, a row contains its record, its id and the number of its scope.
        let (row, page) = (4 * dimensions + 30, *size);
        let (most, least) = (page - 35, (page - 12) * 32 / 255 - 23);
        let on_leaf = if row <= most {
            row
        } else {
            let rest = least + (row - least) % (page - 4);
            if rest <= most { rest } else { least }
        };
        let on_one_leaf = ((page - 8) / (on_leaf + 12)).max(1);
        page / on_one_leaf + (row - on_leaf).div_ceil(page - 4) * page
    };
    [PAGE, 4096].into_iter().min_by_key(room).unwrap_or(PAGE)
}

/// The connection that writes; a new file gets pages of that size.
pub(crate) fn open_writer(path: &Path, busy_timeout: Duration, page_size: usize) -> Result<Connection> {
    open(path, busy_timeout, |connection| {
        // Before the first change: a file of another application stays as it is. In a transaction, since another
        // process may be making this very file.
        let transaction = connection.unchecked_transaction()?;
        schema::recognise(&transaction, path)?;
        transaction.finish()?;
        // Of a new file; of another one this changes nothing.
        connection.pragma_update(None, "page_size", page_size as i64)?;
        enter_wal(connection, busy_timeout)?;
        // What is deleted is overwritten.
        connection.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
             PRAGMA temp_store = MEMORY;",
        )?;
        Ok(())
    })
}

/// Applies the settings of a store to a connection, which gets this many shares of the page cache.
pub(crate) fn configure(connection: &Connection, options: &SqliteOptions, shares: i64) -> Result<(), SqliteError> {
    connection.pragma_update(None, "cache_size", -options.cache_part() * shares)?;
    connection.pragma_update(None, "synchronous", options.synchronous.pragma())?;
    // These two answer with the value that is in force.
    let set = |name: &str, bytes: u64| {
        let value = i64::try_from(bytes).unwrap_or(i64::MAX);
        connection.pragma_update_and_check(None, name, value, |_| Ok(()))
    };
    set("mmap_size", options.mmap_bytes)?;
    if let Some(bytes) = options.max_log_bytes {
        set("journal_size_limit", bytes)?;
    }
    Ok(())
}

/// A connection that only reads.
pub(crate) fn open_reader(path: &Path, busy_timeout: Duration) -> Result<Connection> {
    open(path, busy_timeout, |connection| {
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;")?;
        Ok(())
    })
}

/// A connection that only reads a file that is there.
pub(crate) fn open_existing(path: &Path) -> Result<Connection> {
    must_exist(path)?;
    open_reader(path, DEFAULT_BUSY_TIMEOUT)
}

/// Refuses a file that is not there: opening it would make one.
pub(crate) fn must_exist(path: &Path) -> Result<()> {
    check_path(path)?;
    if !path.exists() {
        return Err(Error::new(ErrorKind::NotFound, "open", format!("there is no file {}", path.display())));
    }
    Ok(())
}

fn open(
    path: &Path,
    busy_timeout: Duration,
    set_up: impl FnOnce(&Connection) -> Result<(), SqliteError>,
) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_prepared_statement_cache_capacity(96);
        connection.busy_timeout(busy_timeout)?;
        metadata_sql::define(&connection)?;
        set_up(&connection)?;
        Ok(connection)
    };
    open().map_err(|failure| match failure {
        SqliteError::Engine(error) => error,
        SqliteError::Sqlite(error) => {
            let (kind, message) = meaning(&error);
            Error::new(kind, "open", format!("{}: {message}", path.display())).with_source(error)
        }
    })
}

/// Turns the write-ahead log on. Two processes that do so at once can be in each other's way without SQLite waiting.
fn enter_wal(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < busy_timeout => {
                // This thread belongs to the store, so blocking it delays no other task.
                std::thread::park_timeout(PAUSE);
                waited += PAUSE;
            }
            other => return other.map(drop),
        }
    }
}

/// Moves the write-ahead log into the database and truncates it, so that no deleted data is left in it. Returns false
/// if that was impossible because a reader still uses an earlier state.
pub(crate) fn clear_log(connection: &Connection, busy_timeout: Duration) -> bool {
    let checkpoint = || {
        connection.busy_timeout(CHECKPOINT_TIMEOUT.min(busy_timeout))?;
        let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        connection.busy_timeout(busy_timeout)?;
        busy
    };
    matches!(checkpoint(), Ok(0))
}

/// Closes the connection that writes, with nothing left in the log.
pub(crate) fn close(connection: Connection) {
    clear_log(&connection, CHECKPOINT_TIMEOUT);
    // Nothing is lost when closing fails: what was acknowledged is on the disk.
    drop(connection);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_such_that_vectors_fill_them() {
        let sizes = [2, 256, 384, 512, 768, 1024, 1536, 3072].map(page_size);
        assert_eq!(sizes, [8192, 8192, 8192, 8192, 8192, 4096, 8192, 4096]);
    }
}
