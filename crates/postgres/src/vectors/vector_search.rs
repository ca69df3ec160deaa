//! Searching the vectors.
//!
//! Postgres proposes candidates, and they are scored again with the inner product that every backend shares, so that
//! scores and order are the same everywhere.
//!
//! Usually one statement is enough: it counts the visible vectors, and returns hits if the initial plan is right for
//! that number. Otherwise a second statement follows the right plan. A scope that was found to be large is not
//! counted again for a while, since counting a tenant takes as long as the index search.

use memory_engine_core::{Embedding, Filter, Hit, RecordId, Scope};
use memory_engine_sql::filter;
use memory_engine_vector_store::{Among, FlatIndex, VectorQuery};
use pgvector::Vector;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    database::index_metadata,
    database::statement::Statement,
    records::scopes::{self, CoveredScope},
    vectors::vector_index::VectorIndex,
    vectors::vector_store,
};
use memory_engine_sql::embedding_versions::VectorTable;
use memory_engine_sql::index_metadata::IndexMetadata;

/// Maximum number of hits that the index is asked for. It visits at most a thousand rows at a time.
const INDEX_MAX_HITS: usize = 500;

/// Number of additional candidates that are scored again, since the rounding of the server may have swapped close
/// ones.
const EXTRA_CANDIDATES: usize = 8;

/// Maximum difference of the cosines of such candidates. The server adds in single precision.
const COSINE_TOLERANCE: &str = "1e-4";

/// The frame of a window over everything that was found.
const WHOLE_WINDOW_SQL: &str = " WINDOW w AS (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)";

/// The first statement of a search: a row that describes the scope, then the hits, if the plan fits that description.
const COUNT_AND_SEARCH: &str = "
    WITH c AS MATERIALIZED (
        SELECT (SELECT o.made_by FROM origins o WHERE o.part = 'embedding') AS made_by,
               (SELECT o.made_by FROM origins o WHERE o.part = 'serving table') AS serving,
               {is_right} AS is_right,
               {counts}
    ){passing_records}
    SELECT NULL::uuid AS id, NULL::vector AS embedding, c.first, c.second, c.made_by, c.serving, c.is_right,
           {passing} AS passing
    FROM c
    UNION ALL (
        SELECT f.id, {vector}, NULL, NULL, NULL, NULL, NULL, NULL
        FROM ({search}) f
        WINDOW w AS (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    )";

/// The number of vectors within reach, in each table.
const COUNTS: &str =
    "coalesce(sum(a.vectors), 0)::bigint AS first, coalesce(sum(a.second_vectors), 0)::bigint AS second
               FROM addresses a WHERE ";

/// A way to the nearest vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchPlan {
    /// Each within reach is looked at.
    Each,
    /// Each that passes the filter is looked at, unless they are too many.
    EachThatPasses,
    /// The index proposes.
    Index,
}

/// The input of a search.
#[derive(Debug)]
struct Search<'s> {
    origin: &'s IndexMetadata,
    index: &'s VectorIndex,
    reach: &'s CoveredScope,
    /// The assumed reach, for a statement that checks it.
    guessed: CoveredScope,
    query: &'s VectorQuery,
    /// True if a recent count found too many vectors for an exact search.
    is_large: bool,
}

/// Counts of the visible records.
#[derive(Debug)]
struct VisibleCounts {
    /// Number of vectors in the serving table; `None` if they were not counted because there are many.
    there: Option<u64>,
    table: VectorTable,
    made_by: Option<String>,
    /// True if the assumed reach was right.
    is_right: bool,
    /// Number of records that pass the filter, counted up to one more than the limit of an exact search.
    passing: Option<u64>,
}

