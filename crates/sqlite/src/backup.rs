//! Backups of database files, and backup files of other databases.
//!
//! A backup is a database file of its own: the pages of one consistent state, rebuilt without free pages, so that no
//! bytes of deleted records are in it. It contains a stamp with a digest of its tables. The file gets its name only
//! after it was read again and found to be complete. A store is restored from the rows of a backup, not from its pages.

mod digest;
mod pending;
mod rows;
mod table_copy;

use std::{path::Path, time::Duration};

use memory_engine_core::{Error, ErrorKind, Result, Timestamp};
use memory_engine_sql::{
    backup::{BackupRow, Fingerprint},
    rows::{LEASE_DEAD, LEASE_FREE},
};
use rusqlite::{Connection, OpenFlags, backup::StepResult, params};
use serde::Serialize;

use crate::{
    backup::{
        digest::{EPOCH_KEY, STAMP_KEY, Stamp},
        pending::PendingFile,
        table_copy::OnProgress,
    },
    database::{
        catalogue, change_log,
        connection::{self, DEFAULT_BUSY_TIMEOUT, DEFAULT_PAGE_BYTES},
        encryption::{self, EncryptionKey},
        epoch,
        error::SqliteError,
        file::DatabaseFile,
        schema, views,
    },
    metadata_sql,
};

/// Number of pages that are copied between two calls of the callback.
const STEP_PAGES: i32 = 512;
/// Pause before a page is copied again that another connection holds.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// Names of the files in the folder of a pending backup.
const COPY: &str = "copy.db";
const RESULT: &str = "result.db";

/// The description of a backup file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackupReport {
    /// Time of the backup.
    pub created_at: Timestamp,
    /// The version of memory-engine that made the file.
    pub engine: String,
    /// The schema of the file.
    pub schema: u32,
    /// Number of records, of all tenants and in every state.
    pub records: u64,
    /// Number of tombstones.
    pub tombstones: u64,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// The digest of the tables of the file, which a restore compares.
    pub digest: String,
}

/// Writes a backup of a database file, which may be in use by this and other processes. An existing file is replaced
/// only with `overwrite`. Blocks the calling thread. Writers do not wait; their log grows until the copy is complete.
///
/// # Errors
/// `NotFound` if there is no database; `InvalidInput` if it belongs to another application or the path is that of the
/// database; `Conflict` if the backup file exists; `Corrupt` if the database is damaged; `Unavailable` if the disk is
/// full.
pub fn back_up(
    database: impl Into<DatabaseFile>,
    file: impl Into<DatabaseFile>,
    overwrite: bool,
    now: Timestamp,
    on_progress: &dyn Fn(u64, u64),
) -> Result<BackupReport> {
    let database = database.into().resolve()?;
    let DatabaseFile { path: target, key } = &file.into().resolve()?;
    if database.path == *target {
        return Err(Error::invalid("backup", "a store cannot be backed up onto itself; name another file"));
    }
    check_same_key("backup", &database.key, key)?;
    connection::check_exists(&database.path)?;
    check_absent(target, overwrite)?;
    let pending = PendingFile::create(target, "backup")?;
    let in_folder = |name: &str| DatabaseFile { path: pending.path(name), key: key.clone() };
    let run = || {
        let source = connection::open_existing(&database)?;
        let expected = copy_pages(&source, &in_folder(COPY), on_progress)?;
        drop(source);
        rebuild(&in_folder(COPY), &pending.path(RESULT))?;
        let result = open_result(&in_folder(RESULT))?;
        check_integrity(&result)?;
        let stamp = Stamp::of(&result, now)?;
        if stamp.digest != expected {
            return Err(SqliteError::corrupt("pages that differ from their copy"));
        }
        stamp.write(&result)?;
        report(&result, stamp, &pending.path(RESULT))
    };
    let report = run().map_err(|failure: SqliteError| failure.into_error("backup"))?;
    pending.publish(RESULT, overwrite)?;
    Ok(report)
}

