//! The index that proposes near vectors.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use memory_engine_core::{EmbeddingSpace, Metric, Scope};
use pgvector::Vector;
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::{
    database::error::PostgresError, database::index_metadata, database::statement::Statement, options::PostgresOptions,
    records::scopes, records::scopes::Tenants, vectors::vector_store,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Returns the name of the index of a table in `origins`.
fn part(table: VectorTable) -> &'static str {
    match table {
        VectorTable::First => "vector index",
        VectorTable::Second => "second vector index",
    }
}

/// Returns the name of the index of a table in the database.
pub(crate) fn name(table: VectorTable) -> &'static str {
    match table {
        VectorTable::First => "vectors_by_nearness",
        VectorTable::Second => "second_vectors_by_nearness",
    }
}

/// Index and distance of the vectors of the store's space.
#[derive(Debug, Clone)]
pub(crate) struct VectorIndex {
    space: EmbeddingSpace,
    kind: Kind,
    half: bool,
    pub(crate) exact_up_to: u64,
    /// True if the second table served the last search.
    second: Arc<AtomicBool>,
    tenants: Tenants,
    /// Number of vectors written by this process since the last check for the index; [`u64::MAX`] once the index is
    /// known to exist.
    written: Arc<AtomicU64>,
    /// Number of further searches without counting, for each scope that was found to be large.
    large: Arc<Mutex<FxHashMap<(Uuid, Uuid), u32>>>,
}

/// After how many searches a large scope is counted again.
const RECOUNTED: u32 = 100;

/// Minimum number of vectors for an index. With an index, a write takes four times as long.
const INDEX_MIN_VECTORS: u64 = 1000;

/// Maximum number of vectors without an index. Writes wait while it is built, some seconds for this many.
const UNINDEXED_MAX_VECTORS: u64 = 20_000;

/// Number of vectors that this process writes before it checks again whether the table has enough for an index.
const CHECK_INTERVAL: u64 = 500;

/// Maximum number of large scopes that are remembered.
const MAX_LARGE_SCOPES: usize = 10_000;

/// The column types that pgvector can index: up to 2000 dimensions of 32 bits, or up to 4000 of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Single,
    Half,
    None,
}

impl Kind {
    fn of(space: &EmbeddingSpace, half: bool) -> Self {
        match space.dimensions {
            1..=2000 if !half => Self::Single,
            1..=4000 => Self::Half,
            _ => Self::None,
        }
    }
}

impl VectorIndex {
    /// That of the options.
    pub(crate) fn of(space: EmbeddingSpace, options: &PostgresOptions) -> Self {
        let (half, exact_up_to) = (options.half_precision, options.exact_up_to);
        Self {
            kind: Kind::of(&space, half),
            space,
            half,
            exact_up_to,
            second: Arc::default(),
            tenants: Tenants::default(),
            written: Arc::default(),
            large: Arc::default(),
        }
    }

    /// The table that serves, as far as this process knows: a search asks it, and hears whether it was the right one.
    pub(crate) fn likely_table(&self) -> VectorTable {
        if self.second.load(Ordering::Relaxed) { VectorTable::Second } else { VectorTable::First }
    }

    /// Notes which table serves.
    pub(crate) fn note_table(&self, table: VectorTable) {
        self.second.store(table == VectorTable::Second, Ordering::Relaxed);
    }

    /// Returns true if a scope is known to contain too many vectors for an exact search.
    pub(crate) fn is_large(&self, scope: &Scope) -> bool {
        let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (scopes::namespace(scope), scopes::address(scope));
        let Some(left) = large.get_mut(&key) else { return false };
        *left -= 1;
        if *left == 0 {
            large.remove(&key);
        }
        true
    }

    /// Notes that a scope does.
    pub(crate) fn note_large(&self, scope: &Scope) {
        let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        if large.len() >= MAX_LARGE_SCOPES {
            large.clear();
        }
        large.insert((scopes::namespace(scope), scopes::address(scope)), RECOUNTED);
    }

    /// Returns the tenants whose vectors are in the tables.
    pub(crate) fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// The space of the vectors.
    pub(crate) fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    /// Returns true if pgvector can index vectors of this width.
    pub(crate) fn is_indexable(&self) -> bool {
        self.kind != Kind::None
    }

    fn is_cosine(&self) -> bool {
        self.space.metric == Metric::Cosine
    }

    /// Returns true if distances are cosines of the exact vectors, so that their error is known.
    pub(crate) fn is_sure(&self, indexed: bool) -> bool {
        self.is_cosine() && !(indexed && self.kind == Kind::Half)
    }

