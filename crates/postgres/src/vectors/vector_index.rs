//! The HNSW index over the vectors: when it is created, and how distances are written for it.
//!
//! Small tables have no index, since comparing every vector is fast and an index slows down writes.

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
    database::error::PostgresError, database::index_metadata, database::statement::StatementBuilder,
    options::PostgresOptions, records::scopes, records::scopes::Tenants, vectors::vector_store,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Returns the name of the index of a table in `origins`.
fn origin_part(table: VectorTable) -> &'static str {
    match table {
        VectorTable::First => "vector index",
        VectorTable::Second => "second vector index",
    }
}

/// Returns the name of the index of a table in the database.
pub(crate) fn index_name(table: VectorTable) -> &'static str {
    match table {
        VectorTable::First => "vectors_by_nearness",
        VectorTable::Second => "second_vectors_by_nearness",
    }
}

/// The index and the distance function for the vectors of one embedding space, with the state that searches share.
#[derive(Debug, Clone)]
pub(crate) struct VectorIndex {
    space: EmbeddingSpace,
    column_type: IndexedType,
    half_precision: bool,
    /// Maximum number of vectors in scope for an exact search.
    pub(crate) exact_up_to: u64,
    /// True if the second table served the last search.
    is_second_serving: Arc<AtomicBool>,
    tenants: Tenants,
    /// Number of vectors written by this process since the last check for the index; [`u64::MAX`] once the index is
    /// known to exist.
    written_vectors: Arc<AtomicU64>,
    /// Number of further searches without counting, for each scope that was found to be large.
    large_scopes: Arc<Mutex<FxHashMap<(Uuid, Uuid), u32>>>,
}

/// Number of searches after which a large scope is counted again.
const RECOUNT_INTERVAL_SEARCHES: u32 = 100;

/// Minimum number of vectors for an index. With an index, a write takes four times as long.
const INDEX_MIN_VECTORS: u64 = 1000;

/// Maximum number of vectors without an index. Writes wait while it is built, some seconds for this many.
const UNINDEXED_MAX_VECTORS: u64 = 20_000;

/// Number of vectors that this process writes before it checks again whether the table has enough for an index.
const CHECK_INTERVAL_VECTORS: u64 = 500;

/// Maximum number of large scopes that are remembered.
const MAX_LARGE_SCOPES: usize = 10_000;

/// The type by which pgvector indexes the vectors: up to 2000 dimensions of 32 bits, or up to 4000 of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexedType {
    Single,
    Half,
    /// There are too many dimensions for an index.
    None,
}

impl IndexedType {
    fn of(space: &EmbeddingSpace, half_precision: bool) -> Self {
        match space.dimensions {
            1..=2000 if !half_precision => Self::Single,
            1..=4000 => Self::Half,
            _ => Self::None,
        }
    }
}

impl VectorIndex {
    /// Creates the index settings for these options.
    pub(crate) fn of(space: EmbeddingSpace, options: &PostgresOptions) -> Self {
        Self {
            column_type: IndexedType::of(&space, options.half_precision),
            space,
            half_precision: options.half_precision,
            exact_up_to: options.exact_up_to,
            is_second_serving: Arc::default(),
            tenants: Tenants::default(),
            written_vectors: Arc::default(),
            large_scopes: Arc::default(),
        }
    }

    /// Returns the table that served the last search. The statement of a search checks that it still serves.
    pub(crate) fn assumed_table(&self) -> VectorTable {
        if self.is_second_serving.load(Ordering::Relaxed) { VectorTable::Second } else { VectorTable::First }
    }

    /// Stores the serving table, for [`assumed_table`](Self::assumed_table).
    pub(crate) fn set_serving_table(&self, table: VectorTable) {
        self.is_second_serving.store(table == VectorTable::Second, Ordering::Relaxed);
    }

    /// Returns true if a scope was found to contain too many vectors for an exact search, so that a search can skip
    /// counting them. After [`RECOUNT_INTERVAL_SEARCHES`] calls the scope has to be counted again.
    pub(crate) fn skip_counting(&self, scope: &Scope) -> bool {
        let mut large_scopes = self.large_scopes.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (scopes::namespace(scope), scopes::address(scope));
        let Some(remaining_searches) = large_scopes.get_mut(&key) else { return false };
        *remaining_searches -= 1;
        if *remaining_searches == 0 {
            large_scopes.remove(&key);
        }
        true
    }

    /// Stores that a scope contains too many vectors for an exact search.
    pub(crate) fn set_large(&self, scope: &Scope) {
        let mut large_scopes = self.large_scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if large_scopes.len() >= MAX_LARGE_SCOPES {
            large_scopes.clear();
        }
        large_scopes.insert((scopes::namespace(scope), scopes::address(scope)), RECOUNT_INTERVAL_SEARCHES);
    }

