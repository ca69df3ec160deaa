//! The checks of the contents of a database, which `data/checks.sql` lists.

use memory_engine_core::{Finding, ProblemKind};
use memory_engine_sql::{
    checks::{self, Check, Placeholders},
    embedding_versions::VectorTable,
};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::{
    database::error::PostgresError,
    vectors::vector_index::{self, VectorIndex},
};

const CHECKS: &str = include_str!("../../data/checks.sql");

/// Returns all checks, in the order of their repairs.
pub(crate) fn all() -> Result<Vec<Check>, PostgresError> {
    Ok(checks::parse(CHECKS)?)
}

/// Runs one check.
pub(crate) async fn find(
    connection: &mut PgConnection,
    check: &Check,
    placeholders: &Placeholders,
) -> Result<Option<Finding>, PostgresError> {
    // The SQL consists of constants of this crate, and of numbers.
    let row = sqlx::query(AssertSqlSafe(check.summary(placeholders))).fetch_one(connection).await?;
    let problems = u64::try_from(row.try_get::<i64, _>("problems")?).unwrap_or_default();
    Ok(check.finding(problems, row.try_get("first")?, row.try_get("last")?))
}

/// Finds a vector index that is recorded, and does not exist.
pub(crate) async fn find_missing_vector_index(
    connection: &mut PgConnection,
    table: VectorTable,
) -> Result<Option<Finding>, PostgresError> {
    let recorded_definition = VectorIndex::recorded_definition(connection, table).await?;
    let name = vector_index::index_name(table);
    let exists = sqlx::query_scalar::<_, bool>("SELECT to_regclass($1) IS NOT NULL").bind(name);
    let exists = exists.fetch_one(connection).await?;
    let is_missing = recorded_definition.is_some_and(|definition| definition != "none") && !exists;
    Ok(is_missing.then(|| Finding::new(ProblemKind::VectorIndexMissing, 1, [name.to_owned()])))
}
