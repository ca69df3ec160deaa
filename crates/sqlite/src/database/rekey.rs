//! Encrypts and decrypts database files that no store has open.

use memory_engine_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, ffi::ErrorCode};

use crate::database::{
    connection,
    encryption::{self, EncryptionKey},
    epoch,
    error::SqliteError,
    file::DatabaseFile,
    schema::{in_transaction, migrate_to_latest, read_schema},
};

/// Encrypts a database file, changes its key, or decrypts it (without a new key). No other process may have it open.
/// The file is changed in place, in one transaction, and then read once to check it. This needs free space for two
/// copies of the file. Removes its index caches. Blocks the calling thread.
///
/// What the file system keeps of the former content, such as freed blocks and snapshots, is not overwritten.
///
/// # Errors
/// Those of [`SqliteStore::open`](crate::SqliteStore::open), except the mismatches of indexes; `InvalidInput` if the
/// file is empty, or has no key and gets none; `Unavailable` if another process has the file open.
pub fn rekey(file: impl Into<DatabaseFile>, new_key: Option<&EncryptionKey>) -> Result<()> {
    let file = file.into().resolve()?;
    connection::check_exists(&file.path)?;
    if file.key.is_none() && new_key.is_none() {
        // A file that is encrypted gets the error of a missing key.
        encryption::check_file(&file.path, None)?;
        let message = format!("{} is not encrypted; give a new key to encrypt it", file.path.display());
        return Err(Error::invalid("rekey", message));
    }
    let mut connection =
        connection::open_writer(&file, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    change(&mut connection, &file, new_key).map_err(|error| error.into_error("rekey"))?;
    drop(connection);
    let file = DatabaseFile { path: file.path, key: new_key.cloned() };
    let connection = connection::open_writer(&file, connection::DEFAULT_BUSY_TIMEOUT, connection::DEFAULT_PAGE_BYTES)?;
    let result: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| SqliteError::from(error).into_error("rekey"))?;
    connection::close(connection);
    if result == "ok" {
        return Ok(());
    }
    let message = "the file is damaged; restore it from a backup";
    Err(Error::new(ErrorKind::Corrupt, "rekey", message))
}

fn change(
    connection: &mut Connection,
    file: &DatabaseFile,
    new_key: Option<&EncryptionKey>,
) -> Result<(), SqliteError> {
    if read_schema(connection, &file.path)? == 0 {
        let message = format!("{} is empty; a database is encrypted if it is created with a key", file.path.display());
        return Err(Error::invalid("rekey", message).into());
    }
    in_transaction(connection, |transaction| {
        migrate_to_latest(transaction, &file.path)?;
        Ok(epoch::end(transaction, &file.path)?)
    })?;
    epoch::remove_files(&file.path);
    require_exclusive(connection)?;
    // A copy of the file in memory may not fit. Temporary files of an encrypting SQLite are encrypted.
    connection.execute_batch("PRAGMA temp_store = FILE")?;
    encryption::change_key(connection, new_key)
}

/// Ends write-ahead logging, which is possible for the only connection, and keeps other connections out.
fn require_exclusive(connection: &Connection) -> Result<(), SqliteError> {
    let mode = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
    match mode {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            let message = "another process has the database open; stop it and try again";
            Err(Error::new(ErrorKind::Unavailable, "rekey", message).into())
        }
        other => {
            other?;
            connection.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
            Ok(())
        }
    }
}
