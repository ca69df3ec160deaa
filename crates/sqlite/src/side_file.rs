//! Files beside the database that hold what is kept in memory, as it was at some change: caches, which may be deleted at any
//! time. Without one an index is read from the database.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use memory_core::{
    RecordId,
    snapshot::{SnapshotReader, SnapshotWriter},
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    changes::{self, News},
    failure::Failure,
};

/// From how many records on an index is kept in a file: fewer are read in no time.
pub(crate) const MANY: usize = 20_000;
/// What a file begins with: what it is, and how it is laid out.
const FORMAT: u64 = u64::from_le_bytes(*b"MemIdx01");
/// Under what name `origins` keeps the mark that the files of this state bear. It goes when something is deleted, so that no
/// file with a trace of it is ever read again.
const MARK: &str = "side files";
/// How a file that is being written ends.
const UNFINISHED: &str = ".unfinished";

/// A file of one index.
#[derive(Debug, Clone)]
pub(crate) struct SideFile {
    path: PathBuf,
    database: PathBuf,
}

pub(crate) type Input = SnapshotReader<BufReader<File>>;
pub(crate) type Output = SnapshotWriter<BufWriter<File>>;

impl SideFile {
    /// That of an index by name.
    pub(crate) fn of(database: &Path, index: &str) -> Self {
        let mut path = OsString::from(database);
        path.push("-");
        path.push(index);
        Self { path: path.into(), database: database.to_owned() }
    }

    /// What the file holds, and as of which change, if it is of a state from which this transaction's can be reached.
    pub(crate) fn read<T>(
        &self,
        connection: &Connection,
        body: impl FnOnce(&mut Input) -> io::Result<T>,
    ) -> Result<Option<(T, i64)>, Failure> {
        let Some(mark) = mark(connection)? else { return Ok(None) };
        let Ok(file) = File::open(&self.path) else { return Ok(None) };
        let Ok((mut input, seen, witness)) = open(file, mark) else { return Ok(None) };
        if matches!(changes::news(connection, Some(seen))?, News::Everything(_))
            || self::witness(connection, seen)? != Some(witness)
        {
            return Ok(None);
        }
        let read = || {
            let found = body(&mut input)?;
            input.finish()?;
            Ok::<_, io::Error>(found)
        };
        // A file that is torn is none.
        Ok(read().ok().map(|found| (found, seen)))
    }

    /// Writes the file as of a change, in the transaction that writes. `body` tells whether there is anything to keep. What cannot
    /// be written is left out: it is a cache, and tried again after as many changes.
    pub(crate) fn write(
        &self,
        connection: &Connection,
        seen: i64,
        body: impl FnOnce(&mut Output) -> io::Result<bool>,
    ) -> Result<(), Failure> {
        let Some(witness) = witness(connection, seen)? else { return Ok(()) };
        let mark = match mark(connection)? {
            Some(mark) => mark,
            None => set_mark(connection)?,
        };
        let mut unfinished = OsString::from(&self.path);
        unfinished.push(UNFINISHED);
        let write = || {
            let mut output = SnapshotWriter::new(BufWriter::with_capacity(1 << 20, File::create(&unfinished)?))?;
            // Nobody may read it who may not read the database.
            fs::set_permissions(&unfinished, fs::metadata(&self.database)?.permissions())?;
            for number in [FORMAT, mark, seen as u64, witness as u64, (witness >> 64) as u64] {
                output.number(number)?;
            }
            let kept = body(&mut output)?;
            output.finish()?.flush()?;
            if kept {
                fs::rename(&unfinished, &self.path)?;
            }
            Ok::<_, io::Error>(kept)
        };
        if !write().unwrap_or(false) {
            let _ = fs::remove_file(&unfinished);
        }
        Ok(())
    }
}

/// Opens a file that bears the mark; also gives the change that it is of, and who tells.
fn open(file: File, mark: u64) -> io::Result<(Input, i64, u128)> {
    let length = file.metadata()?.len();
    let mut input = SnapshotReader::new(BufReader::with_capacity(1 << 20, file), length)?;
    let mut number = || input.number();
    let (format, marked, seen, low, high) = (number()?, number()?, number()?, number()?, number()?);
    if format != FORMAT || marked != mark {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((input, seen as i64, u128::from(high) << 64 | u128::from(low)))
}

/// The id of the last record that was changed up to a change, and is there. In a database that was put back to an earlier state,
/// and has gone on from there, it is another one.
fn witness(connection: &Connection, change: i64) -> Result<Option<u128>, Failure> {
    let sql = "SELECT r.id FROM changes c CROSS JOIN records r ON r.record = c.record WHERE c.change <= ?1
        ORDER BY c.change DESC LIMIT 1";
    let id = connection.prepare_cached(sql)?.query_row([change], |row| row.get::<_, [u8; 16]>(0)).optional()?;
    Ok(id.map(u128::from_be_bytes))
}

/// Whether there may be files that are of this database's state.
pub(crate) fn are_there(connection: &Connection) -> Result<bool, Failure> {
    Ok(mark(connection)?.is_some())
}

fn mark(connection: &Connection) -> Result<Option<u64>, Failure> {
    let sql = "SELECT made_by FROM origins WHERE part = ?1";
    let mark: Option<String> = connection.prepare_cached(sql)?.query_row([MARK], |row| row.get(0)).optional()?;
    Ok(mark.and_then(|mark| u64::from_str_radix(&mark, 16).ok()))
}

fn set_mark(connection: &Connection) -> Result<u64, Failure> {
    let random = u128::from_be_bytes(*RecordId::new().as_bytes()) as u64;
    connection
        .prepare_cached("INSERT OR REPLACE INTO origins (part, made_by) VALUES (?1, ?2)")?
        .execute(params![MARK, format!("{random:016x}")])?;
    Ok(random)
}

/// Removes every file of a database, in the transaction that deletes something of what may be in them.
pub(crate) fn remove_all(connection: &Connection, database: &Path) -> rusqlite::Result<()> {
    let marked = connection.prepare_cached("DELETE FROM origins WHERE part = ?1")?.execute([MARK])?;
    let (Some(directory), Some(name)) = (database.parent(), database.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    if marked == 0 {
        return Ok(());
    }
    let is_side_file = |entry: &fs::DirEntry| {
        let file = entry.file_name();
        let end = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix('-'));
        end.is_some_and(|end| end.starts_with("vectors") || end.starts_with("terms"))
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten().filter(is_side_file) {
        // Without the mark it is never read again; that it goes is seen to by the next one that deletes.
        let _ = fs::remove_file(entry.path());
    }
    Ok(())
}
