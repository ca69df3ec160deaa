//! Files beside the database that hold what is kept in memory, as it was at some change: caches, which may be deleted at any
//! time. Without one an index is read from the database.
//!
//! A file is a chain of sections, each of what has changed since the one before it. One that is being written, or was when
//! somebody pulled the plug, has no length yet and is not there for anybody who reads.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Take, Write},
    path::{Path, PathBuf},
};

use memory_engine_core::{
    RecordId,
    snapshot::{SnapshotReader, SnapshotWriter},
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    cache::changes::{self, News},
    database::error::SqliteError,
};

/// From how many records on an index is kept in a file: fewer are read in no time.
pub(crate) const MANY: usize = 20_000;
/// What a section begins with: what it is, and how it is laid out.
const FORMAT: u64 = u64::from_le_bytes(*b"MemIdx02");
/// How many bytes say how long a section is.
const LENGTH: u64 = 8;
/// How many bytes of heads and short arrays are read at once. Long arrays are read straight to where they lie.
const AT_ONCE: usize = 16 << 10;
/// Under what name `origins` keeps the mark that the files of this state bear. It goes when something is deleted, so that no
/// file with a trace of it is ever read again.
const MARK: &str = "side files";
/// How a file that is being written ends.
const UNFINISHED: &str = ".unfinished";

/// The files of one index: a single one, or a long one and what is still to be moved there.
#[derive(Debug, Clone)]
pub(crate) struct SideFile {
    parts: Vec<PathBuf>,
    database: PathBuf,
}

pub(crate) type Input<'f> = SnapshotReader<Take<&'f mut BufReader<File>>>;
pub(crate) type Output = SnapshotWriter<BufWriter<File>>;

/// The parts as they are read, as far as they are there.
type Files = Vec<Option<BufReader<File>>>;

/// What a section says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// It has what has changed after this change,
    pub(crate) from: i64,
    /// up to this one.
    pub(crate) seen: i64,
    /// How many records it takes in.
    pub(crate) records: u64,
    /// How many it says are gone, or were taken in anew.
    pub(crate) gone: u64,
    /// No row of it, nor of those before it, is greater.
    pub(crate) last_row: i64,
}

/// The sections of an index that follow on each other.
#[derive(Debug)]
pub(crate) struct Chain {
    links: Vec<Link>,
    mark: u64,
    witness: u128,
}

#[derive(Debug)]
struct Link {
    part: usize,
    start: u64,
    length: u64,
    section: Section,
}

impl Link {
    fn end(&self) -> u64 {
        self.start + LENGTH + self.length
    }
}

impl Chain {
    /// The last change that it has seen.
    pub(crate) fn seen(&self) -> i64 {
        self.links.last().map_or(0, |link| link.section.seen)
    }

    /// The greatest row that may be in it.
    pub(crate) fn last_row(&self) -> i64 {
        self.links.last().map_or(0, |link| link.section.last_row)
    }

    /// Whether so much of it is out of date that it is to be written anew.
    pub(crate) fn is_worn(&self) -> bool {
        let sum = |of: fn(&Section) -> u64| self.links.iter().map(|link| of(&link.section)).sum::<u64>();
        2 * sum(|section| section.gone) > sum(|section| section.records) + MANY as u64
    }

    /// How many records are still to be moved to the first part.
    pub(crate) fn fresh(&self) -> u64 {
        self.links.iter().filter(|link| link.part > 0).map(|link| link.section.records).sum()
    }

    fn end(&self, part: usize) -> u64 {
        self.links.iter().filter(|link| link.part == part).map(Link::end).max().unwrap_or(0)
    }
}

impl SideFile {
    /// That of an index by name.
    pub(crate) fn of(database: &Path, index: &str) -> Self {
        Self { parts: vec![beside(database, index)], database: database.to_owned() }
    }

