//! The owner of leases: a store that claims items. Its leases end when the store is closed, or when its process ends,
//! even if the process is killed.
//!
//! An owner holds a lock on a file next to the database. The operating system releases the lock when the process ends.
//! Before each claim, a store checks the other owners. An owner whose file is missing or can be locked is dead, and its
//! claimed items are released.

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
    /// The locked file. `None` before the first claim.
    lock: Mutex<Option<File>>,
}

impl LeaseOwner {
    /// Returns an owner that holds no lease yet.
    pub(crate) fn new(database: &Path) -> Self {
        // The last 64 bits of a new record id are almost all random.
        let id = u128::from_be_bytes(*RecordId::new().as_bytes()) as i64;
        Self { database: database.to_owned(), id, lock: Mutex::new(None) }
    }

    /// Returns the id to claim with, and locks the file at the first call. `None` if the file cannot be locked: leases
    /// without an owner end only when they expire.
    pub(crate) fn register(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let mut lock = self.lock.lock();
        if lock.is_none() {
            *lock = lock_file(&self.lock_path(self.id)).ok();
        }
        if lock.is_none() {
            return Ok(None);
        }
        connection.prepare_cached("INSERT OR IGNORE INTO lease_owners (owner) VALUES (?1)")?.execute([self.id])?;
        Ok(Some(self.id))
    }

    /// Releases the items that dead owners had claimed.
    pub(crate) fn release_dead(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached("SELECT owner FROM lease_owners WHERE owner <> ?1")?;
        let others = statement.query_map([self.id], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for owner in others {
            let file = self.lock_path(owner);
            if is_dead(&file) {
                release(connection, owner)?;
                // If the file cannot be removed, an empty file stays.
                let _ = std::fs::remove_file(file);
            }
        }
        Ok(())
    }

    /// Releases the items that this owner has claimed and removes its file, when the store closes.
    pub(crate) fn retire(&self, connection: &Connection) {
        let Some(lock) = self.lock.lock().take() else { return };
        // If this fails, the next claim of another owner finds this one dead and releases them.
        let _ = release(connection, self.id);
        drop(lock);
        let _ = std::fs::remove_file(self.lock_path(self.id));
    }

    fn lock_path(&self, owner: i64) -> PathBuf {
        let mut name = self.database.clone().into_os_string();
        name.push(format!("-owner-{owner:016x}"));
        name.into()
    }
}

/// Releases the items that an owner has claimed, except dead letters, and removes the owner.
fn release(connection: &Connection, owner: i64) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE jobs SET leased_until = ?2, owner = NULL WHERE owner = ?1 AND leased_until <> ?3",
        [owner, LEASE_FREE, LEASE_DEAD],
    )?;
    connection.execute("DELETE FROM lease_owners WHERE owner = ?1", [owner])?;
    Ok(())
}

fn lock_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.try_lock()?;
    Ok(file)
}

/// Returns true if no process holds the lock on this file. If the file cannot be opened, its owner counts as alive.
fn is_dead(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => file.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
