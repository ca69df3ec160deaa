//! Opens and configures connections.

use std::{fs, path::Path, time::Duration};

use memory_engine_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags, ffi::ErrorCode};

use crate::{
    database::{
        encryption,
        error::{SqliteError, kind_and_message},
        file::DatabaseFile,
        options::SqliteOptions,
        schema,
    },
    metadata_sql,
};

/// Default time that a connection waits for another one that is writing.
pub(crate) const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Time that a checkpoint waits for readers.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(250);

/// Refuses a path where no database can be opened, with a clearer message than that of SQLite.
pub(crate) fn check_path(path: &Path) -> Result<()> {
    let name = path.display();
    if path.is_dir() {
        return Err(Error::invalid("open", format!("{name} is a directory; name a file in it")));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let message = format!("the directory {} does not exist; create it first", directory.display());
        return Err(Error::new(ErrorKind::NotFound, "open", message));
    }
    if path.exists() && !is_writable(path) {
        let message = format!("{name} is read-only; make it writable");
        return Err(Error::new(ErrorKind::Unauthorized, "open", message));
    }
    if !is_writable(directory) {
        let message = format!(
            "the directory {} is read-only; SQLite writes its log next to the database, so make the directory writable",
            directory.display()
        );
        return Err(Error::new(ErrorKind::Unauthorized, "open", message));
    }
    Ok(())
}

fn is_writable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// Default page size of a new file.
pub(crate) const DEFAULT_PAGE_BYTES: usize = 8192;

/// Returns the page size of a new file: 8 KiB, or 4 KiB if vectors of this width then take less space. A vector of 1024
/// dimensions, for example, is slightly longer than half of 8 KiB, so that each page would hold only one; with 4 KiB it
/// fills one overflow page.
pub(crate) fn page_size(dimensions: usize) -> usize {
    let smaller = DEFAULT_PAGE_BYTES / 2;
    if bytes_per_vector(dimensions, smaller) < bytes_per_vector(dimensions, DEFAULT_PAGE_BYTES) {
        smaller
    } else {
        DEFAULT_PAGE_BYTES
    }
}

/// Returns the space that one vector takes in the file, in bytes, including the unused part of its pages.
///
/// SQLite splits a row between a leaf page and overflow pages by section 1.6 of its file format, whose names for the
/// sizes are U (usable page), X (maximum on the leaf), M (minimum on the leaf) and K.
fn bytes_per_vector(dimensions: usize, page: usize) -> usize {
    // In addition to the vector, a row contains its record, its id and the number of its scope.
    let row = 4 * dimensions + 30;
    let max_on_leaf = page - 35;
    let min_on_leaf = (page - 12) * 32 / 255 - 23;
    let on_leaf = if row <= max_on_leaf {
        row
    } else {
        let k = min_on_leaf + (row - min_on_leaf) % (page - 4);
        if k <= max_on_leaf { k } else { min_on_leaf }
    };
    let rows_on_leaf = ((page - 8) / (on_leaf + 12)).max(1);
    let overflow_pages = (row - on_leaf).div_ceil(page - 4);
    page / rows_on_leaf + overflow_pages * page
}

/// Opens the connection for writing. `page_size` is that of a new file, in bytes.
pub(crate) fn open_writer(
    file: impl Into<DatabaseFile>,
    busy_timeout: Duration,
    page_size: usize,
) -> Result<Connection> {
    let file = file.into();
    open(&file, busy_timeout, |connection| {
        // The schema is read before the first change, so that the file of another application stays unchanged. It is
        // read in a transaction, because another process may be creating this file.
        let transaction = connection.unchecked_transaction()?;
        schema::read_schema(&transaction, &file.path)?;
        transaction.finish()?;
        // This has no effect on an existing file.
        connection.pragma_update(None, "page_size", page_size as i64)?;
        enable_wal(connection, busy_timeout)?;
        // `secure_delete` overwrites deleted content with zeros.
        connection.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
             PRAGMA temp_store = MEMORY;",
        )?;
        Ok(())
    })
}

