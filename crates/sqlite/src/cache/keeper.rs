//! Who keeps the side files.

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use crate::{
    cache::caches::Caches,
    cache::changes::{self, LAG},
    cache::side_file::{Chain, MANY},
    database::error::SqliteError,
    database::index_metadata,
    database::schema::in_transaction,
};
use memory_engine_sql::embedding_versions::VectorTable;
use memory_engine_sql::index_metadata::IndexMetadata;

/// How many rows are much to have written: a record is four at the least, and a change for the side files.
const MUCH: u64 = 4 * 10_000;
/// How many changes a side file may lack when the database is closed: whoever opens it next reads these.
const LEFT: i64 = 1000;

/// Writes the side files while others write, on the thread that writes: each time that so much has been written, what is new is
/// added. So an import takes as long for its last records as for its first, and closing takes no time.
#[derive(Debug)]
pub(crate) struct Keeper {
    caches: Caches,
    origin: IndexMetadata,
    /// How many rows had been written when it last looked.
    looked: u64,
    /// The last change when it looked for the first time, and when it began the file of an index anew.
    first: Option<i64>,
    begun: FxHashMap<Which, i64>,
    tenants: Tenants,
}

/// An index: of the vectors, or of a tenant's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Which {
    Vectors(VectorTable),
    Terms(i64),
}

/// How many records each tenant had when they were counted.
#[derive(Debug, Default)]
struct Tenants {
    sizes: Vec<(i64, u64)>,
    /// The greatest row then.
    counted: i64,
}

impl Keeper {
    /// One that has looked at nothing yet.
    pub(crate) fn new(caches: Caches, origin: IndexMetadata) -> Self {
        Self { caches, origin, looked: 0, first: None, begun: FxHashMap::default(), tenants: Tenants::default() }
    }

    /// Looks after the files when much has been written since the last time, in a transaction of its own: what is not committed
    /// may be undone, and must be in no file.
    pub(crate) fn look(&mut self, connection: &mut Connection) -> Result<(), SqliteError> {
        let written = connection.total_changes();
        if written - self.looked < LAG as u64 && !self.caches.are_to_be_kept() {
            return Ok(());
        }
        self.looked = written;
        in_transaction(connection, |transaction| self.keep_all(transaction, false))
    }

    /// The same when the file is closed. Whoever has written much, or has read everything, leaves files behind.
    pub(crate) fn look_at_the_end(&mut self, connection: &mut Connection) -> Result<(), SqliteError> {
        let has_read = self.caches.vectors.is_loaded() || !self.caches.keywords.loaded().is_empty();
        if connection.total_changes() < LEFT as u64 && !has_read {
            return Ok(());
        }
        in_transaction(connection, |transaction| self.keep_all(transaction, true))
    }

    fn keep_all(&mut self, connection: &Connection, at_the_end: bool) -> Result<(), SqliteError> {
        let last = changes::last(connection)?;
        let much = at_the_end && connection.total_changes() > MUCH;
        let lag = if at_the_end { LEFT } else { LAG };
        let caches = self.caches.clone();
        let (vectors, keywords) = (&caches.vectors, &caches.keywords);
        if let (Some(file), Some(table)) =
            (vectors.file(), index_metadata::versions(connection)?.table_for_new_records(&self.origin))
        {
            let index = Which::Vectors(table);
            let chain = file.chain(connection)?;
            let is_known = if at_the_end { vectors.is_loaded() } else { vectors.is_to_be_kept() };
            let kept = match self.next(index, chain, last, lag, much || is_known, || vectors_of(connection, table))? {
                Next::Nothing(seen) => seen,
                Next::Append(chain) => vectors.append(connection, table, &chain, last).map(|()| Some(last))?,
                Next::Begin => vectors.begin(connection, table, last).map(|()| Some(last))?,
            };
            kept.into_iter().for_each(|seen| vectors.is_kept(seen));
        }
        if connection.total_changes() >= LEFT as u64 {
            self.tenants.count(connection, at_the_end)?;
        }
        let known = if at_the_end { keywords.loaded() } else { keywords.to_be_kept() };
        let mut large: FxHashMap<i64, u64> = known.iter().map(|(tenant, size)| (*tenant, *size as u64)).collect();
        large.extend(self.tenants.sizes.iter().filter(|(_, size)| *size > MANY as u64).copied());
        for (tenant, size) in large {
            let is_known = known.iter().any(|(known, _)| *known == tenant);
            let chain = keywords.file(tenant).chain(connection)?;
            let kept = match self.next(Which::Terms(tenant), chain, last, lag, much || is_known, || Ok(size))? {
                Next::Nothing(seen) => seen,
                Next::Append(chain) => keywords.append(connection, tenant, &chain, last).map(|()| Some(last))?,
                Next::Begin => keywords.begin(connection, tenant, last).map(|()| Some(last))?,
            };
            kept.into_iter().for_each(|seen| keywords.is_kept(tenant, seen));
        }
        Ok(())
    }