    /// The same with a second part.
    pub(crate) fn in_two_parts(database: &Path, index: &str) -> Self {
        let parts = vec![beside(database, index), beside(database, &format!("{index}-fresh"))];
        Self { parts, database: database.to_owned() }
    }

    /// What there is, if it is of a state from which this transaction's can be reached.
    pub(crate) fn chain(&self, connection: &Connection) -> Result<Option<Chain>, SqliteError> {
        Ok(self.open(connection)?.map(|(chain, _)| chain))
    }

    fn open(&self, connection: &Connection) -> Result<Option<(Chain, Files)>, SqliteError> {
        let Some(mark) = mark(connection)? else { return Ok(None) };
        // The last part first: what is moved meanwhile to one before it is seen twice, and not missed.
        let open = |path| File::open(path).ok().map(|file| BufReader::with_capacity(AT_ONCE, file));
        let mut files: Files = self.parts.iter().rev().map(open).collect();
        files.reverse();
        let mut chain = Chain { links: Vec::new(), mark, witness: 0 };
        for (part, file) in files.iter_mut().enumerate() {
            let Some(file) = file else { continue };
            // What cannot be read ends the chain.
            let _ = follow(&mut chain, part, file);
        }
        let seen = chain.seen();
        let fits = !chain.links.is_empty()
            && !matches!(changes::news(connection, Some(seen))?, News::Everything(_))
            && witness(connection, seen)? == Some(chain.witness);
        Ok(fits.then_some((chain, files)))
    }

