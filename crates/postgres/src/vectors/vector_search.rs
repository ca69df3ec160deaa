//! Vector search: the server selects candidates, which are then scored with the inner product that all backends share,
//! so that scores and order are the same everywhere.
//!
//! Usually one statement is enough. It counts the vectors in scope, and returns hits if the initial plan is right for
//! that number. Otherwise a second statement follows the right plan. A scope that was found to be large is not counted
//! again for a while, since counting the vectors of a tenant takes as long as the index search.

use memory_engine_core::{Embedding, FoundRecord, Hit, RecordId, Scope};
use memory_engine_sql::{embedding_versions::VectorTable, index_metadata::IndexMetadata};
use memory_engine_vector_store::{FlatIndex, SearchSubset, VectorQuery};
use pgvector::Vector;
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::{
    database::{error::PostgresError, index_metadata, statement::StatementBuilder},
    keywords::keyword_rows,
    rows::scopes::{self, CoveredScope},
    vectors::{
        vector_index::VectorIndex,
        vector_statement::{ScopeCounts, SearchPlan, VectorStatement},
    },
};

/// Returns the records within `scope` with the nearest vectors.
pub(crate) async fn search(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
) -> Result<Vec<Hit>, PostgresError> {
    let found = find(connection, metadata, index, scope, query, false).await?;
    Ok(found.into_iter().map(|(hit, _)| hit).collect())
}

/// As [`search`], with the records of the hits and their terms.
pub(crate) async fn search_records(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
) -> Result<Vec<FoundRecord>, PostgresError> {
    let found = find(connection, metadata, index, scope, query, true).await?;
    Ok(found.iter().filter_map(|(hit, row)| keyword_rows::read_found(*hit, row)).collect())
}

/// Returns the nearest records, each with its row.
async fn find(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
    reads_records: bool,
) -> Result<Vec<(Hit, PgRow)>, PostgresError> {
    let covered = CoveredScope::of(scope);
    let is_large = index.large_scopes().count_search(scope);
    let assumed = index.tenants().assumed_cover(scope);
    let mut search =
        VectorStatement { metadata, index, scope, covered: &covered, assumed, query, is_large, reads_records };
    let initial_plan = search.initial_plan();
    let assumed_table = index.assumed_table();
    let (mut counts, mut candidates) = run_first(&search, initial_plan, assumed_table, connection).await?;
    if !counts.is_scope_correct {
        index.tenants().set_several();
        search.assumed = covered.clone();
        (counts, candidates) = run_first(&search, initial_plan, assumed_table, connection).await?;
    }
    if counts.made_by.as_deref() != Some(metadata.space()) {
        return Err(index_metadata::read_versions(connection).await?.refusal(metadata, "vector search").into());
    }
    index.set_serving_table(counts.table);
    if counts.vectors == Some(0) || query.limit == 0 {
        return Ok(Vec::new());
    }
    let plan = search.plan_for(&counts);
    if (plan, counts.table) != (initial_plan, assumed_table) {
        candidates = run(&search, plan, counts.table, connection).await?;
    }
    if counts.vectors.is_some_and(|vectors| vectors > index.exact_up_to) {
        index.large_scopes().insert(scope);
    }
    // An index scan that returned too few rows may have reached its limit. Then every vector is compared.
    let expected_hits =
        counts.vectors.map_or(query.limit, |vectors| query.limit.min(usize::try_from(vectors).unwrap_or(usize::MAX)));
    if plan == SearchPlan::Index && candidates.len() < expected_hits {
        candidates = run(&search, SearchPlan::Exact, counts.table, connection).await?;
    }
    if candidates.is_empty() {
        // The embedding version may have been dropped after it was counted.
        let versions = index_metadata::read_versions(connection).await?;
        if versions.serving.as_deref() != Some(metadata.space()) {
            return Err(versions.refusal(metadata, "vector search").into());
        }
    }
    rescore(index, query, candidates)
}

