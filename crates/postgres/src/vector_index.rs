//! The index that proposes near vectors.

use memory_core::{EmbeddingSpace, Metric};
use pgvector::Vector;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::{failure::Failure, options::PostgresOptions, origin, statement::Statement};

/// What `origins` calls it.
const PART: &str = "vector index";

/// How vectors of the store's space are indexed and compared.
#[derive(Debug, Clone)]
pub(crate) struct VectorIndex {
    space: EmbeddingSpace,
    kind: Kind,
    pub(crate) exact_up_to: u64,
}

/// What pgvector can index: 2000 numbers of 32 bits, or 4000 of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Single,
    Half,
    None,
}

impl VectorIndex {
    /// That of the options.
    pub(crate) fn of(options: &PostgresOptions) -> Self {
        let kind = match options.space.dimensions {
            1..=2000 if !options.half_precision => Kind::Single,
            1..=4000 => Kind::Half,
            _ => Kind::None,
        };
        Self { space: options.space.clone(), kind, exact_up_to: options.exact_up_to }
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

    /// Whether the database has the very index.
    pub(crate) async fn is_settled(&self, connection: &mut PgConnection) -> Result<bool, Failure> {
        Ok(origin::made_by(connection, PART).await?.as_deref() == Some(&self.definition()))
    }

    /// Makes the index, in the place of another one.
    pub(crate) async fn settle(&self, connection: &mut PgConnection) -> Result<(), Failure> {
        if self.is_settled(connection).await? {
            return Ok(());
        }
        let definition = self.definition();
        sqlx::raw_sql("DROP INDEX IF EXISTS vectors_by_nearness").execute(&mut *connection).await?;
        if self.is_there() {
            let sql = format!("CREATE INDEX vectors_by_nearness ON vectors USING hnsw {definition}");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await?;
        }
        origin::write(connection, PART, &definition).await
    }
}