    /// Has `take` read each section into what `empty` gives for so many records; gives that with the last change that it has seen.
    /// What is not whole is removed, and nothing is given.
    pub(crate) fn read<T>(
        &self,
        connection: &Connection,
        empty: impl FnOnce(usize) -> T,
        mut take: impl FnMut(&mut T, &mut Input<'_>) -> io::Result<()>,
    ) -> Result<Option<(T, i64)>, SqliteError> {
        let Some((chain, mut files)) = self.open(connection)? else { return Ok(None) };
        // Each is told to be there; nothing that is not takes more room than the file.
        let room = chain.links.iter().map(|link| link.section.records.min(link.length)).sum::<u64>();
        let mut state = empty(room as usize);
        for link in &chain.links {
            let mut read = || {
                let file = files[link.part].as_mut().ok_or(io::ErrorKind::NotFound)?;
                let (mut input, _) = begin(file, link.start, link.length, chain.mark)?;
                take(&mut state, &mut input)?;
                input.finish()
            };
            if read().is_err() {
                self.parts.iter().for_each(|part| drop(fs::remove_file(part)));
                return Ok(None);
            }
        }
        Ok(Some((state, chain.seen())))
    }

    /// Adds a section behind the chain, in a transaction that keeps others from writing and has written nothing itself. What
    /// cannot be written is left out: it is a cache.
    pub(crate) fn append(
        &self,
        connection: &Connection,
        chain: &Chain,
        section: Section,
        body: impl FnOnce(&mut Output) -> io::Result<()>,
    ) -> Result<(), SqliteError> {
        let part = self.parts.len() - 1;
        self.append_to(part, chain.end(part), connection, chain.mark, section, body)
    }

    /// Writes all that the last part has as one section of the first part. `take` reads each section into `state`, which `body`
    /// writes.
    pub(crate) fn move_up<T>(
        &self,
        connection: &Connection,
        chain: &Chain,
        mut state: T,
        mut take: impl FnMut(&mut T, &mut Input<'_>) -> io::Result<()>,
        body: impl FnOnce(T, &mut Output) -> io::Result<()>,
    ) -> Result<(), SqliteError> {
        let moved: Vec<&Link> = chain.links.iter().filter(|link| link.part > 0).collect();
        let (Some(first), Some(last), Some(path)) = (moved.first(), moved.last(), self.parts.last()) else {
            return Ok(());
        };
        let mut read = || {
            let mut file = BufReader::with_capacity(AT_ONCE, File::open(path)?);
            for link in &moved {
                let (mut input, _) = begin(&mut file, link.start, link.length, chain.mark)?;
                take(&mut state, &mut input)?;
                input.finish()?;
            }
            Ok::<_, io::Error>(())
        };
        if read().is_err() {
            self.parts.iter().for_each(|part| drop(fs::remove_file(part)));
            return Ok(());
        }
        let sum = |of: fn(&Section) -> u64| moved.iter().map(|link| of(&link.section)).sum();
        let (records, gone) = (sum(|section| section.records), sum(|section| section.gone));
        let section = Section { from: first.section.from, records, gone, ..last.section };
        self.append_to(0, chain.end(0), connection, chain.mark, section, |out| body(state, out))?;
        // Until it goes, it says once more what was moved.
        let _ = fs::remove_file(path);
        Ok(())
    }

    fn append_to(
        &self,
        part: usize,
        end: u64,
        connection: &Connection,
        mark: u64,
        section: Section,
        body: impl FnOnce(&mut Output) -> io::Result<()>,
    ) -> Result<(), SqliteError> {
        let Some(witness) = witness(connection, section.seen)? else { return Ok(()) };
        let path = &self.parts[part];
        let write = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            // Nobody may read it who may not read the database.
            fs::set_permissions(path, fs::metadata(&self.database)?.permissions())?;
            file.set_len(end)?;
            file.seek(SeekFrom::End(0))?;
            write_section(file, end, mark, section, witness, body).map(drop)
        };
        if write().is_err()
            && let Ok(file) = OpenOptions::new().write(true).open(path)
        {
            let _ = file.set_len(end);
        }
        Ok(())
    }

    /// Begins the files anew, in a transaction that keeps others from writing: all that there is as of a change. `None` when
    /// there is nothing, or no room.
    pub(crate) fn begin(&self, connection: &Connection, seen: i64) -> Result<Option<Beginning<'_>>, SqliteError> {
        let Some(witness) = witness(connection, seen)? else { return Ok(None) };
        let mark = match mark(connection)? {
            Some(mark) => mark,
            None => set_mark(connection)?,
        };
        let mut path = OsString::from(&self.parts[0]);
        path.push(UNFINISHED);
        let path = PathBuf::from(path);
        let open = || {
            let file = File::create(&path)?;
            fs::set_permissions(&path, fs::metadata(&self.database)?.permissions())?;
            Ok::<_, io::Error>(file)
        };
        let file = open().ok();
        let section = Section { seen, ..Section::default() };
        Ok(file.map(|file| Beginning { side_file: self, path, file: Some(file), mark, witness, section }))
    }
}

/// A file that is begun anew. Nobody sees it before it is finished.
#[derive(Debug)]
pub(crate) struct Beginning<'f> {
    side_file: &'f SideFile,
    path: PathBuf,
    /// `None` after something went wrong.
    file: Option<File>,
    mark: u64,
    witness: u128,
    section: Section,
}

