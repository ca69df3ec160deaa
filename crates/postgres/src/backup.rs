//! Backups: all rows of a database in one consistent state, and the way back.
//!
//! The rows have a form that every backend reads and writes, so that no program of the server is needed, and a backup
//! of one backend can be restored into another.

mod rows;

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{Error, ErrorKind, Result};
use memory_engine_sql::backup::{BackupRow, BackupTable, Fingerprint};
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::sync::mpsc::{Receiver, Sender};

use crate::database::{error::PostgresError, migration, options::PostgresOptions, server::on_connection, views};

/// Number of rows that are read and written together.
const PAGE_ROWS: usize = 200;

/// Sends all rows of a database in one state, which other connections may change in the meantime. Returns their
/// fingerprint. The receiver may end the transfer by closing the channel.
///
/// # Errors
/// Those of [`check_health`](crate::check_health); `NotFound` for a database without a schema, and `SchemaMismatch` for
/// one of an earlier schema.
pub async fn send_backup(
    url: &str,
    options: &PostgresOptions,
    sender: Sender<Vec<BackupRow>>,
    on_progress: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<Fingerprint> {
    on_connection(url, options, "backup", async |connection| {
        sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").execute(&mut *connection).await?;
        check_schema(connection, "backup").await?;
        let total: i64 = sqlx::query_scalar("SELECT count(*) FROM records").fetch_one(&mut *connection).await?;
        let total = u64::try_from(total).unwrap_or_default();
        let on_row = async |fingerprint: &Fingerprint, page: Vec<BackupRow>| {
            on_progress(fingerprint.records, total);
            sender.send(page).await.is_ok()
        };
        let fingerprint = read(connection, on_row).await?;
        sqlx::raw_sql("COMMIT").execute(connection).await?;
        Ok(fingerprint)
    })
    .await
}

/// Writes the rows that another database sends into a database without rows, in one transaction. The sender sends the
/// fingerprint last; the transaction is committed only if the stored rows have the same one. A database without a
/// schema gets one. The sets of views of both databases are installed.
///
/// # Errors
/// Those of [`check_health`](crate::check_health); `Conflict` if the database is not empty; `SchemaMismatch` if it has
/// an earlier schema; `Corrupt` if the stored rows differ from those that were sent, or not all rows arrive.
pub async fn receive_backup(
    url: &str,
    options: &PostgresOptions,
    mut receiver: Receiver<BackupMessage>,
    on_progress: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<Fingerprint> {
    // The lock of migrations also excludes a second restore.
    migration::on_locked_connection(url, options, "restore backup", async |connection| {
        migration::up(connection, options).await?;
        check_schema(connection, "restore backup").await?;
        check_empty(connection).await?;
        let mut sets = views::installed(connection).await?;
        views::replace(connection, &BTreeSet::new()).await?;
        let mut pages: BTreeMap<u8, Vec<BackupRow>> = BTreeMap::new();
        let mut written = 0;
        let expected = loop {
            match receiver.recv().await {
                None => return Err(PostgresError::corrupt("a backup whose end is missing")),
                Some(BackupMessage::End(fingerprint)) => break fingerprint,
                Some(BackupMessage::Row(row)) => {
                    let page = pages.entry(row.table as u8).or_default();
                    page.push(*row);
                    if page.len() >= PAGE_ROWS {
                        let page = std::mem::take(page);
                        written += flush(connection, page).await?;
                        on_progress(written, written);
                    }
                }
            }
            // Rows of one table follow each other: those of earlier tables are complete.
            while pages.len() > 1 {
                let Some((_, page)) = pages.pop_first() else { break };
                written += flush(connection, page).await?;
            }
        };
        for page in pages.into_values() {
            flush(connection, page).await?;
        }
        for sql in rows::COUNTS {
            sqlx::query(sql).execute(&mut *connection).await?;
        }
        let stored = read(connection, async |_, _| true).await?;
        if stored != expected {
            return Err(PostgresError::corrupt("rows that differ from those of the backup"));
        }
        sets.extend(views::installed(connection).await?);
        views::replace(connection, &sets).await?;
        Ok(stored)
    })
    .await
}

/// A part of a transfer.
#[derive(Debug)]
pub enum BackupMessage {
    /// A row.
    Row(Box<BackupRow>),
    /// The end, with the fingerprint of all rows.
    End(Fingerprint),
}

/// Returns the fingerprint of the rows of a database. Two stores with the same content have the same fingerprint, on
/// every backend.
///
/// # Errors
/// Those of [`send_backup`].
pub async fn fingerprint(url: &str, options: &PostgresOptions) -> Result<Fingerprint> {
    on_connection(url, options, "backup", async |connection| {
        sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").execute(&mut *connection).await?;
        check_schema(connection, "backup").await?;
        read(connection, async |_, _| true).await
    })
    .await
}

/// Returns the tables of a database with their columns, for the test that no table is forgotten.
///
/// # Errors
/// Those of [`send_backup`].
#[doc(hidden)]
pub async fn tables(url: &str, options: &PostgresOptions) -> Result<BTreeMap<String, String>> {
    on_connection(url, options, "backup", rows::columns).await
}

async fn flush(connection: &mut PgConnection, page: Vec<BackupRow>) -> Result<u64, PostgresError> {
    let count = page.len() as u64;
    if let Some(table) = page.first().map(|row| row.table) {
        rows::write(connection, table, page).await?;
    }
    Ok(count)
}

/// Reads all rows within the transaction of the connection. Ends early if the callback returns false.
async fn read(
    connection: &mut PgConnection,
    mut on_page: impl AsyncFnMut(&Fingerprint, Vec<BackupRow>) -> bool,
) -> Result<Fingerprint, PostgresError> {
    let mut fingerprint = Fingerprint::default();
    for table in BackupTable::ALL.iter().copied() {
        // A prepared statement has fixed columns, so each table has a cursor of its own.
        let cursor = format!("backup_rows_{}", table as u8);
        let declare = format!("DECLARE {cursor} NO SCROLL CURSOR FOR {}", rows::select(table));
        sqlx::raw_sql(AssertSqlSafe(declare)).execute(&mut *connection).await?;
        let fetch = format!("FETCH {PAGE_ROWS} FROM {cursor}");
        loop {
            let found = sqlx::query(AssertSqlSafe(fetch.clone())).fetch_all(&mut *connection).await?;
            let page = found.iter().map(|row| rows::read_row(table, row)).collect::<Result<Vec<_>, _>>()?;
            for row in &page {
                fingerprint.add(row)?;
            }
            let is_last = page.len() < PAGE_ROWS;
            if !page.is_empty() && !on_page(&fingerprint, page).await {
                return Err(Error::new(ErrorKind::Closed, "backup", "the backup was ended").into());
            }
            if is_last {
                break;
            }
        }
        sqlx::raw_sql(AssertSqlSafe(format!("CLOSE {cursor}"))).execute(&mut *connection).await?;
    }
    Ok(fingerprint)
}

async fn check_schema(connection: &mut PgConnection, operation: &'static str) -> Result<(), PostgresError> {
    let schema = migration::version(connection).await?;
    if schema == migration::SCHEMA {
        return Ok(());
    }
    let current = migration::SCHEMA;
    let message = match schema {
        0 => "the database has no memory yet; check its address".to_owned(),
        schema => format!(
            "the database has schema {schema}, and this version reads {current}; run `memory migrate up` first, or use \
             the version that made it"
        ),
    };
    let kind = if schema == 0 { ErrorKind::NotFound } else { ErrorKind::SchemaMismatch };
    Err(Error::new(kind, operation, message).into())
}

/// Refuses a database that has rows.
async fn check_empty(connection: &mut PgConnection) -> Result<(), PostgresError> {
    let sql = "SELECT EXISTS (SELECT FROM records) OR EXISTS (SELECT FROM tombstones)
        OR EXISTS (SELECT FROM synonym_groups) OR EXISTS (SELECT FROM synonym_verdicts)
        OR EXISTS (SELECT FROM audit_chains)";
    if sqlx::query_scalar::<_, bool>(sql).fetch_one(connection).await? {
        let message = "the database is not empty; restore into a new database, or use `memory merge` to add the data \
                       of a backup to it";
        return Err(Error::new(ErrorKind::Conflict, "restore backup", message).into());
    }
    Ok(())
}