/// Checks a backup file: its structure, and that its tables are as they were when it was made.
///
/// # Errors
/// `NotFound` if there is no file; `InvalidInput` if it is no backup; `Corrupt` if it is damaged or was changed;
/// `SchemaMismatch` if a newer version made it.
pub fn check_backup(file: impl Into<DatabaseFile>) -> Result<BackupReport> {
    let file = file.into();
    let run = || {
        let backup = open_backup(&file)?;
        check(&backup, &file.path)
    };
    run().map_err(|failure: SqliteError| failure.into_error("restore backup"))
}

/// Creates a database file from a backup, with the sets of views that the backup lists. The target must not exist.
/// Blocks the calling thread.
///
/// # Errors
/// Those of [`check_backup`]; `Conflict` if the target exists.
pub fn restore_backup(
    file: impl Into<DatabaseFile>,
    database: impl Into<DatabaseFile>,
    on_progress: &dyn Fn(u64, u64),
) -> Result<BackupReport> {
    let file = file.into();
    let DatabaseFile { path: target, key } = &database.into().resolve()?;
    check_same_key("restore backup", &file.key, key)?;
    check_absent(target, false)?;
    let pending = PendingFile::create(target, "restore backup")?;
    let in_folder = |name: &str| DatabaseFile { path: pending.path(name), key: key.clone() };
    let restored = unpack(&file, &in_folder(COPY))?;
    restore_rows(&in_folder(COPY), &in_folder(RESULT), on_progress)
        .map_err(|failure| failure.into_error("restore backup"))?;
    // A store that was here before may have left caches. They must not be read with the restored file.
    epoch::remove_files(target);
    pending.publish(RESULT, false)?;
    Ok(restored)
}

/// Reads the rows of a backup file, for a database of another kind. Returns the description of the file and the
/// fingerprint of the rows. Blocks the calling thread.
///
/// # Errors
/// Those of [`check_backup`], and those of the callback.
pub fn read_backup(
    file: impl Into<DatabaseFile>,
    mut on_row: impl FnMut(BackupRow) -> Result<()>,
) -> Result<(BackupReport, Fingerprint)> {
    let file = file.into();
    // The rows are read from a copy, which is migrated to the schema of this version if necessary.
    let copy = std::env::temp_dir().join("memory-backup.db");
    let pending = PendingFile::create(&copy, "restore backup")?;
    let copy = DatabaseFile { path: pending.path(COPY), key: file.key.clone() };
    let report = unpack(&file, &copy)?;
    let mut run = || {
        let connection = open_result(&copy)?;
        let mut fingerprint = Fingerprint::default();
        rows::read(&connection, |row| {
            fingerprint.add(&row)?;
            Ok(on_row(row)?)
        })?;
        Ok(fingerprint)
    };
    let fingerprint = run().map_err(|failure: SqliteError| failure.into_error("restore backup"))?;
    Ok((report, fingerprint))
}

/// Returns the fingerprint of the rows of a database file of the current schema. Two stores with the same content have
/// the same fingerprint, on every backend.
///
/// # Errors
/// Those of [`back_up`].
pub fn fingerprint(database: impl Into<DatabaseFile>) -> Result<Fingerprint> {
    let database = database.into();
    let run = || {
        let mut connection = connection::open_existing(&database)?;
        let transaction = connection.transaction()?;
        read_fingerprint(&transaction)
    };
    run().map_err(|failure: SqliteError| failure.into_error("backup"))
}

fn read_fingerprint(connection: &Connection) -> Result<Fingerprint, SqliteError> {
    let mut fingerprint = Fingerprint::default();
    rows::read(connection, |row| Ok(fingerprint.add(&row)?))?;
    Ok(fingerprint)
}

/// Writes a backup file from the rows of a database of another kind.
#[derive(Debug)]
pub struct BackupWriter {
    pending: PendingFile,
    connection: Connection,
    overwrite: bool,
}

impl BackupWriter {
    /// Begins a file. An existing one is replaced only with `overwrite`.
    ///
    /// # Errors
    /// `Conflict` if the file exists; `NotFound` for a missing directory; `Unauthorized` if it cannot be written.
    pub fn create(file: impl Into<DatabaseFile>, overwrite: bool) -> Result<Self> {
        let DatabaseFile { path: target, key } = file.into().resolve()?;
        check_absent(&target, overwrite)?;
        let pending = PendingFile::create(&target, "backup")?;
        let result = DatabaseFile { path: pending.path(RESULT), key };
        let run = || {
            let connection = create_empty(&result)?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            Ok(connection)
        };
        let connection = run().map_err(|failure: SqliteError| failure.into_error("backup"))?;
        Ok(Self { pending, connection, overwrite })
    }