    /// Returns the state of the tenants in the database.
    pub(crate) fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// Returns the embedding space of the vectors.
    pub(crate) fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    /// Returns true if pgvector can index vectors with this number of dimensions.
    pub(crate) fn can_index(&self) -> bool {
        self.column_type != IndexedType::None
    }

    fn is_cosine(&self) -> bool {
        self.space.metric == Metric::Cosine
    }

    /// Returns true if distances are cosines of the vectors in full precision, so that their maximum error is known.
    /// `is_indexed` is true for distances of the index.
    pub(crate) fn has_exact_cosines(&self, is_indexed: bool) -> bool {
        self.is_cosine() && !(is_indexed && self.column_type == IndexedType::Half)
    }

    /// Appends the distance between the vector of row `v` and `target`, in full precision.
    pub(crate) fn push_distance(&self, target: Vector, statement: &mut StatementBuilder) {
        statement.push(if self.is_cosine() { "(v.embedding <=> " } else { "(v.embedding <#> " }).bind(target).push(")");
    }

    /// Appends the same distance as the expression that is indexed.
    pub(crate) fn push_indexed_distance(&self, target: Vector, statement: &mut StatementBuilder) {
        let (column_cast, target_cast) = match self.column_type {
            IndexedType::Half => ("(v.embedding::halfvec(", "::halfvec("),
            IndexedType::Single | IndexedType::None => ("(v.embedding::vector(", "::vector("),
        };
        statement.push(column_cast).push_number(self.space.dimensions);
        statement.push(if self.is_cosine() { ") <=> " } else { ") <#> " }).bind(target).push(target_cast);
        statement.push_number(self.space.dimensions).push("))");
    }

    /// Returns the indexed expression with its operator class; `none` if there are too many dimensions.
    fn definition(&self) -> String {
        let sql_type = match self.column_type {
            IndexedType::Single => "vector",
            IndexedType::Half => "halfvec",
            IndexedType::None => return "none".into(),
        };
        let metric = if self.is_cosine() { "cosine" } else { "ip" };
        format!("((embedding::{sql_type}({})) {sql_type}_{metric}_ops)", self.space.dimensions)
    }

    /// Returns true if a table has exactly this index, or has no index and needs none.
    pub(crate) async fn is_reconciled(
        &self,
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<bool, PostgresError> {
        match Self::recorded_definition(connection, table).await? {
            Some(recorded) => Ok(recorded == self.definition()),
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

    /// Counts vectors that this process has written. Returns true if it is time to check whether the index is needed.
    pub(crate) fn count_written(&self, vectors: u64) -> bool {
        let add = |written: u64| {
            if written == u64::MAX {
                return None;
            }
            let total = written + vectors;
            Some(if total < CHECK_INTERVAL_VECTORS { total } else { 0 })
        };
        self.can_index()
            && self
                .written_vectors
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
                .is_ok_and(|before| before + vectors >= CHECK_INTERVAL_VECTORS)
    }

    /// Stores that the index exists, so that writes do not check for it any more.
    pub(crate) fn set_created(&self) {
        self.written_vectors.store(u64::MAX, Ordering::Relaxed);
    }

    /// Creates the index, and removes one with another definition. Creates no index if the table has too few vectors.
    pub(crate) async fn reconcile(
        &self,
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<(), PostgresError> {
        if self.is_reconciled(connection, table).await? {
            return Ok(());
        }
        let definition = self.definition();
        Self::remove(connection, table).await?;
        if !self.is_needed(connection, table).await? {
            return Ok(());
        }
        if self.can_index() {
            let sql = format!("CREATE INDEX {} ON {} USING hnsw {definition}", index_name(table), table.name());
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        }
        index_metadata::write(connection, origin_part(table), &definition).await
    }

    /// Removes the index of a table.
    pub(crate) async fn remove(connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
        // The schema is named, since the search path may find an index of this name in another schema.
        let own_schema: String =
            sqlx::query_scalar("SELECT format('%I', current_schema())").fetch_one(&mut *connection).await?;
        let sql = format!("DROP INDEX IF EXISTS {own_schema}.{}", index_name(table));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        sqlx::query("DELETE FROM origins WHERE part = $1").bind(origin_part(table)).execute(connection).await?;
        Ok(())
    }

    /// Returns the definition of a table's index, as recorded in `origins`.
    pub(crate) async fn recorded_definition(
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<Option<String>, PostgresError> {
        index_metadata::read(connection, origin_part(table)).await
    }

    /// Returns the same index settings for vectors of another space.
    pub(crate) fn in_space(&self, space: EmbeddingSpace) -> Self {
        Self {
            column_type: IndexedType::of(&space, self.half_precision),
            space,
            half_precision: self.half_precision,
            exact_up_to: self.exact_up_to,
            is_second_serving: Arc::default(),
            tenants: self.tenants.clone(),
            written_vectors: Arc::default(),
            large_scopes: Arc::default(),
        }
    }
}