    /// What is to be done about a file. A new one is written of what is known anyway, and else when the index has grown by half
    /// since it was last written anew: reading everything takes long when there is much.
    fn next(
        &mut self,
        index: Which,
        chain: Option<Chain>,
        last: i64,
        lag: i64,
        is_worth_it: bool,
        size: impl FnOnce() -> Result<u64, SqliteError>,
    ) -> Result<Next, SqliteError> {
        let first = *self.first.get_or_insert(last);
        let begun = self.begun.get(&index).copied().unwrap_or(first);
        let seen = chain.as_ref().map(Chain::seen);
        if seen.is_some_and(|seen| last - seen < lag) {
            return Ok(Next::Nothing(seen));
        }
        if let Some(chain) = chain {
            if !chain.is_worn() || last - begun < MANY as i64 {
                return Ok(Next::Append(chain));
            }
        } else {
            let size = size()?;
            if size <= MANY as u64 || !is_worth_it && last - begun < (size / 2) as i64 {
                return Ok(Next::Nothing(None));
            }
        }
        self.begun.insert(index, last);
        Ok(Next::Begin)
    }
}

/// What is to be done about a file.
#[derive(Debug)]
enum Next {
    /// Nothing: it has seen this change, if it is there.
    Nothing(Option<i64>),
    Append(Chain),
    Begin,
}

/// How many vectors there are; of very many, how many there may be.
fn vectors_of(connection: &Connection, table: VectorTable) -> Result<u64, SqliteError> {
    let sql = format!(
        "SELECT (SELECT coalesce(max(record), 0) FROM {0}), (SELECT count(*) FROM (SELECT 1 FROM {0} LIMIT {1}))",
        table.name(),
        MANY + 1
    );
    let (most, some) =
        connection.prepare_cached(&sql)?.query_row([], |row| Ok((row.get::<_, u64>(0)?, row.get(1)?)))?;
    Ok(if some > MANY as u64 { most.max(some) } else { some })
}

impl Tenants {
    /// Counts them again if there may be a quarter more records by now, or when they are to be right.
    fn count(&mut self, connection: &Connection, exactly: bool) -> Result<(), SqliteError> {
        let sql = "SELECT coalesce(max(record), 0) FROM records";
        let last: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        if last <= MANY as i64 || last - self.counted < self.counted / 4 && !(exactly && last > self.counted) {
            return Ok(());
        }
        let sql = "SELECT n.tenant, sum(r.records) FROM namespaces n CROSS JOIN (
            SELECT namespace, count(*) AS records FROM records INDEXED BY records_by_namespace GROUP BY namespace
            ) r ON r.namespace = n.namespace GROUP BY n.tenant";
        let mut prepared = connection.prepare_cached(sql)?;
        let sizes = prepared.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        *self = Self { sizes: sizes.collect::<rusqlite::Result<_>>()?, counted: last };
        Ok(())
    }
}