impl Beginning<'_> {
    /// Writes the next section, of so many records, none of a greater row than this.
    pub(crate) fn write(&mut self, records: usize, last_row: i64, body: impl FnOnce(&mut Output) -> io::Result<()>) {
        let Some(mut file) = self.file.take() else { return };
        let last_row = self.section.last_row.max(last_row);
        self.section = Section { records: records as u64, last_row, ..self.section };
        let write = || {
            let start = file.seek(SeekFrom::End(0))?;
            write_section(file.try_clone()?, start, self.mark, self.section, self.witness, body)
        };
        self.file = write().ok();
        // What follows adds to it.
        self.section.from = self.section.seen;
    }

    /// Puts it in its place.
    pub(crate) fn finish(self) {
        let [first, others @ ..] = &self.side_file.parts[..] else { return };
        let is_there = self.file.is_some() && fs::rename(&self.path, first).is_ok();
        let gone: &[PathBuf] = if is_there { others } else { std::slice::from_ref(&self.path) };
        gone.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

fn beside(database: &Path, index: &str) -> PathBuf {
    let mut path = OsString::from(database);
    path.push("-");
    path.push(index);
    path.into()
}

/// Writes a section where the file ends, and how long it is when all of it is there.
fn write_section(
    mut file: File,
    start: u64,
    mark: u64,
    section: Section,
    witness: u128,
    body: impl FnOnce(&mut Output) -> io::Result<()>,
) -> io::Result<File> {
    file.write_all(&0_u64.to_le_bytes())?;
    let mut output = SnapshotWriter::new(BufWriter::with_capacity(1 << 18, file))?;
    let Section { from, seen, records, gone, last_row } = section;
    let (low, high) = (witness as u64, (witness >> 64) as u64);
    for number in [FORMAT, mark, from as u64, seen as u64, low, high, records, gone, last_row as u64] {
        output.number(number)?;
    }
    body(&mut output)?;
    let mut file = output.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    let length = file.stream_position()? - start - LENGTH;
    file.seek(SeekFrom::Start(start))?;
    file.write_all(&length.to_le_bytes())?;
    Ok(file)
}

/// Adds the sections of a part that follow on what the chain has seen.
fn follow(chain: &mut Chain, part: usize, file: &mut BufReader<File>) -> io::Result<()> {
    let whole = file.get_ref().metadata()?.len();
    let mut start = 0;
    while start + LENGTH < whole {
        file.seek(SeekFrom::Start(start))?;
        let mut length = [0; LENGTH as usize];
        file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length == 0 || length > whole - start - LENGTH {
            break;
        }
        let (_, (section, witness)) = begin(file, start, length, chain.mark)?;
        // Of a chain that is begun, what it has seen already is passed over.
        if chain.links.is_empty() || section.seen > chain.seen() || section.from == chain.seen() {
            if section.from > chain.seen() {
                break;
            }
            chain.links.push(Link { part, start, length, section });
            chain.witness = witness;
        }
        start += LENGTH + length;
    }
    Ok(())
}

/// Goes to a section that bears the mark; gives what follows its head, what that says, and who tells.
fn begin(file: &mut BufReader<File>, start: u64, length: u64, mark: u64) -> io::Result<(Input<'_>, (Section, u128))> {
    file.seek(SeekFrom::Start(start + LENGTH))?;
    let mut input = SnapshotReader::new(file.take(length), length)?;
    let mut head = [0; 9];
    for number in &mut head {
        *number = input.number()?;
    }
    let [format, marked, from, seen, low, high, records, gone, last_row] = head;
    if format != FORMAT || marked != mark {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let section = Section { from: from as i64, seen: seen as i64, records, gone, last_row: last_row as i64 };
    Ok((input, (section, u128::from(high) << 64 | u128::from(low))))
}

/// The id of the last record that was changed up to a change, and is there. In a database that was put back to an earlier state,
/// and has gone on from there, it is another one.
fn witness(connection: &Connection, change: i64) -> Result<Option<u128>, SqliteError> {
    let sql = "SELECT r.id FROM changes c CROSS JOIN records r ON r.record = c.record WHERE c.change <= ?1
        ORDER BY c.change DESC LIMIT 1";
    let id = connection.prepare_cached(sql)?.query_row([change], |row| row.get::<_, [u8; 16]>(0)).optional()?;
    Ok(id.map(u128::from_be_bytes))
}

fn mark(connection: &Connection) -> Result<Option<u64>, SqliteError> {
    let sql = "SELECT made_by FROM origins WHERE part = ?1";
    let mark: Option<String> = connection.prepare_cached(sql)?.query_row([MARK], |row| row.get(0)).optional()?;
    Ok(mark.and_then(|mark| u64::from_str_radix(&mark, 16).ok()))
}

fn set_mark(connection: &Connection) -> Result<u64, SqliteError> {
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

#[cfg(test)]
mod tests;