/// Applies the options of a store to a connection. `shares` is its number of shares of the page cache.
pub(crate) fn configure(connection: &Connection, options: &SqliteOptions, shares: i64) -> Result<(), SqliteError> {
    connection.pragma_update(None, "cache_size", -options.cache_share_kib() * shares)?;
    connection.pragma_update(None, "synchronous", options.synchronous.pragma())?;
    // These two pragmas return the new value.
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

/// Opens a connection for reading.
pub(crate) fn open_reader(file: impl Into<DatabaseFile>, busy_timeout: Duration) -> Result<Connection> {
    open(&file.into(), busy_timeout, |connection| {
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;")?;
        // The first read notices that a key is missing.
        connection.query_row("PRAGMA schema_version", [], |row| row.get::<_, i64>(0))?;
        Ok(())
    })
}

/// Opens a connection for reading an existing file.
pub(crate) fn open_existing(file: impl Into<DatabaseFile>) -> Result<Connection> {
    let file = file.into();
    check_exists(&file.path)?;
    open_reader(file, DEFAULT_BUSY_TIMEOUT)
}

/// Refuses a file that does not exist, because opening it would create it.
pub(crate) fn check_exists(path: &Path) -> Result<()> {
    check_path(path)?;
    if !path.exists() {
        return Err(Error::new(
            ErrorKind::NotFound,
            "open",
            format!("there is no file {}; check the path", path.display()),
        ));
    }
    Ok(())
}

fn open(
    file: &DatabaseFile,
    busy_timeout: Duration,
    set_up: impl FnOnce(&Connection) -> Result<(), SqliteError>,
) -> Result<Connection> {
    let DatabaseFile { path, key } = file;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let try_open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_prepared_statement_cache_capacity(96);
        connection.busy_timeout(busy_timeout)?;
        // Before anything is read.
        if let Some(key) = key {
            encryption::unlock(&connection, key)?;
        }
        metadata_sql::define(&connection)?;
        set_up(&connection)?;
        Ok(connection)
    };
    try_open().map_err(|failure| {
        // The header says more than SQLite does about a wrong or missing key. It is not read before opening: closing a
        // file releases the locks that other connections of the process have on it.
        if let Err(error) = encryption::check_file(path, key.as_ref()) {
            return error;
        }
        match failure {
            SqliteError::Engine(error) => error,
            SqliteError::Sqlite(error) => {
                let (kind, message) = kind_and_message(&error);
                Error::new(kind, "open", format!("{}: {message}", path.display())).with_source(error)
            }
        }
    })
}

/// Switches the database to write-ahead logging. Retries while another process does the same: SQLite then reports
/// "busy" at once, without waiting for the busy timeout.
fn enable_wal(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && waited < busy_timeout => {
                // This thread belongs to the store, so blocking it delays no asynchronous task.
                std::thread::park_timeout(PAUSE);
                waited += PAUSE;
            }
            other => return other.map(drop),
        }
    }
}

/// Copies the write-ahead log into the database and truncates it, so that it contains no deleted data. Returns false if
/// a reader of an earlier state prevents that.
pub(crate) fn clear_log(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<bool> {
    connection.busy_timeout(CHECKPOINT_TIMEOUT.min(busy_timeout))?;
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    connection.busy_timeout(busy_timeout)?;
    Ok(busy? == 0)
}

/// Closes the writing connection, after clearing the log.
pub(crate) fn close(connection: Connection) {
    // Nothing is lost if closing fails: every acknowledged write is on the disk.
    let _ = clear_log(&connection, CHECKPOINT_TIMEOUT);
    drop(connection);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_size_wastes_least_for_the_vector_width() {
        let sizes = [2, 256, 384, 512, 768, 1024, 1536, 3072].map(page_size);
        assert_eq!(sizes, [8192, 8192, 8192, 8192, 8192, 4096, 8192, 4096]);
    }
}
