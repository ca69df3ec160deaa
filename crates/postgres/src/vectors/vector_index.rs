//! The HNSW index over the vectors: when it is created, and how distances are written for it.
//!
//! Small tables have no index, since comparing every vector is fast and an index slows down writes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use memory_engine_core::{EmbeddingSpace, Metric};
use pgvector::Vector;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::{
    database::{error::PostgresError, index_metadata, options::PostgresOptions, statement::StatementBuilder},
    rows::{remembered_scopes::RememberedScopes, scopes::Tenants},
    vectors::vector_rows,
};
use memory_engine_sql::embedding_versions::VectorTable;

/// Returns the name of the index of a table in `index_metadata`.
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
        VectorTable::Second => "secondary_vectors_by_nearness",
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
    /// Number of vectors written by this process.
    written_vectors: Arc<AtomicU64>,
    /// True once the index is known to exist.
    is_created: Arc<AtomicBool>,
    large_scopes: RememberedScopes,
}

/// Minimum number of vectors for an index. With an index, a write takes four times as long.
const INDEX_MIN_VECTORS: u64 = 1000;

/// Maximum number of vectors without an index, for options that allow a larger exact search.
const UNINDEXED_MAX_VECTORS: u64 = 20_000;

/// Maximum number of vectors of which an index is built while the database is opened. Larger ones are built in the
/// background.
pub(crate) const SMALL_TABLE_VECTORS: u64 = 1000;

/// Maximum memory for the build of an index, in kB. Without enough memory for the whole graph, a build takes several
/// times as long.
const BUILD_MEMORY_MAX_KB: u64 = 1 << 20;

/// The state of the index of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexState {
    /// The table has the index, or needs none.
    Reconciled,
    /// The table needs an index. It has this many vectors.
    Missing { vectors: u64 },
    /// The index has another definition.
    Outdated,
}

/// Number of vectors that this process writes before it checks again whether the table has enough for an index.
const CHECK_INTERVAL_VECTORS: u64 = 500;

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
            is_created: Arc::default(),
            large_scopes: RememberedScopes::default(),
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

    /// Returns the scopes that were found to contain too many vectors for an exact search. A search need not count
    /// them.
    pub(crate) fn large_scopes(&self) -> &RememberedScopes {
        &self.large_scopes
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
    pub(crate) fn definition(&self) -> String {
        let sql_type = match self.column_type {
            IndexedType::Single => "vector",
            IndexedType::Half => "halfvec",
            IndexedType::None => return "none".into(),
        };
        let metric = if self.is_cosine() { "cosine" } else { "ip" };
        format!("((embedding::{sql_type}({})) {sql_type}_{metric}_ops)", self.space.dimensions)
    }

    /// Returns the state of the index of a table.
    pub(crate) async fn state(
        &self,
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<IndexState, PostgresError> {
        if let Some(recorded) = Self::recorded_definition(connection, table).await? {
            return Ok(if recorded == self.definition() { IndexState::Reconciled } else { IndexState::Outdated });
        }
        let vectors = vector_rows::count_vectors(connection, table).await?;
        let is_needed = self.exact_up_to < INDEX_MIN_VECTORS || vectors > self.exact_up_to.min(UNINDEXED_MAX_VECTORS);
        Ok(if is_needed { IndexState::Missing { vectors } } else { IndexState::Reconciled })
    }

    /// Counts vectors that this process has written. Returns true if it is time to check whether the index is needed.
    pub(crate) fn count_written(&self, vectors: u64) -> bool {
        let before = self.written_vectors.fetch_add(vectors, Ordering::Relaxed);
        let is_due = before / CHECK_INTERVAL_VECTORS != (before + vectors) / CHECK_INTERVAL_VECTORS;
        is_due && self.can_index() && !self.is_created.load(Ordering::Relaxed)
    }

    /// Returns the number of vectors that this process has written.
    pub(crate) fn total_written(&self) -> u64 {
        self.written_vectors.load(Ordering::Relaxed)
    }

    /// Stores that the index exists, so that writes do not check for it any more.
    pub(crate) fn set_created(&self) {
        self.is_created.store(true, Ordering::Relaxed);
    }

    /// Creates the index, and removes one with another definition. Creates no index if the table has too few vectors.
    /// The caller blocks all writes.
    pub(crate) async fn reconcile(
        &self,
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<(), PostgresError> {
        self.remove_outdated(connection, table).await?;
        if self.state(connection, table).await? == IndexState::Reconciled {
            return Ok(());
        }
        if self.can_index() {
            self.set_build_memory(connection, table).await?;
            let definition = self.definition();
            let sql = format!("CREATE INDEX {} ON {} USING hnsw {definition}", index_name(table), table.name());
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        }
        self.record(connection, table).await
    }

    /// Removes an index with another definition, and an invalid one of a failed build.
    pub(crate) async fn remove_outdated(
        &self,
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<(), PostgresError> {
        match self.state(connection, table).await? {
            IndexState::Reconciled => Ok(()),
            IndexState::Missing { .. } | IndexState::Outdated => Self::remove(connection, table).await,
        }
    }

    /// Records that a table has this index.
    pub(crate) async fn record(&self, connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
        index_metadata::write(connection, origin_part(table), &self.definition()).await
    }

    /// Returns true if a table has a complete index.
    pub(crate) async fn exists(connection: &mut PgConnection, table: VectorTable) -> Result<bool, PostgresError> {
        let sql = "SELECT EXISTS (
            SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE c.relname = $1 AND c.relnamespace = to_regnamespace(quote_ident(current_schema()))
                AND i.indisvalid AND i.indisready
        )";
        Ok(sqlx::query_scalar(sql).bind(index_name(table)).fetch_one(connection).await?)
    }

    /// Raises the memory for the build of an index, if the graph needs more than the server allows by default.
    pub(crate) async fn set_build_memory(
        &self,
        connection: &mut PgConnection,
        table: VectorTable,
    ) -> Result<(), PostgresError> {
        let vectors = vector_rows::count_vectors(connection, table).await?;
        // Vectors of 4 bytes a dimension, and about 500 bytes of neighbours.
        let needed = vectors.saturating_mul(4 * u64::try_from(self.space.dimensions).unwrap_or(u64::MAX) + 500) / 1000;
        let memory = (needed * 5 / 4).min(BUILD_MEMORY_MAX_KB);
        let sql = "SELECT set_config('maintenance_work_mem', greatest(setting::bigint, $1)::text, false)
                   FROM pg_settings WHERE name = 'maintenance_work_mem'";
        sqlx::query(sql).bind(i64::try_from(memory).unwrap_or(i64::MAX)).execute(connection).await?;
        Ok(())
    }

    /// Removes the index of a table.
    pub(crate) async fn remove(connection: &mut PgConnection, table: VectorTable) -> Result<(), PostgresError> {
        // The schema is named, since the search path may find an index of this name in another schema.
        let own_schema: String =
            sqlx::query_scalar("SELECT format('%I', current_schema())").fetch_one(&mut *connection).await?;
        let sql = format!("DROP INDEX IF EXISTS {own_schema}.{}", index_name(table));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        sqlx::query("DELETE FROM index_metadata WHERE part = $1").bind(origin_part(table)).execute(connection).await?;
        Ok(())
    }

    /// Returns the definition of a table's index, as recorded in `index_metadata`.
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
            is_created: Arc::default(),
            large_scopes: RememberedScopes::default(),
        }
    }
}