    /// Writes a row.
    ///
    /// # Errors
    /// `Unavailable` if the disk is full; `Internal` for a row that does not fit.
    pub fn write(&self, row: BackupRow) -> Result<()> {
        rows::write(&self.connection, row).map_err(|failure| failure.into_error("backup"))
    }

    /// Completes the file, compares its rows with the `expected` ones, and gives it its name.
    ///
    /// # Errors
    /// `Corrupt` if the rows differ; `Conflict` if another process has created the file.
    pub fn finish(self, expected: Fingerprint, now: Timestamp) -> Result<BackupReport> {
        let Self { pending, connection, overwrite } = self;
        let run = || {
            // The rows were written without it, and a store needs a log of changes.
            change_log::invalidate_all(&connection)?;
            connection.execute_batch("COMMIT")?;
            check_integrity(&connection)?;
            if read_fingerprint(&connection)? != expected {
                return Err(SqliteError::corrupt("rows that differ from their copy"));
            }
            let stamp = Stamp::of(&connection, now)?;
            stamp.write(&connection)?;
            report(&connection, stamp, &pending.path(RESULT))
        };
        let report = run().map_err(|failure: SqliteError| failure.into_error("backup"))?;
        drop(connection);
        pending.publish(RESULT, overwrite)?;
        Ok(report)
    }
}

/// Refuses a path where a file exists, unless it may be overwritten.
fn check_absent(path: &Path, overwrite: bool) -> Result<()> {
    if !overwrite && path.exists() {
        return Err(pending::exists_error("backup", path));
    }
    Ok(())
}

/// Copies the pages of one state of a database, also while others write to it. Returns the digest of its tables.
fn copy_pages(source: &Connection, copy: &DatabaseFile, on_progress: OnProgress<'_>) -> Result<String, SqliteError> {
    // All reads of this transaction, and the copy, see the same state.
    source.execute_batch("BEGIN")?;
    let digest = digest::digest(source)?.to_string();
    create_file(&copy.path)?;
    let mut target = open(copy, OpenFlags::default())?;
    // The pages of an encrypted file are copied as they are, so that both files must have the same size of pages.
    let page_size: i64 = source.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    target.pragma_update(None, "page_size", page_size)?;
    let backup = rusqlite::backup::Backup::new(source, &mut target)?;
    loop {
        let step = backup.step(STEP_PAGES)?;
        let progress = backup.progress();
        let total = u64::try_from(progress.pagecount).unwrap_or_default();
        let remaining = u64::try_from(progress.remaining).unwrap_or_default();
        on_progress(total.saturating_sub(remaining), total);
        match step {
            StepResult::Done => break,
            StepResult::More => {}
            // `StepResult` may get further results.
            StepResult::Busy | StepResult::Locked | _ => std::thread::park_timeout(BUSY_PAUSE),
        }
    }
    drop(backup);
    source.execute_batch("COMMIT")?;
    Ok(digest)
}

/// Writes the rows of a copied file into a new file, without free pages and without the remains of deleted rows.
/// Leases, and the epoch of the caches, end here.
fn rebuild(copy: &DatabaseFile, result: &Path) -> Result<(), SqliteError> {
    let connection = open_result(copy)?;
    let schema = schema::read_schema(&connection, &copy.path)?;
    remove_additions(&connection, schema)?;
    if schema == schema::SCHEMA {
        end_leases(&connection)?;
    }
    let sql = "DELETE FROM index_metadata WHERE part IN (?1, ?2)";
    connection.execute(sql, [STAMP_KEY, EPOCH_KEY])?;
    create_file(result)?;
    let path = result.to_str().ok_or_else(|| Error::invalid("backup", "the path is not UTF-8; choose another one"))?;
    connection.execute("VACUUM INTO ?1", [path])?;
    drop(connection);
    // The copy is not needed any more, and the disk may be nearly full.
    let _ = std::fs::remove_file(&copy.path);
    Ok(())
}

