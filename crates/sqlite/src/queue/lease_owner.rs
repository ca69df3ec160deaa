//! The owner of leases: a store that claims items. Its leases end with it, however its process ends.
//!
//! An owner holds a lock on a file next to the database. The operating system ends the lock with the process. Before a
//! claim, every other owner whose file is gone or can be locked is dead: what it had claimed is free.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use memory_engine_core::RecordId;
use memory_engine_sql::rows::{LEASE_DEAD, LEASE_FREE};
use parking_lot::Mutex;
use rusqlite::Connection;

/// A store as an owner of leases.
#[derive(Debug)]
pub(crate) struct LeaseOwner {
    database: PathBuf,
    id: i64,
    /// The locked file, from the first claim on.
    lock: Mutex<Option<File>>,
}

impl LeaseOwner {
    /// Returns an owner that holds no lease yet.
    pub(crate) fn new(database: &Path) -> Self {
        let [.., a, b, c, d, e, f, g, h] = *RecordId::new().as_bytes();
        let id = i64::from_be_bytes([a, b, c, d, e, f, g, h]);
        Self { database: database.to_owned(), id, lock: Mutex::new(None) }
    }

    /// Returns the id to claim with; `None` if the file cannot be locked. Leases without an owner end with their time
    /// only.
    pub(crate) fn register(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let mut lock = self.lock.lock();
        if lock.is_none() {
            *lock = locked_file(&self.file_of(self.id)).ok();
        }
        if lock.is_none() {
            return Ok(None);
        }
        connection.prepare_cached("INSERT OR IGNORE INTO lease_owners (owner) VALUES (?1)")?.execute([self.id])?;
        Ok(Some(self.id))
    }

    /// Frees what dead owners had claimed.
    pub(crate) fn release_dead(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut others = connection.prepare_cached("SELECT owner FROM lease_owners WHERE owner <> ?1")?;
        let others = others.query_map([self.id], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for owner in others {
            let file = self.file_of(owner);
            if is_dead(&file) {
                release(connection, owner)?;
                // If it stays, it is only a file without content.
                let _ = std::fs::remove_file(file);
            }
        }
        Ok(())
    }

    /// Frees what this owner had claimed and removes its file, at the end of the store.
    pub(crate) fn retire(&self, connection: &Connection) {
        let Some(lock) = self.lock.lock().take() else { return };
        // If it fails, the next owner that claims finds this one dead.
        let _ = release(connection, self.id);
        drop(lock);
        let _ = std::fs::remove_file(self.file_of(self.id));
    }

    fn file_of(&self, owner: i64) -> PathBuf {
        let mut name = self.database.clone().into_os_string();
        name.push(format!("-owner-{owner:016x}"));
        name.into()
    }
}

/// Frees what an owner has claimed, except dead letters, and forgets the owner.
fn release(connection: &Connection, owner: i64) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE backlog SET leased_until = ?2, owner = NULL WHERE owner = ?1 AND leased_until <> ?3",
        [owner, LEASE_FREE, LEASE_DEAD],
    )?;
    connection.execute("DELETE FROM lease_owners WHERE owner = ?1", [owner])?;
    Ok(())
}

fn locked_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.try_lock()?;
    Ok(file)
}

/// Returns true if no process holds the lock on this file. An owner whose file cannot be looked at counts as alive.
fn is_dead(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => file.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
