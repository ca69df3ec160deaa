//! The index that proposes near vectors.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use memory_core::{EmbeddingSpace, Metric, Scope};
use pgvector::Vector;
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::{failure::Failure, generations::Table, options::PostgresOptions, origin, scopes, statement::Statement};

/// What `origins` calls the index of a table.
fn part(table: Table) -> &'static str {
    match table {
        Table::First => "vector index",
        Table::Second => "second vector index",
    }
}

/// What the database calls it.
pub(crate) fn name(table: Table) -> &'static str {
    match table {
        Table::First => "vectors_by_nearness",
        Table::Second => "second_vectors_by_nearness",
    }
}

/// How vectors of the store's space are indexed and compared.
#[derive(Debug, Clone)]
pub(crate) struct VectorIndex {
    space: EmbeddingSpace,
    kind: Kind,
    half: bool,
    pub(crate) exact_up_to: u64,
    /// Whether the second table served at the last search.
    second: Arc<AtomicBool>,
    /// How often the scopes that were found to be large may still be searched without being counted.
    large: Arc<Mutex<FxHashMap<(Uuid, Uuid), u32>>>,
}

/// After how many searches a large scope is counted again.
const RECOUNTED: u32 = 100;

/// How many large scopes are known at once.
const LARGE: usize = 10_000;

/// What pgvector can index: 2000 numbers of 32 bits, or 4000 of 16.
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
    pub(crate) fn of(options: &PostgresOptions) -> Self {
        let (half, exact_up_to) = (options.half_precision, options.exact_up_to);
        Self {
            space: options.space.clone(),
            kind: Kind::of(&options.space, half),
            half,
            exact_up_to,
            second: Arc::default(),
            large: Arc::default(),
        }
    }

    /// The table that serves, as far as this process knows: a search asks it, and hears whether it was the right one.
    pub(crate) fn likely_table(&self) -> Table {
        if self.second.load(Ordering::Relaxed) { Table::Second } else { Table::First }
    }

    /// Notes which table serves.
    pub(crate) fn note_table(&self, table: Table) {
        self.second.store(table == Table::Second, Ordering::Relaxed);
    }

    /// Whether a scope is known to hold more vectors than may each be looked at.
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
        if large.len() >= LARGE {
            large.clear();
        }
        large.insert((scopes::namespace(scope), scopes::address(scope)), RECOUNTED);
    }

    /// The space of the vectors.
    pub(crate) fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.kind != Kind::None
    }

    fn is_cosine(&self) -> bool {
        match self.space.metric {
            Metric::Cosine => true,
            Metric::Dot | _ => false,
        }
    }

    /// The distance between the vector of row `v` and this one, as every vector's own column has it.
    pub(crate) fn distance(&self, to: Vector, statement: &mut Statement) {
        statement.push(if self.is_cosine() { "(v.embedding <=> " } else { "(v.embedding <#> " }).bind(to).push(")");
    }

    /// The same distance, as the index has it.
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

    /// Whether a table has the very index.
    pub(crate) async fn is_settled(&self, connection: &mut PgConnection, table: Table) -> Result<bool, Failure> {
        Ok(origin::made_by(connection, part(table)).await?.as_deref() == Some(&self.definition()))
    }

    /// Makes the index, in the place of another one.
    pub(crate) async fn settle(&self, connection: &mut PgConnection, table: Table) -> Result<(), Failure> {
        if self.is_settled(connection, table).await? {
            return Ok(());
        }
        let definition = self.definition();
        Self::remove(connection, table).await?;
        if self.is_there() {
            let sql = format!("CREATE INDEX {} ON {} USING hnsw {definition}", name(table), table.name());
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        }
        origin::write(connection, part(table), &definition).await
    }

    /// Removes the index of a table.
    pub(crate) async fn remove(connection: &mut PgConnection, table: Table) -> Result<(), Failure> {
        // In the schema of these tables, and not wherever the search path finds an index of that name.
        let own: String =
            sqlx::query_scalar("SELECT format('%I', current_schema())").fetch_one(&mut *connection).await?;
        let sql = format!("DROP INDEX IF EXISTS {own}.{}", name(table));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        sqlx::query("DELETE FROM origins WHERE part = $1").bind(part(table)).execute(connection).await?;
        Ok(())
    }

    /// What `origins` says that the index of a table is.
    pub(crate) async fn noted(connection: &mut PgConnection, table: Table) -> Result<Option<String>, Failure> {
        origin::made_by(connection, part(table)).await
    }

    /// The same way of indexing, for vectors of another space.
    pub(crate) fn in_space(&self, space: EmbeddingSpace) -> Self {
        let half = self.half;
        Self {
            kind: Kind::of(&space, half),
            space,
            half,
            exact_up_to: self.exact_up_to,
            second: Arc::default(),
            large: Arc::default(),
        }
    }
}