/// The vectors within `scope` that are nearest to the query.
pub(crate) async fn search(
    connection: &mut PgConnection,
    origin: &IndexMetadata,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
) -> Result<Vec<Hit>, PostgresError> {
    let (reach, is_large) = (&CoveredScope::of(scope), index.is_large(scope));
    let mut search = Search { origin, index, reach, guessed: index.tenants().reach(scope), query, is_large };
    let (guess, table) = (search.guess(), index.likely_table());
    let (mut known, mut found) = search.run_first(guess, table, connection).await?;
    if !known.is_right {
        index.tenants().note_several();
        search.guessed = reach.clone();
        (known, found) = search.run_first(guess, table, connection).await?;
    }
    if known.made_by.as_deref() != Some(origin.space()) {
        return Err(index_metadata::versions(connection).await?.refusal(origin, "vector search").into());
    }
    index.note_table(known.table);
    if known.there == Some(0) || query.limit == 0 {
        return Ok(Vec::new());
    }
    let way = search.way(&known);
    if (way, known.table) != (guess, table) {
        found = search.run(way, known.table, connection).await?;
    }
    if known.there.is_some_and(|there| there > index.exact_up_to) {
        index.note_large(scope);
    }
    // An index that found too few may have given up; then every vector is looked at.
    let wanted = known.there.map_or(query.limit, |there| query.limit.min(usize::try_from(there).unwrap_or(usize::MAX)));
    if way == SearchPlan::Index && found.len() < wanted {
        found = search.run(SearchPlan::Each, known.table, connection).await?;
    }
    if found.is_empty() {
        // It may have been dropped since it was counted.
        let known = index_metadata::versions(connection).await?;
        if known.serving.as_deref() != Some(origin.space()) {
            return Err(known.refusal(origin, "vector search").into());
        }
    }
    Ok(rescored(index, query, found))
}

/// Writes the statement that a search would run now.
pub(crate) async fn explained(
    connection: &mut PgConnection,
    origin: &IndexMetadata,
    index: &VectorIndex,
    scope: &Scope,
    query: &VectorQuery,
    statement: &mut Statement,
) -> Result<(), PostgresError> {
    let reach = &CoveredScope::of(scope);
    let search = Search { origin, index, reach, guessed: reach.clone(), query, is_large: false };
    let (known, _) = search.run_first(search.guess(), index.likely_table(), connection).await?;
    match search.way(&known) {
        SearchPlan::EachThatPasses => search.write_first(SearchPlan::EachThatPasses, known.table, statement),
        way @ (SearchPlan::Each | SearchPlan::Index) => search.write(way, known.table, statement),
    }
    Ok(())
}

