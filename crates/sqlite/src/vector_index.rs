//! The vectors in memory, and searching them.

use memory_core::{EmbeddingSpace, Hit, RecordId, Scope};
use memory_vector_store::{ExactIndex, VectorQuery};
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    changes::{self, News},
    failure::Failure,
    filter_sql,
    generations::Table,
    scopes::Reach,
    statement::Statement,
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
    index: ExactIndex<Key, i64>,
    keys: FxHashMap<i64, Key>,
    /// Where they were read from.
    table: Table,
    /// The last change it has seen; `None` before the first search.
    seen: Option<i64>,
}

impl Loaded {
    fn empty(space: &EmbeddingSpace, table: Table) -> Self {
        Self { index: ExactIndex::new(space), keys: FxHashMap::default(), table, seen: None }
    }

    fn forget(&mut self, row: i64) {
        if let Some(key) = self.keys.remove(&row) {
            self.index.remove(&key);
        }
    }

    fn take(&mut self, vector: vectors::StoredVector) {
        let key = (vector.id, vector.row);
        if self.index.insert(key, vector.scope, vector.embedding) {
            self.keys.insert(vector.row, key);
        }
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
        scope: &Scope,
        query: &VectorQuery,
    ) -> Result<Vec<Hit>, Failure> {
        let Some(reach) = Reach::of(connection, scope)? else { return Ok(Vec::new()) };
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let groups = reach.covered(connection)?;
        let admitted = match &query.filter {
            None => None,
            Some(_) => Some(admitted(connection, &reach, query)?),
        };
        let loaded = self.current(connection, table)?;
        // More than there are is all of them, and the index makes room for as many as it is asked for.
        let limit = query.limit.min(loaded.index.len());
        let admit = |key: &Key| admitted.as_ref().is_none_or(|admitted| admitted.contains(key));
        let found = loaded.index.search(&query.embedding, groups, limit, admit);
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
        Ok(RwLockWriteGuard::downgrade(loaded))
    }
}

/// The vectors within reach whose records the filter lets pass.
fn admitted(connection: &Connection, reach: &Reach, query: &VectorQuery) -> Result<FxHashSet<Key>, Failure> {
    let mut statement = Statement::new(
        "SELECT r.id, r.record FROM scopes s CROSS JOIN records r INDEXED BY records_by_scope ON r.scope = s.scope
         WHERE r.state = 'active' AND ",
    );
    reach.scopes(&mut statement);
    if let Some(filter) = &query.filter {
        filter_sql::write(filter, statement.push(" AND "));
    }
    let (mut prepared, values) = statement.prepare(connection)?;
    let keys = prepared.query_map(values, |row| Ok((RecordId::from_bytes(row.get(0)?), row.get(1)?)))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}
