//! The vectors in memory, and searching them.

use memory_core::{EmbeddingSpace, Filter, Hit, RecordId, Scope};
use memory_vector_store::{Among, FlatIndex, VectorQuery};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    changes::{self, News},
    directory::Directory,
    failure::Failure,
    filter_sql,
    generations::Table,
    scopes::Reach,
    statement::Statement,
    timeline::{Timeline, Window},
    vectors,
};

/// A vector's name: the id, by which equal ones are ordered, and the row, since two users may have the same id.
type Key = (RecordId, i64);

/// Every vector of a generation, read at the first search and kept up with what any process writes.
#[derive(Debug)]
pub(crate) struct VectorIndex {
    space: EmbeddingSpace,
    loaded: RwLock<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    index: FlatIndex<Key, i64>,
    /// The name and the address of each row.
    homes: FxHashMap<i64, (Key, i64)>,
    timeline: Timeline,
    /// Where they were read from.
    table: Table,
    /// The last change it has seen; `None` before the first search.
    seen: Option<i64>,
}

impl Loaded {
    fn empty(space: &EmbeddingSpace, table: Table) -> Self {
        let (index, homes) = (FlatIndex::new(space), FxHashMap::default());
        Self { index, homes, timeline: Timeline::default(), table, seen: None }
    }

    fn forget(&mut self, row: i64) {
        if let Some((key, _)) = self.homes.remove(&row) {
            self.index.remove(&key);
            self.timeline.remove(row);
        }
    }

    fn take(&mut self, vector: vectors::StoredVector) {
        let key = (vector.id, vector.row);
        if self.index.insert(key, vector.scope, vector.embedding) {
            self.homes.insert(vector.row, (key, vector.scope));
            self.timeline.insert(vector.row, vector.occurred_at);
        }
    }
}

impl Loaded {
    /// What occurred within a stretch of time and is at one of these addresses.
    fn within(&self, window: Window, groups: &[i64]) -> Vec<Key> {
        let groups: FxHashSet<i64> = groups.iter().copied().collect();
        let home = |row: i64| self.homes.get(&row).filter(|(_, scope)| groups.contains(scope)).map(|(key, _)| *key);
        self.timeline.within(window).filter_map(home).collect()
    }
}

impl VectorIndex {
    /// An index that has not read anything.
    pub(crate) fn new(space: EmbeddingSpace) -> Self {
        let loaded = RwLock::new(Loaded::empty(&space, Table::First));
        Self { space, loaded }
    }

    /// The nearest vectors within `scope`, in the transaction that `connection` is in. The generation lies in `table`.
    pub(crate) fn search(
        &self,
        connection: &Connection,
        table: Table,
        directory: &Directory,
        scope: &Scope,
        query: &VectorQuery,
    ) -> Result<Vec<Hit>, Failure> {
        let Some(reach) = Reach::of(connection, scope)? else { return Ok(Vec::new()) };
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
        let found = loaded.index.search(&query.embedding, among, query.limit.min(loaded.index.len()));
        Ok(found.into_iter().map(|((id, _), score)| Hit { id, score }).collect())
    }

    /// The vectors as this transaction sees them, or later: another search may have seen more already.
    fn current(&self, connection: &Connection, table: Table) -> Result<RwLockReadGuard<'_, Loaded>, Failure> {
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
                vectors::since(connection, table, seen, |vector| loaded.take(vector))?;
                loaded.seen = Some(last);
            }
            News::Everything(last) => {
                *loaded = Loaded::empty(&self.space, table);
                vectors::all(connection, table, |vector| loaded.take(vector))?;
                loaded.seen = Some(last);
            }
        }
        loaded.timeline.settle();
        Ok(RwLockWriteGuard::downgrade(loaded))
    }
}

/// The vectors within reach whose records the filter lets pass.
fn admitted(connection: &Connection, reach: &Reach, filter: &Filter) -> Result<Vec<Key>, Failure> {
    let mut statement = Statement::new(
        "SELECT r.id, r.record FROM scopes s CROSS JOIN records r INDEXED BY records_by_scope ON r.scope = s.scope
         WHERE r.state = 'active' AND ",
    );
    reach.scopes(&mut statement);
    filter_sql::write(filter, statement.push(" AND "));
    let (mut prepared, values) = statement.prepare(connection)?;
    let keys = prepared.query_map(values, |row| Ok((RecordId::from_bytes(row.get(0)?), row.get(1)?)))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}