impl Search<'_> {
    /// The way that is the right one as a rule: one user has few vectors, and all of a tenant many.
    fn guess(&self) -> SearchPlan {
        match self.query.filter {
            Some(_) => SearchPlan::EachThatPasses,
            None if (self.is_large || self.reach.is_tenant_wide()) && self.may_be_proposed() => SearchPlan::Index,
            None => SearchPlan::Each,
        }
    }

    /// Returns the right plan for these counts.
    fn way(&self, known: &VisibleCounts) -> SearchPlan {
        let few = self.index.exact_up_to;
        match known.passing {
            Some(passing) if passing <= few => SearchPlan::EachThatPasses,
            _ if known.there.is_none_or(|there| there > few) && self.may_be_proposed() => SearchPlan::Index,
            _ => SearchPlan::Each,
        }
    }

    fn may_be_proposed(&self) -> bool {
        self.index.is_indexable() && self.query.limit <= INDEX_MAX_HITS
    }

    /// Returns the maximum number of rows for an exact search, as a parameter of the server.
    fn few(&self) -> usize {
        usize::try_from(self.index.exact_up_to).unwrap_or(usize::MAX).min(i64::MAX as usize - 1)
    }

    /// Writes the statement that counts, and searches if the plan was right.
    fn write_first(&self, guess: SearchPlan, table: VectorTable, statement: &mut Statement) {
        let is_filtered = guess == SearchPlan::EachThatPasses;
        statement.fill(COUNT_AND_SEARCH, |part, statement| match part {
            "is_right" => self.guessed.push_assumption_check(statement),
            "counts" if self.is_large => drop(statement.push("NULL::bigint AS first, NULL::bigint AS second")),
            "counts" => {
                statement.push(COUNTS);
                self.guessed.push_exact_scope("a", statement);
            }
            "passing_records" => self.write_passing_records(is_filtered, statement),
            "passing" => drop(statement.push(if is_filtered { "(SELECT count(*) FROM m)" } else { "NULL::bigint" })),
            "vector" => self.write_vector(guess, statement),
            "search" => {
                self.write_guessed_search(guess, table, statement);
                self.guard(guess, table, statement);
                self.nearest_first(guess, statement);
            }
            _ => {}
        });
    }

    /// Writes the records that pass the filter as the table `m`, at most one more than may each be compared.
    fn write_passing_records(&self, is_filtered: bool, statement: &mut Statement) {
        if let (true, Some(filter)) = (is_filtered, &self.query.filter) {
            statement.push(", m AS MATERIALIZED (SELECT r.ns, r.id FROM records r");
            join_address(filter, "r", statement);
            self.guessed.holds("r", statement.push(" WHERE "));
            filter::write(filter, statement.push(" AND "));
            statement.push(" AND (SELECT c.is_right FROM c) LIMIT ").number(self.few() + 1).push(")");
        }
    }

    fn write_guessed_search(&self, guess: SearchPlan, table: VectorTable, statement: &mut Statement) {
        if guess != SearchPlan::EachThatPasses {
            return self.write_selection(guess, &self.guessed, table, statement);
        }
        self.write_distance(guess, statement.push("SELECT v.id, v.embedding, "));
        statement.push(" FROM m JOIN ").push(table.name());
        statement.push(" v ON v.ns = m.ns AND v.id = m.id WHERE ");
        // The join implies the owner, but the planner does not see that and would read all partitions.
        if self.reach.is_tenant_wide() {
            statement.push("true");
        } else {
            self.reach.owns("v", statement);
        }
    }

    /// Lets the statement find nothing where the other way is the right one, if there is another one, and where
    /// vectors of another space serve, or those of the other table: the server would fail on their length. And where
    /// the guessed reach is not the right one.
    fn guard(&self, guess: SearchPlan, table: VectorTable, statement: &mut Statement) {
        statement
            .push(" AND (SELECT c.is_right FROM c) AND (SELECT c.made_by FROM c) = ")
            .bind(self.origin.space().to_owned());
        statement.push(" AND (SELECT coalesce(c.serving, ").bind(VectorTable::First.name().to_owned());
        statement.push(") FROM c) = ").bind(table.name().to_owned());
        if guess == SearchPlan::EachThatPasses {
            statement.push(" AND (SELECT count(*) FROM m) <= ").number(self.few());
        } else if !self.is_large && self.may_be_proposed() {
            statement.push(match table {
                VectorTable::First => " AND (SELECT c.first FROM c)",
                VectorTable::Second => " AND (SELECT c.second FROM c)",
            });
            statement.push(if guess == SearchPlan::Each { " <= " } else { " > " }).number(self.few());
        }
    }

    /// Writes the statement of this plan.
    fn write(&self, way: SearchPlan, table: VectorTable, statement: &mut Statement) {
        self.write_vector(way, statement.push("SELECT f.id, "));
        statement.push(" AS embedding");
        self.write_selection(way, self.reach, table, statement.push(" FROM ("));
        self.nearest_first(way, statement);
        statement.push(") f").push(WHOLE_WINDOW_SQL);
    }

    /// The vector of row `f`, if it may be one of those asked for: most of what comes over is vectors.
    fn write_vector(&self, way: SearchPlan, statement: &mut Statement) {
        if !self.index.is_sure(way == SearchPlan::Index) || self.query.limit == 0 {
            statement.push("f.embedding");
            return;
        }
        statement.push("CASE WHEN f.distance - ").push(COSINE_TOLERANCE).push(" <= coalesce(nth_value(f.distance, ");
        statement.number(self.query.limit.min(i32::MAX as usize)).push(") OVER w, 'NaN') THEN f.embedding END");
    }

    fn write_selection(&self, way: SearchPlan, reach: &CoveredScope, table: VectorTable, statement: &mut Statement) {
        self.write_distance(way, statement.push("SELECT v.id, v.embedding, "));
        statement.push(" FROM ").push(table.name()).push(" v");
        if let Some(filter) = &self.query.filter {
            statement.push(" JOIN records r ON r.ns = v.ns AND r.id = v.id");
            join_address(filter, "v", statement);
        }
        reach.holds("v", statement.push(" WHERE "));
        if let Some(filter) = &self.query.filter {
            filter::write(filter, statement.push(" AND "));
        }
    }

    fn write_distance(&self, way: SearchPlan, statement: &mut Statement) {
        let to = vector_store::kept(&self.query.embedding);
        if way == SearchPlan::Index {
            self.index.indexed_distance(to, statement);
        } else {
            self.index.distance(to, statement);
            // The sum keeps the planner from the index.
            statement.push(" + 0");
        }
        statement.push(" AS distance");
    }

    fn nearest_first(&self, way: SearchPlan, statement: &mut Statement) {
        statement.push(if way == SearchPlan::Index { " ORDER BY distance" } else { " ORDER BY distance, v.id" });
        // Not bound: the planner has to know how few are wanted.
        statement.push(" LIMIT ").number(self.query.limit.saturating_add(EXTRA_CANDIDATES).min(i64::MAX as usize));
    }

    async fn run_first(
        &self,
        guess: SearchPlan,
        table: VectorTable,
        connection: &mut PgConnection,
    ) -> Result<(VisibleCounts, FoundVectors), PostgresError> {
        let mut statement = Statement::default();
        self.write_first(guess, table, &mut statement);
        read(statement.rows(connection).await?)
    }

    async fn run(
        &self,
        way: SearchPlan,
        table: VectorTable,
        connection: &mut PgConnection,
    ) -> Result<FoundVectors, PostgresError> {
        let mut statement = Statement::default();
        self.write(way, table, &mut statement);
        let rows = statement.rows(connection).await?;
        rows.iter().filter_map(|row| found(row).transpose()).collect()
    }
}