    /// The distance between the vector of row `v` and this one, as every vector's own column has it.
    pub(crate) fn distance(&self, to: Vector, statement: &mut Statement) {
        statement.push(if self.is_cosine() { "(v.embedding <=> " } else { "(v.embedding <#> " }).bind(to).push(")");
    }

    /// Appends the same distance, in the form of the index.
    pub(crate) fn indexed_distance(&self, to: Vector, statement: &mut Statement) {
        let (begin, number) = match self.kind {
            Kind::Half => ("(v.embedding::halfvec(", "::halfvec("),
            Kind::Single | Kind::None => ("(v.embedding::vector(", "::vector("),
        };
        statement.push(begin).number(self.space.dimensions);
        statement.push(if self.is_cosine() { ") <=> " } else { ") <#> " }).bind(to).push(number);
        statement.number(self.space.dimensions).push("))");
    }

    fn definition(&self) -> String {
        let (kind, class) = match self.kind {
            Kind::Single => ("vector", "vector"),
            Kind::Half => ("halfvec", "halfvec"),
            Kind::None => return "none".into(),
        };
        let metric = if self.is_cosine() { "cosine" } else { "ip" };
        format!("((embedding::{kind}({})) {class}_{metric}_ops)", self.space.dimensions)
    }

    /// Returns true if a table has exactly this index, or none while it needs none.
    pub(crate) async fn is_settled(
        &self,
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<bool, PostgresError> {
        match Self::noted(connection, table).await? {
            Some(noted) => Ok(noted == self.definition()),
            None => Ok(!self.is_needed(connection, table).await?),
        }
    }

    /// Returns true if there are too many vectors for an exact search. Building an HNSW graph at once takes a fifth
    /// of the time of inserting the vectors one by one.
    async fn is_needed(&self, connection: &mut PgConnection, table: VectorTable) -> Result<bool, PostgresError> {
        if self.exact_up_to < INDEX_MIN_VECTORS {
            return Ok(true);
        }
        let vectors = vector_store::count_vectors(connection, table).await?;
        Ok(vectors > self.exact_up_to.min(UNINDEXED_MAX_VECTORS))
    }

    /// Returns true if it is time to check for the index, after this many more written vectors.
    pub(crate) fn is_due(&self, written: u64) -> bool {
        let add = |known: u64| {
            (known != u64::MAX).then(|| if known + written < CHECK_INTERVAL { known + written } else { 0 })
        };
        self.is_indexable()
            && self
                .written
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
                .is_ok_and(|k| k + written >= CHECK_INTERVAL)
    }

    /// Notes that the index is there.
    pub(crate) fn note_made(&self) {
        self.written.store(u64::MAX, Ordering::Relaxed);
    }

    /// Makes the index, in the place of another one, unless there are so few vectors that none is needed.
    pub(crate) async fn settle(&self, connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
        if self.is_settled(connection, table).await? {
            return Ok(());
        }
        let definition = self.definition();
        Self::remove(connection, table).await?;
        if !self.is_needed(connection, table).await? {
            return Ok(());
        }
        if self.is_indexable() {
            let sql = format!("CREATE INDEX {} ON {} USING hnsw {definition}", name(table), table.name());
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        }
        index_metadata::write(connection, part(table), &definition).await
    }

    /// Removes the index of a table.
    pub(crate) async fn remove(connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
        // In the schema of these tables, and not wherever the search path finds an index of that name.
        let own: String =
            sqlx::query_scalar("SELECT format('%I', current_schema())").fetch_one(&mut *connection).await?;
        let sql = format!("DROP INDEX IF EXISTS {own}.{}", name(table));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        sqlx::query("DELETE FROM origins WHERE part = $1").bind(part(table)).execute(connection).await?;
        Ok(())
    }

    /// Returns the index of a table, as recorded in `origins`.
    pub(crate) async fn noted(
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<Option<String>, PostgresError> {
        index_metadata::maker(connection, part(table)).await
    }

    /// Returns the same index settings for vectors of another space.
    pub(crate) fn in_space(&self, space: EmbeddingSpace) -> Self {
        let half = self.half;
        Self {
            kind: Kind::of(&space, half),
            space,
            half,
            exact_up_to: self.exact_up_to,
            second: Arc::default(),
            tenants: self.tenants.clone(),
            written: Arc::default(),
            large: Arc::default(),
        }
    }
}