/// Removes what another program has added to the file: a backup contains the tables of memory-engine and nothing that
/// would run in the restored store.
fn remove_additions(connection: &Connection, schema: u32) -> Result<(), SqliteError> {
    let difference = catalogue::compare(connection, schema)?;
    if !difference.changed.is_empty() {
        let change = difference.first().unwrap_or_default();
        let message = format!("{change} by another program, so that the tables cannot be backed up; undo it");
        return Err(Error::new(ErrorKind::Corrupt, "backup", message).into());
    }
    for (kind, name) in difference.added {
        // A table may be gone with another one, and takes its indexes and triggers along.
        connection.execute_batch(&format!("DROP {kind} IF EXISTS \"{}\"", name.replace('"', "\"\"")))?;
    }
    Ok(())
}

fn end_leases(connection: &Connection) -> Result<(), SqliteError> {
    let sql = "UPDATE jobs SET leased_until = ?1, owner = NULL, leased_at = 0 WHERE leased_until <> ?2";
    connection.execute(sql, params![LEASE_FREE, LEASE_DEAD])?;
    connection.execute("DELETE FROM lease_owners", [])?;
    Ok(())
}

/// Checks a backup, and copies it to a file of the current schema.
fn unpack(file: &DatabaseFile, copy: &DatabaseFile) -> Result<BackupReport> {
    let run = || {
        let backup = open_backup(file)?;
        let report = check(&backup, &file.path)?;
        let digest = copy_pages(&backup, copy, &|_, _| ())?;
        drop(backup);
        if digest != report.digest {
            return Err(damaged(&file.path));
        }
        let mut connection = connection::open_writer(copy, DEFAULT_BUSY_TIMEOUT, DEFAULT_PAGE_BYTES)?;
        schema::in_transaction(&mut connection, |transaction| {
            schema::migrate_to_latest(transaction, &copy.path)?;
            end_leases(transaction)?;
            transaction.execute("DELETE FROM index_metadata WHERE part IN (?1, ?2)", [STAMP_KEY, EPOCH_KEY])?;
            Ok(())
        })?;
        use_single_file(&connection)?;
        Ok(report)
    };
    run().map_err(|failure: SqliteError| failure.into_error("restore backup"))
}

/// Writes the rows of an unpacked backup into a new store with an id of its own.
fn restore_rows(copy: &DatabaseFile, result: &DatabaseFile, on_progress: OnProgress<'_>) -> Result<(), SqliteError> {
    let source = open_result(copy)?;
    let target = create_empty(result)?;
    target.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")?;
    table_copy::copy_tables(&source, &target, on_progress)?;
    if digest::digest(&target)? != digest::digest(&source)? {
        return Err(SqliteError::corrupt("rows that differ from their copy"));
    }
    // From here on this is another database than the one that was backed up.
    let sql = "INSERT OR REPLACE INTO index_metadata (part, made_by) VALUES ('store id', lower(hex(randomblob(8))))";
    target.execute(sql, [])?;
    views::create_listed(&target)?;
    target.execute_batch("COMMIT")?;
    check_integrity(&target)
}

/// Creates a file of the current schema without rows. It is not synchronized before it gets its final name.
fn create_empty(file: &DatabaseFile) -> Result<Connection, SqliteError> {
    create_file(&file.path)?;
    let mut connection = connection::open_writer(file, DEFAULT_BUSY_TIMEOUT, DEFAULT_PAGE_BYTES)?;
    schema::in_transaction(&mut connection, |transaction| schema::migrate_to_latest(transaction, &file.path))?;
    use_single_file(&connection)?;
    connection.execute_batch("PRAGMA synchronous = OFF")?;
    Ok(connection)
}

fn create_file(path: &Path) -> Result<(), SqliteError> {
    pending::create_private_file(path).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "backup", format!("{} cannot be written", path.display()))
            .with_source(error)
            .into()
    })
}