/// Joins the address of `row`, where the filter asks for a part of it.
fn join_address(filter: &Filter, row: &'static str, statement: &mut Statement) {
    if filter::reads_address(filter) {
        statement
            .push(" JOIN addresses a ON a.ns = ")
            .push(row)
            .push(".ns AND a.address = ")
            .push(row)
            .push(".address");
    }
}

type FoundVectors = Vec<(RecordId, Embedding)>;

/// Reads the counts, which are in the row without an id, and the hits.
fn read(rows: Vec<PgRow>) -> Result<(VisibleCounts, FoundVectors), PostgresError> {
    let mut known =
        VisibleCounts { there: None, table: VectorTable::First, made_by: None, is_right: true, passing: None };
    let mut all = Vec::with_capacity(rows.len());
    for row in &rows {
        if row.try_get::<Option<Uuid>, _>("id")?.is_some() {
            all.extend(found(row)?);
            continue;
        }
        known.table = VectorTable::from_name(row.try_get::<Option<&str>, _>("serving")?);
        let there: Option<i64> = match known.table {
            VectorTable::First => row.try_get("first")?,
            VectorTable::Second => row.try_get("second")?,
        };
        known.there = there.map(|there| u64::try_from(there).unwrap_or_default());
        known.made_by = row.try_get("made_by")?;
        known.is_right = row.try_get("is_right")?;
        known.passing = row.try_get::<Option<i64>, _>("passing")?.and_then(|passing| u64::try_from(passing).ok());
    }
    Ok((known, all))
}

/// Nothing for one that came without a vector, as it is not among those asked for.
fn found(row: &PgRow) -> Result<Option<(RecordId, Embedding)>, PostgresError> {
    let Some(vector) = row.try_get::<Option<Vector>, _>("embedding")? else { return Ok(None) };
    let embedding = Embedding::new(vector.into()).map_err(|_| PostgresError::corrupt("a vector"))?;
    Ok(Some((scopes::record_id(row.try_get("id")?), embedding)))
}

fn rescored(index: &VectorIndex, query: &VectorQuery, found: FoundVectors) -> Vec<Hit> {
    let mut exact = FlatIndex::new(index.space());
    for (number, (id, embedding)) in found.into_iter().enumerate() {
        // Two users of a tenant may have the same id.
        exact.insert((id, number), (), embedding);
    }
    let hits = exact.search(&query.embedding, Among::Everything, query.limit);
    hits.into_iter().map(|((id, _), score)| Hit { id, score }).collect()
}