/// Appends the statement that a search would execute now, for its query plan.
pub(crate) async fn push_search(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
    statement: &mut StatementBuilder,
) -> Result<(), PostgresError> {
    let covered = &CoveredScope::of(scope);
    let search = VectorStatement {
        metadata,
        index,
        scope,
        covered,
        assumed: covered.clone(),
        query,
        is_large: false,
        reads_records: false,
    };
    let (counts, _) = run_first(&search, search.initial_plan(), index.assumed_table(), connection).await?;
    match search.plan_for(&counts) {
        SearchPlan::ExactFiltered => search.push_first(SearchPlan::ExactFiltered, counts.table, statement),
        plan @ (SearchPlan::Exact | SearchPlan::Index) => search.push_plan(plan, counts.table, statement),
    }
    Ok(())
}

async fn run_first(
    search: &VectorStatement<'_>,
    plan: SearchPlan,
    table: VectorTable,
    connection: &mut PgConnection,
) -> Result<(ScopeCounts, Candidates), PostgresError> {
    let mut statement = StatementBuilder::default();
    search.push_first(plan, table, &mut statement);
    read_counts_and_candidates(statement.fetch_all(connection).await?)
}

async fn run(
    search: &VectorStatement<'_>,
    plan: SearchPlan,
    table: VectorTable,
    connection: &mut PgConnection,
) -> Result<Candidates, PostgresError> {
    let mut statement = StatementBuilder::default();
    search.push_plan(plan, table, &mut statement);
    read_candidates(statement.fetch_all(connection).await?)
}

/// Rows with a vector, and their vectors.
type Candidates = Vec<(PgRow, Embedding)>;

/// Reads the counts, which are in every row, and the candidates.
fn read_counts_and_candidates(rows: Vec<PgRow>) -> Result<(ScopeCounts, Candidates), PostgresError> {
    let mut counts =
        ScopeCounts { vectors: None, table: VectorTable::First, made_by: None, is_scope_correct: true, passing: None };
    if let Some(row) = rows.first() {
        counts.table = VectorTable::from_name(row.try_get::<Option<&str>, _>("serving")?);
        let vectors: Option<i64> = match counts.table {
            VectorTable::First => row.try_get("first")?,
            VectorTable::Second => row.try_get("second")?,
        };
        counts.vectors = vectors.map(|vectors| u64::try_from(vectors).unwrap_or_default());
        counts.made_by = row.try_get("made_by")?;
        counts.is_scope_correct = row.try_get("is_scope_correct")?;
        counts.passing = row.try_get::<Option<i64>, _>("passing")?.and_then(|passing| u64::try_from(passing).ok());
    }
    Ok((counts, read_candidates(rows)?))
}

/// Reads the candidates. Omits a row without a vector: the only row if there are no hits.
fn read_candidates(rows: Vec<PgRow>) -> Result<Candidates, PostgresError> {
    let mut candidates = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(vector) = row.try_get::<Option<Vector>, _>("embedding")? {
            // The health check reports a vector that cannot be read.
            if let Ok(embedding) = Embedding::new(vector.into()) {
                candidates.push((row, embedding));
            }
        }
    }
    Ok(candidates)
}

/// Scores the candidates with the inner product that all backends share.
fn rescore(
    index: &VectorIndex,
    query: &VectorQuery,
    candidates: Candidates,
) -> Result<Vec<(Hit, PgRow)>, PostgresError> {
    let mut exact = FlatIndex::new(index.space());
    let mut rows = Vec::with_capacity(candidates.len());
    for (number, (row, embedding)) in candidates.into_iter().enumerate() {
        // Two users of a tenant may have the same id.
        exact.insert((scopes::record_id(row.try_get("id")?), number), (), embedding);
        rows.push(Some(row));
    }
    let hits = exact.search(&query.embedding, SearchSubset::All, query.limit);
    let with_row = |((id, number), score): ((RecordId, usize), _)| Some((Hit { id, score }, rows[number].take()?));
    Ok(hits.into_iter().filter_map(with_row).collect())
}