/// Opens a file in the folder of a pending backup.
fn open_result(file: &DatabaseFile) -> Result<Connection, SqliteError> {
    let connection = open(file, OpenFlags::default())?;
    use_single_file(&connection)?;
    Ok(connection)
}

fn open(file: &DatabaseFile, flags: OpenFlags) -> Result<Connection, SqliteError> {
    let try_open = || {
        let connection = Connection::open_with_flags(&file.path, flags)?;
        connection.busy_timeout(DEFAULT_BUSY_TIMEOUT)?;
        if let Some(key) = &file.key {
            encryption::unlock(&connection, key)?;
        }
        metadata_sql::define(&connection)?;
        // An encrypted file without a key is noticed by the first read only.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        Ok(connection)
    };
    try_open().map_err(|failure: SqliteError| match encryption::check_file(&file.path, file.key.as_ref()) {
        Err(error) => error.into(),
        Ok(()) => failure,
    })
}

/// A backup is encrypted with the key of its database, because its pages are copied.
fn check_same_key(operation: &'static str, one: &Option<EncryptionKey>, other: &Option<EncryptionKey>) -> Result<()> {
    if one == other {
        return Ok(());
    }
    let message = "a backup has the key of its database; give both the same key, and use `rekey` afterwards";
    Err(Error::invalid(operation, message))
}

/// Ends write-ahead logging, so that everything is in one file.
fn use_single_file(connection: &Connection) -> Result<(), SqliteError> {
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    connection.execute_batch("PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;")?;
    Ok(())
}

/// Opens a backup file for reading. Its directory may be read-only.
fn open_backup(file: &DatabaseFile) -> Result<Connection, SqliteError> {
    if !file.path.is_file() {
        let message = format!("there is no file {}; check the path", file.path.display());
        return Err(Error::new(ErrorKind::NotFound, "restore backup", message).into());
    }
    open(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn check(backup: &Connection, file: &Path) -> Result<BackupReport, SqliteError> {
    let schema = schema::read_schema(backup, file)?;
    if schema == 0 {
        return Err(Error::invalid("restore backup", format!("{} is empty; name a backup", file.display())).into());
    }
    let stamp = Stamp::read(backup, &file.display().to_string())?;
    check_integrity(backup)?;
    let current = Stamp::of(backup, Timestamp::from_micros(stamp.created_at))?;
    if let Some(change) = catalogue::compare(backup, schema)?.first() {
        let message = format!("{}: {change} after the backup was made; use another backup", file.display());
        return Err(Error::new(ErrorKind::Corrupt, "restore backup", message).into());
    }
    if (current.records, current.tombstones, &current.digest) != (stamp.records, stamp.tombstones, &stamp.digest) {
        return Err(damaged(file));
    }
    let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let end: u64 = backup.query_row(sql, [], |row| row.get(0))?;
    let report = report(backup, stamp, file)?;
    if report.bytes > end {
        let message =
            format!("{} has {} bytes after the end of the backup; remove them", file.display(), report.bytes - end);
        return Err(Error::new(ErrorKind::Corrupt, "restore backup", message).into());
    }
    Ok(report)
}

fn damaged(file: &Path) -> SqliteError {
    let message = format!(
        "{} is damaged or was changed after it was made; use another backup, or `memory copy` if it was changed on \
         purpose",
        file.display()
    );
    Error::new(ErrorKind::Corrupt, "restore backup", message).into()
}

/// Fails if the structure of a file is damaged, or rows refer to missing ones.
fn check_integrity(connection: &Connection) -> Result<(), SqliteError> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    if found != "ok" || statement.exists([])? {
        let message = "the file is damaged; `memory doctor` shows where";
        return Err(Error::new(ErrorKind::Corrupt, "backup", message).into());
    }
    Ok(())
}

fn report(connection: &Connection, stamp: Stamp, path: &Path) -> Result<BackupReport, SqliteError> {
    Ok(BackupReport {
        created_at: Timestamp::from_micros(stamp.created_at),
        engine: stamp.engine,
        schema: schema::read_schema(connection, path)?,
        records: stamp.records,
        tombstones: stamp.tombstones,
        digest: stamp.digest,
        bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
    })
}

#[cfg(test)]
mod tests;
