//! Backups of whole databases.

use memory_engine_core::{Clock, Result, SystemClock};
use memory_engine_indexing::run_blocking;
pub use memory_engine_sqlite::BackupReport;
use memory_engine_sqlite::DatabaseFile;

use crate::database::{Database, Location};

/// Writes everything in a database into one file, also while other processes write to the database: records in every
/// state with their revisions, tombstones, synonyms, ledgers, the audit log, the queue, and the indexes. The file gets
/// its name only when it is complete and was checked; a failure leaves none. An existing file is replaced only with
/// `overwrite`. Calls `on_progress` with the number of completed steps and of all steps.
///
/// The file is a SQLite database for every backend, and can be opened as a store. It contains no bytes of deleted
/// records. It has the key of the database, if that is an encrypted file.
///
/// ```
/// use memory_engine::{Database, MemoryEngine, Scope, transfer};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (store, file, other) =
/// #     (folder.path().join("memory.db"), folder.path().join("monday.backup"), folder.path().join("other.db"));
/// let file = Database::file(file);
/// let memory = MemoryEngine::builder().sqlite(&store).build().await?;
/// memory.remember(&Scope::user("lin")?, "My sister plays the violin").await?;
/// let report = transfer::backup(&Database::file(&store), &file, false, |_, _| ()).await?;
/// assert_eq!(report.records, 1);
/// transfer::restore_backup(&file, &Database::file(&other), |_, _| ()).await?;
/// # Ok::<(), memory_engine::Error>(()) }).unwrap();
/// ```
///
/// # Errors
/// `Conflict` if the file exists; `NotFound` if the database or the directory does not exist; `Corrupt` if the database
/// is damaged; `SchemaMismatch` for a Postgres database of another schema.
pub async fn backup(
    database: &Database,
    file: &Database,
    overwrite: bool,
    on_progress: impl Fn(u64, u64) + Send + Sync + 'static,
) -> Result<BackupReport> {
    let file = as_file(file)?;
    match database.openable()? {
        Location::File(database) => {
            let work =
                move || memory_engine_sqlite::back_up(&database, &file, overwrite, SystemClock.now(), &on_progress);
            run_blocking("backup", work).await?
        }
        #[cfg(feature = "postgres")]
        Location::Server(url) => servers::back_up(&url, file, overwrite, on_progress).await,
    }
}

/// Checks a backup file: its structure, and that it is as it was when it was made.
///
/// # Errors
/// `NotFound` if there is no file; `InvalidInput` if it is no backup; `Corrupt` if it is damaged or was changed;
/// `SchemaMismatch` if a newer version made it.
pub async fn check_backup(file: &Database) -> Result<BackupReport> {
    check(as_file(file)?).await
}

/// Writes the content of a backup into an empty database, of the backend that was backed up or another one. A SQLite
/// file must not exist; a Postgres database must have no rows. Either everything is restored, or nothing.
///
/// A restored SQLite store is another store than the one that was backed up: it gets an id of its own.
///
/// # Errors
/// Those of [`check_backup`]; `Conflict` if the database is not empty.
pub async fn restore_backup(
    file: &Database,
    database: &Database,
    on_progress: impl Fn(u64, u64) + Send + Sync + 'static,
) -> Result<BackupReport> {
    let file = as_file(file)?;
    match database.openable()? {
        Location::File(database) => {
            let work = move || memory_engine_sqlite::restore_backup(&file, &database, &on_progress);
            run_blocking("restore backup", work).await?
        }
        #[cfg(feature = "postgres")]
        Location::Server(url) => servers::restore(file, &url, on_progress).await,
    }
}

/// Returns the file of a backup.
fn as_file(file: &Database) -> Result<DatabaseFile> {
    match file.openable()? {
        Location::File(file) => Ok(file),
        #[cfg(feature = "postgres")]
        Location::Server(_) => Err(memory_engine_core::Error::invalid(
            "backup",
            "a backup is a file, and this is the address of a server; name a file",
        )),
    }
}

/// Returns a hash of everything that a backup of the database contains. Stores with the same content have the same
/// fingerprint, on every backend. Leases and the time of the next retry of a job are not included.
///
/// # Errors
/// Those of [`backup`], except for those of the file.
pub async fn fingerprint(database: &Database) -> Result<String> {
    match database.openable()? {
        Location::File(database) => {
            let work = move || memory_engine_sqlite::fingerprint(&database);
            run_blocking("backup", work).await?.map(|fingerprint| fingerprint.to_string())
        }
        #[cfg(feature = "postgres")]
        Location::Server(url) => {
            let fingerprint = memory_engine_postgres::fingerprint(&url, &Default::default()).await?;
            Ok(fingerprint.to_string())
        }
    }
}

async fn check(file: DatabaseFile) -> Result<BackupReport> {
    run_blocking("restore backup", move || memory_engine_sqlite::check_backup(&file)).await?
}

#[cfg(feature = "postgres")]
mod servers {
    use memory_engine_postgres::{BackupMessage, PostgresOptions};
    use memory_engine_sqlite::BackupWriter;
    use tokio::sync::mpsc;

    use memory_engine_core::{Error, ErrorKind};

    use super::*;

    /// Number of messages that wait between the server and the file.
    const QUEUE_LENGTH: usize = 64;

    pub(super) async fn back_up(
        url: &str,
        file: DatabaseFile,
        overwrite: bool,
        on_progress: impl Fn(u64, u64) + Send + Sync,
    ) -> Result<BackupReport> {
        let writer = run_blocking("backup", move || BackupWriter::create(&file, overwrite)).await??;
        let (sender, mut receiver) = mpsc::channel(QUEUE_LENGTH);
        let writing = run_blocking("backup", move || {
            while let Some(page) = receiver.blocking_recv() {
                for row in page {
                    writer.write(row)?;
                }
            }
            Ok::<_, Error>(writer)
        });
        let options = PostgresOptions::default();
        let reading = memory_engine_postgres::send_backup(url, &options, sender, &on_progress);
        let (written, read) = tokio::join!(writing, reading);
        // If writing fails, reading fails too, because nothing receives its rows.
        let writer = written??;
        let fingerprint = read?;
        run_blocking("backup", move || writer.finish(fingerprint, SystemClock.now())).await?
    }

    pub(super) async fn restore(
        file: DatabaseFile,
        url: &str,
        on_progress: impl Fn(u64, u64) + Send + Sync,
    ) -> Result<BackupReport> {
        let total = check(file.clone()).await?.records;
        let (sender, receiver) = mpsc::channel(QUEUE_LENGTH);
        let reading = run_blocking("restore backup", move || {
            let closed = |_| Error::new(ErrorKind::Closed, "restore backup", "the database takes no more rows");
            let on_row = |row| sender.blocking_send(BackupMessage::Row(Box::new(row))).map_err(closed);
            let (report, fingerprint) = memory_engine_sqlite::read_backup(&file, on_row)?;
            sender.blocking_send(BackupMessage::End(fingerprint)).map_err(closed)?;
            Ok(report)
        });
        let options = PostgresOptions::default();
        let on_rows = |rows: u64, _| on_progress(rows, total.max(rows));
        let writing = memory_engine_postgres::receive_backup(url, &options, receiver, &on_rows);
        let (read, written) = tokio::join!(reading, writing);
        let read: Result<_> = read?;
        match (read, written) {
            // The reader ends because the database failed, or the other way round: the cause is reported.
            (Err(error), _) if error.kind() != ErrorKind::Closed => Err(error),
            (_, Err(error)) => Err(error),
            (read, Ok(_)) => read,
        }
    }
}
