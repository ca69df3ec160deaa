//! Copies of a database as a power failure may leave them.
//!
//! SQLite appends every commit to the log, and syncs the log after each commit (`FULL`) or before a checkpoint
//! (`NORMAL`). Unsynced bytes can be lost from any byte on, and later ones can be on the disk without earlier ones. A
//! checkpoint changes the database file: then the log must not be cut any more.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{model::Model, random::Random};

/// Bytes of the header of the log. The salt in it changes when the log starts again from the beginning.
const LOG_HEADER_BYTES: usize = 32;

/// A state of the model, and the length of the log when it was acknowledged.
#[derive(Debug, Clone)]
struct LogState {
    length: u64,
    model: Model,
    /// True if the operation that led to it is atomic.
    is_atomic: bool,
}

/// The states of the model, with the length of the log when each was acknowledged.
#[derive(Debug)]
pub(crate) struct LogHistory {
    database: Vec<u8>,
    header: Vec<u8>,
    states: Vec<LogState>,
}

/// A crash image: the state that it must have, or the state after.
pub(crate) struct CrashImage {
    pub(crate) path: PathBuf,
    pub(crate) before: Model,
    pub(crate) after: Model,
    pub(crate) is_atomic: bool,
    pub(crate) description: String,
}

fn log_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}

fn header(log: &[u8]) -> Vec<u8> {
    log[..LOG_HEADER_BYTES.min(log.len())].to_vec()
}

fn state(log: &[u8], model: &Model, is_atomic: bool) -> LogState {
    LogState { length: log.len() as u64, model: model.clone(), is_atomic }
}

impl LogHistory {
    pub(crate) fn new(database: &Path, model: &Model) -> Self {
        let log = read(&log_path(database));
        Self { database: read(database), header: header(&log), states: vec![state(&log, model, true)] }
    }

    /// Adds the state after an operation. Starts again if the log was reset or the database file has changed.
    pub(crate) fn push(&mut self, database: &Path, model: &Model, is_atomic: bool) {
        let log = read(&log_path(database));
        let is_same_log = self.header.is_empty() || self.header == header(&log);
        if !is_same_log || read(database) != self.database {
            *self = Self::new(database, model);
            return;
        }
        self.header = header(&log);
        self.states.push(state(&log, model, is_atomic));
    }

    /// Writes a crash image to a folder. `only_last`: all operations but the last one were synced. Returns `None` if
    /// nothing can be lost.
    pub(crate) fn crash(
        &self,
        database: &Path,
        folder: &Path,
        only_last: bool,
        random: &mut Random,
    ) -> Option<CrashImage> {
        let states = if only_last { &self.states[self.states.len().saturating_sub(2)..] } else { &self.states[..] };
        let (first, last) = (states.first()?.length, states.last()?.length);
        let mut log = read(&log_path(database));
        if last <= first || log.len() as u64 != last {
            return None;
        }
        let mut start = first + random.below(last - first);
        let description = if random.chance(70) {
            log.truncate(start as usize);
            format!("the log is cut at byte {start} of {last}")
        } else {
            // Only the beginning of the lost part is missing.
            let end = (start + 1 + random.below(20_000)).min(last);
            // Bytes that were zero before are not lost.
            start += log[start as usize..end as usize].iter().position(|byte| *byte != 0)? as u64;
            log[start as usize..end as usize].fill(0);
            format!("bytes {start} to {end} of {last} of the log are zero")
        };
        let index = states.iter().rposition(|state| state.length <= start)?;
        let path = folder.join("memory.db");
        fs::write(&path, &self.database).unwrap();
        fs::write(log_path(&path), log).unwrap();
        let after = states.get(index + 1).unwrap_or(&states[index]);
        let (before, is_atomic) = (states[index].model.clone(), after.is_atomic);
        Some(CrashImage { path, before, after: after.model.clone(), is_atomic, description })
    }
}
