//! The vectors in memory, and searching them.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    io,
    ops::Range,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

use memory_engine_core::{EmbeddingSpace, Filter, Hit, RecordId, Scope};
use memory_engine_sql::filter;
use memory_engine_vector_store::{Among, FlatIndex, VectorQuery};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rusqlite::Connection;
use rustc_hash::FxHashSet;

use crate::{
    cache::changes::{self, LAG, News},
    cache::directory::Directory,
    cache::side_file::{Chain, Input, MANY, Output, Section, SideFile},
    cache::timeline::{Timeline, Window},
    database::error::SqliteError,
    database::statement::Statement,
    records::scopes::Reach,
    vectors::vector_store,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// How many vectors of an index are written as one section: as many as are kept without signs.
const PART: usize = 8_000;

/// Every vector of a generation, read at the first search and kept up with what any process writes.
#[derive(Debug)]
pub(crate) struct VectorIndex {
    space: EmbeddingSpace,
    loaded: RwLock<Loaded>,
    /// Where it is kept when there are many.
    file: Option<SideFile>,
    /// The last change that the side file has seen, as far as is known.
    kept: AtomicI64,
}

#[derive(Debug)]
struct Loaded {
    index: FlatIndex<Key, i64>,
    timeline: Timeline,
    /// Where they were read from.
    table: VectorTable,
    /// The last change it has seen; `None` before the first search.
    seen: Option<i64>,
}

/// A vector's name: its row, and the id, by which equal ones are ordered. Two users may have the same id.
#[derive(Debug, Clone, Copy)]
struct Key {
    id: RecordId,
    row: i64,
}

impl Key {
    /// The name by which the vector of a row is looked up.
    fn of(row: i64) -> Self {
        Self { id: RecordId::from_bytes([0; 16]), row }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.row == other.row
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.row.hash(state);
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other { Ordering::Equal } else { (self.id, self.row).cmp(&(other.id, other.row)) }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Loaded {
    fn empty(space: &EmbeddingSpace, table: VectorTable) -> Self {
        Self { index: FlatIndex::lean(space), timeline: Timeline::default(), table, seen: None }
    }

    fn forget(&mut self, row: i64) {
        if self.index.remove(&Key::of(row)) {
            self.timeline.remove(row);
        }
    }

    fn take(&mut self, vector: vector_store::StoredVector) {
        let key = Key { id: vector.id, row: vector.row };
        if self.index.insert(key, vector.scope, vector.embedding) {
            self.timeline.insert(vector.row, vector.occurred_at);
        }
    }

    /// What occurred within a stretch of time and is at one of these addresses.
    fn within(&self, window: Window, groups: &[i64]) -> Vec<Key> {
        let all = self.timeline.within(window).map(Key::of);
        if self.index.holds_only(groups) {
            return all.collect();
        }
        let groups: FxHashSet<i64> = groups.iter().copied().collect();
        let is_reached = |key: &Key| self.index.group(key).is_some_and(|group| groups.contains(&group));
        all.filter(is_reached).collect()
    }
}

impl VectorIndex {
    /// An index that has not read anything.
    pub(crate) fn new(space: EmbeddingSpace, file: Option<SideFile>) -> Self {
        let loaded = RwLock::new(Loaded::empty(&space, VectorTable::First));
        Self { space, loaded, file, kept: AtomicI64::new(0) }
    }

    /// Whether what it knows lacks much of, or all, in its file. While it is being read nobody waits to know.
    pub(crate) fn is_to_be_kept(&self) -> bool {
        let Some(loaded) = self.loaded.try_read() else { return false };
        let kept = self.kept.load(Relaxed);
        self.file.is_some() && loaded.index.len() > MANY && loaded.seen.is_some_and(|seen| seen - kept > LAG)
    }

    /// Whether it has been read and is worth a file.
    pub(crate) fn is_loaded(&self) -> bool {
        self.loaded.try_read().is_some_and(|loaded| loaded.seen.is_some() && loaded.index.len() > MANY)
    }

    /// Notes what its file has seen.
    pub(crate) fn is_kept(&self, seen: i64) {
        self.kept.store(seen, Relaxed);
    }

    /// Its file.
    pub(crate) fn file(&self) -> Option<&SideFile> {
        self.file.as_ref()
    }

    /// Adds to its file what has changed since, up to the last change, in a transaction that keeps others from writing and has
    /// written nothing itself: what is not committed may be undone.
    pub(crate) fn append(
        &self,
        connection: &Connection,
        table: VectorTable,
        chain: &Chain,
        last: i64,
    ) -> Result<(), SqliteError> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut fresh = Loaded::empty(&self.space, table);
        let gone = changes::up_to(connection, chain.seen(), chain.last_row())?;
        vector_store::since(connection, table, chain.seen(), |vector| fresh.take(vector))?;
        let section = Section {
            from: chain.seen(),
            seen: last,
            records: fresh.index.len() as u64,
            gone: gone.len() as u64,
            last_row: chain.last_row().max(fresh.timeline.last_row()),
        };
        let all = 0..fresh.index.len();
        file.append(connection, chain, section, |out| fresh.save(&self.space, &gone, all, out))
    }

    /// Begins its file anew with all there is, in a transaction like that. What it knows need not be read again.
    pub(crate) fn begin(&self, connection: &Connection, table: VectorTable, last: i64) -> Result<(), SqliteError> {
        let Some(file) = &self.file else { return Ok(()) };
        if self.is_loaded() {
            let loaded = self.current(connection, table)?;
            let Some(mut beginning) = file.begin(connection, loaded.seen.unwrap_or(last))? else { return Ok(()) };
            let count = loaded.index.len();
            for start in (0..count).step_by(PART) {
                let rows = start..count.min(start + PART);
                beginning.write(rows.len(), loaded.timeline.last_row(), |out| loaded.save(&self.space, &[], rows, out));
            }
            beginning.finish();
            return Ok(());
        }
        let Some(mut beginning) = file.begin(connection, last)? else { return Ok(()) };
        let mut part = Loaded::empty(&self.space, table);
        let mut write = |part: &mut Loaded| {
            let whole = std::mem::replace(part, Loaded::empty(&self.space, table));
            let (count, last_row) = (whole.index.len(), whole.timeline.last_row());
            beginning.write(count, last_row, |out| whole.save(&self.space, &[], 0..count, out));
        };
        vector_store::all(connection, table, |vector| {
            part.take(vector);
            if part.index.len() == PART {
                write(&mut part);
            }
        })?;
        write(&mut part);
        beginning.finish();
        Ok(())
    }

    /// The nearest vectors within `scope`, in the transaction that `connection` is in. The generation lies in `table`.
    pub(crate) fn search(
        &self,
        connection: &Connection,
        table: VectorTable,
        directory: &Directory,
        scope: &Scope,
        query: &VectorQuery,
    ) -> Result<Vec<Hit>, SqliteError> {
        let Some(reach) = directory.reach(connection, scope)? else { return Ok(Vec::new()) };
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let groups = directory.covered(connection, &reach)?;
        let window = query.filter.as_ref().and_then(Window::of);
        let admitted = match &query.filter {
            Some(filter) if window.is_none() => Some(admitted(connection, &reach, filter)?),
            _ => None,
        };
        let loaded = self.current(connection, table)?;
        let admitted = admitted.or_else(|| window.map(|window| loaded.within(window, &groups)));
        let among = admitted.as_ref().map_or(Among::Groups(&groups), |keys| Among::Keys(keys));
        // More than there are is all of them, and the index makes room for as many as it is asked for.
        let limit = query.limit.min(loaded.index.len());
        let mut stored = vector_store::Lookup::of(connection, table)?;
        let found = loaded.index.search_with(&query.embedding, among, limit, |key| stored.vector(key.row))?;
        Ok(found.into_iter().map(|(Key { id, .. }, score)| Hit { id, score }).collect())
    }

    /// The vectors as this transaction sees them, or later: another search may have seen more already.
    fn current(&self, connection: &Connection, table: VectorTable) -> Result<RwLockReadGuard<'_, Loaded>, SqliteError> {
        // A generation that was dropped and begun anew may lie elsewhere.
        let seen = |loaded: &Loaded| loaded.seen.filter(|_| loaded.table == table);
        let loaded = self.loaded.read();
        if changes::news(connection, seen(&loaded))? == News::None {
            return Ok(loaded);
        }
        drop(loaded);
        let mut loaded = self.loaded.write();
        match changes::news(connection, seen(&loaded))? {
            News::None => {}
            News::Until(last) => {
                let seen = loaded.seen.unwrap_or_default();
                for row in changes::since(connection, seen)? {
                    loaded.forget(row);
                }
                vector_store::since(connection, table, seen, |vector| loaded.take(vector))?;
                loaded.seen = Some(last);
            }
            News::Everything(last) => {
                *loaded = match self.stored(connection, table)? {
                    Some(stored) => stored,
                    None => {
                        let mut read = Loaded::empty(&self.space, table);
                        vector_store::all(connection, table, |vector| read.take(vector))?;
                        Loaded { seen: Some(last), ..read }
                    }
                };
                drop(loaded);
                // What a file has, lacks what has happened since.
                return self.current(connection, table);
            }
        }
        loaded.timeline.settle();
        Ok(RwLockWriteGuard::downgrade(loaded))
    }
}

impl VectorIndex {
    /// What the side file holds, if that can be brought up to date.
    fn stored(&self, connection: &Connection, table: VectorTable) -> Result<Option<Loaded>, SqliteError> {
        let Some(file) = &self.file else { return Ok(None) };
        let empty = |records: usize| {
            let mut empty = Loaded::empty(&self.space, table);
            empty.index.reserve(records);
            empty.timeline.reserve(records);
            empty
        };
        let take = |loaded: &mut Loaded, input: &mut Input<'_>| loaded.extend(&self.space, input);
        let Some((mut loaded, seen)) = file.read(connection, empty, take)? else { return Ok(None) };
        loaded.index.settle();
        loaded.timeline.settle();
        self.is_kept(seen);
        Ok(Some(Loaded { seen: Some(seen), ..loaded }))
    }
}

impl Loaded {
    /// Writes some of it as the section of a file that also says which rows are gone, or come again.
    fn save(&self, space: &EmbeddingSpace, gone: &[i64], rows: Range<usize>, out: &mut Output) -> io::Result<()> {
        out.array(space.to_string().as_bytes())?;
        out.array(self.table.name().as_bytes())?;
        out.deltas(gone.iter().copied())?;
        let numbers = |key: &Key, scope: i64| (key.id.as_u64_pair().into(), [key.row, scope]);
        let keys = self.index.save(out, rows, numbers)?;
        // In the order of time, which is the order in which they are wanted.
        let mut times: Vec<(i64, i64)> = keys.iter().map(|key| (self.timeline.time(key.row), key.row)).collect();
        times.sort_unstable();
        out.deltas(times.iter().map(|(time, _)| *time))?;
        out.deltas(times.iter().map(|(_, row)| *row))
    }

    /// Takes in what such a section says.
    fn extend(&mut self, space: &EmbeddingSpace, input: &mut Input<'_>) -> io::Result<()> {
        let (of, lies) = (input.array::<u8>()?, input.array::<u8>()?);
        if of != space.to_string().as_bytes() || lies != self.table.name().as_bytes() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        input.deltas()?.into_iter().for_each(|row| self.forget(row));
        let name = |[high, low]: [u64; 2], [row, scope]: [i64; 2]| {
            (Key { id: RecordId::from_u64_pair(high, low), row }, scope)
        };
        let keys = self.index.extend(input, name)?;
        let (times, rows) = (input.deltas()?, input.deltas()?);
        if [times.len(), rows.len()] != [keys.len(); 2] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.timeline.extend(rows.into_iter().zip(times));
        Ok(())
    }
}

/// The vectors within reach whose records the filter lets pass.
fn admitted(connection: &Connection, reach: &Reach, filter: &Filter) -> Result<Vec<Key>, SqliteError> {
    let mut statement = Statement::new(
        "SELECT r.id, r.record FROM scopes s CROSS JOIN records r INDEXED BY records_by_scope ON r.scope = s.scope
         WHERE r.state = 'active' AND ",
    );
    reach.scopes(&mut statement);
    filter::write(filter, statement.push(" AND "));
    let (mut prepared, values) = statement.prepare(connection)?;
    let keys = prepared.query_map(values, |row| Ok(Key { id: RecordId::from_bytes(row.get(0)?), row: row.get(1)? }))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}
