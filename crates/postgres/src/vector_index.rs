//! The index that proposes near vectors.

use memory_core::{EmbeddingSpace, Metric};
use pgvector::Vector;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::{failure::Failure, generations::Table, options::PostgresOptions, origin, statement::Statement};

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
}

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
        Self { space: options.space.clone(), kind: Kind::of(&options.space, half), half, exact_up_to }
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
        Self { kind: Kind::of(&space, half), space, half, exact_up_to: self.exact_up_to }
    }
}
