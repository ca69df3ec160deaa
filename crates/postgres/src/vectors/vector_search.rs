//! Vector search: the server selects candidates, which are then scored with the inner product that all backends share,
//! so that scores and order are the same everywhere.
//!
//! Usually one statement is enough. It counts the vectors in scope, and returns hits if the initial plan is right for
//! that number. Otherwise a second statement follows the right plan. A scope that was found to be large is not counted
//! again for a while, since counting the vectors of a tenant takes as long as the index search.

use memory_engine_core::{Embedding, Filter, FoundRecord, Hit, RecordId, RecordWithTerms, Scope};
use memory_engine_sql::{embedding_versions::VectorTable, filter, index_metadata::IndexMetadata};
use memory_engine_vector_store::{FlatIndex, SearchSubset, VectorQuery};
use pgvector::Vector;
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::{
    database::{error::PostgresError, index_metadata, statement::StatementBuilder},
    keywords::keyword_store,
    records::{
        row::{self, JOIN_RECORDS, record_columns},
        scopes::{self, CoveredScope},
    },
    vectors::{vector_index::VectorIndex, vector_store},
};

/// Maximum number of hits of an index search. The index visits at most a thousand rows at a time.
const INDEX_MAX_HITS: usize = 500;

/// Number of additional candidates that are scored again, since the rounding of the server may have swapped close
/// ones.
const EXTRA_CANDIDATES: usize = 8;

/// Maximum difference of the cosines of such candidates. The server adds in single precision.
const COSINE_TOLERANCE: &str = "1e-4";

/// The first statement of a search: the counts in every row, and the hits, if the plan is right for these counts.
const COUNT_AND_SEARCH: &str = "
    WITH c AS MATERIALIZED (
        SELECT (SELECT o.made_by FROM origins o WHERE o.part = 'embedding') AS made_by,
               (SELECT o.made_by FROM origins o WHERE o.part = 'serving table') AS serving,
               {is_scope_correct} AS is_scope_correct,
               {counts}
    ){passing_records}
    SELECT c.first, c.second, c.made_by, c.serving, c.is_scope_correct, {passing} AS passing, h.embedding, {columns}
    FROM c LEFT JOIN ({hits}) h ON true{join_records}";

/// The hits of a plan, without those that cannot be among the best: vectors are most of the transferred data.
const HITS: &str = "
    SELECT x.* FROM (
        SELECT f.ns, f.id, {vector} AS embedding FROM ({search}) f
        WINDOW w AS (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ) x WHERE x.embedding IS NOT NULL";

const JOIN_TERMS: &str = " LEFT JOIN keyword_documents k ON k.ns = h.ns AND k.id = h.id";

/// The number of vectors in scope, for each table.
const COUNTS: &str =
    "coalesce(sum(a.vectors), 0)::bigint AS first, coalesce(sum(a.second_vectors), 0)::bigint AS second
               FROM addresses a WHERE ";

/// A plan for finding the nearest vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchPlan {
    /// Compares every vector in scope.
    Exact,
    /// Compares every vector in scope that passes the filter, unless there are too many.
    ExactFiltered,
    /// Lets the HNSW index select candidates.
    Index,
}

/// The input of a search.
#[derive(Debug)]
struct VectorSearch<'s> {
    metadata: &'s IndexMetadata,
    index: &'s VectorIndex,
    covered: &'s CoveredScope,
    /// The covered scope of the first statement, which checks it.
    assumed: CoveredScope,
    query: &'s VectorQuery,
    /// True if a recent count found too many vectors for an exact search.
    is_large: bool,
    /// True to return the records of the hits.
    reads_records: bool,
}

/// Counts of the records in scope.
#[derive(Debug)]
struct ScopeCounts {
    /// Number of vectors in the serving table; `None` if they were not counted because there are many.
    vectors: Option<u64>,
    table: VectorTable,
    /// The embedding space of the serving table.
    made_by: Option<String>,
    /// True if the assumed scope was correct.
    is_scope_correct: bool,
    /// Number of records that pass the filter, counted up to one more than the limit of an exact search.
    passing: Option<u64>,
}

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
    let read = |(hit, row): &(Hit, PgRow)| {
        let has_terms = row.try_get::<Option<&[u8]>, _>("terms")?.is_some();
        let terms = if has_terms { Some(keyword_store::read_terms(row)?) } else { None };
        Ok(FoundRecord { hit: *hit, found: RecordWithTerms { record: row::read(row)?.record, terms } })
    };
    find(connection, metadata, index, scope, query, true).await?.iter().map(read).collect()
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
    let mut search = VectorSearch { metadata, index, covered: &covered, assumed, query, is_large, reads_records };
    let initial_plan = search.initial_plan();
    let assumed_table = index.assumed_table();
    let (mut counts, mut candidates) = search.run_first(initial_plan, assumed_table, connection).await?;
    if !counts.is_scope_correct {
        index.tenants().set_several();
        search.assumed = covered.clone();
        (counts, candidates) = search.run_first(initial_plan, assumed_table, connection).await?;
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
        candidates = search.run(plan, counts.table, connection).await?;
    }
    if counts.vectors.is_some_and(|vectors| vectors > index.exact_up_to) {
        index.large_scopes().insert(scope);
    }
    // An index scan that returned too few rows may have reached its limit. Then every vector is compared.
    let expected_hits =
        counts.vectors.map_or(query.limit, |vectors| query.limit.min(usize::try_from(vectors).unwrap_or(usize::MAX)));
    if plan == SearchPlan::Index && candidates.len() < expected_hits {
        candidates = search.run(SearchPlan::Exact, counts.table, connection).await?;
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
    let search = VectorSearch {
        metadata,
        index,
        covered,
        assumed: covered.clone(),
        query,
        is_large: false,
        reads_records: false,
    };
    let (counts, _) = search.run_first(search.initial_plan(), index.assumed_table(), connection).await?;
    match search.plan_for(&counts) {
        SearchPlan::ExactFiltered => search.push_first(SearchPlan::ExactFiltered, counts.table, statement),
        plan @ (SearchPlan::Exact | SearchPlan::Index) => search.push_plan(plan, counts.table, statement),
    }
    Ok(())
}

impl VectorSearch<'_> {
    /// Returns the plan of the first statement, before anything is counted. It is usually right: a user has few
    /// vectors, and a tenant has many.
    fn initial_plan(&self) -> SearchPlan {
        match self.query.filter {
            Some(_) => SearchPlan::ExactFiltered,
            None if (self.is_large || self.covered.is_tenant_wide()) && self.can_use_index() => SearchPlan::Index,
            None => SearchPlan::Exact,
        }
    }

    /// Returns the right plan for these counts.
    fn plan_for(&self, counts: &ScopeCounts) -> SearchPlan {
        let exact_limit = self.index.exact_up_to;
        match counts.passing {
            Some(passing) if passing <= exact_limit => SearchPlan::ExactFiltered,
            _ if counts.vectors.is_none_or(|vectors| vectors > exact_limit) && self.can_use_index() => {
                SearchPlan::Index
            }
            _ => SearchPlan::Exact,
        }
    }

    fn can_use_index(&self) -> bool {
        self.index.can_index() && self.query.limit <= INDEX_MAX_HITS
    }

    /// Returns the maximum number of vectors for an exact search. It fits into a `bigint`, also plus one.
    fn exact_limit(&self) -> usize {
        usize::try_from(self.index.exact_up_to).unwrap_or(usize::MAX).min(i64::MAX as usize - 1)
    }

    /// Appends the statement that counts, and searches if the plan is right.
    fn push_first(&self, plan: SearchPlan, table: VectorTable, statement: &mut StatementBuilder) {
        let is_filtered = plan == SearchPlan::ExactFiltered;
        statement.push_template(COUNT_AND_SEARCH, |part, statement| match part {
            "is_scope_correct" => self.assumed.push_correctness_check(statement),
            "counts" if self.is_large => drop(statement.push("NULL::bigint AS first, NULL::bigint AS second")),
            "counts" => {
                statement.push(COUNTS);
                self.assumed.push_address_condition("a", statement);
            }
            "passing_records" => self.push_passing_records(is_filtered, statement),
            "passing" => drop(statement.push(if is_filtered { "(SELECT count(*) FROM m)" } else { "NULL::bigint" })),
            "columns" => self.push_columns(statement),
            "hits" => self.push_hits(plan, statement, |statement| {
                self.push_first_selection(plan, table, statement);
                self.push_guard(plan, table, statement);
            }),
            "join_records" => self.push_join_records(statement),
            _ => {}
        });
    }

    /// Appends the hits of the rows that `push_rows` appends.
    fn push_hits(&self, plan: SearchPlan, statement: &mut StatementBuilder, push_rows: impl Fn(&mut StatementBuilder)) {
        statement.push_template(HITS, |part, statement| match part {
            "vector" => self.push_vector(plan, statement),
            "search" => {
                push_rows(statement);
                self.push_order_and_limit(plan, statement);
            }
            _ => {}
        });
    }

    /// Appends the columns that identify the hits `h`, or those of their records and terms.
    fn push_columns(&self, statement: &mut StatementBuilder) {
        statement.push(if self.reads_records { "y.*, k.terms, k.counts" } else { "h.ns, h.id" });
    }

    fn push_join_records(&self, statement: &mut StatementBuilder) {
        if self.reads_records {
            statement.push_template(JOIN_RECORDS, |part, statement| match part {
                "columns" => drop(statement.push(record_columns!())),
                _ => self.covered.push_joined_namespace_condition("r", statement),
            });
            statement.push_template(JOIN_TERMS, |_, statement| {
                self.covered.push_joined_namespace_condition("k", statement);
            });
        }
    }

    /// Appends the records that pass the filter as the table `m`, at most one more than an exact search compares.
    fn push_passing_records(&self, is_filtered: bool, statement: &mut StatementBuilder) {
        if let (true, Some(filter)) = (is_filtered, &self.query.filter) {
            statement.push(", m AS MATERIALIZED (SELECT r.ns, r.id FROM records r");
            push_address_join(filter, "r", statement);
            self.assumed.push_row_condition("r", statement.push(" WHERE "));
            filter::write(filter, statement.push(" AND "));
            statement
                .push(" AND (SELECT c.is_scope_correct FROM c) LIMIT ")
                .push_number(self.exact_limit() + 1)
                .push(")");
        }
    }

    fn push_first_selection(&self, plan: SearchPlan, table: VectorTable, statement: &mut StatementBuilder) {
        if plan != SearchPlan::ExactFiltered {
            return self.push_selection(plan, &self.assumed, table, statement);
        }
        self.push_distance(plan, statement.push("SELECT v.ns, v.id, v.embedding, "));
        statement.push(" FROM m JOIN ").push(table.name());
        statement.push(" v ON v.ns = m.ns AND v.id = m.id WHERE ");
        // The join implies the namespace, but the planner does not infer that and would read all partitions.
        if self.covered.is_tenant_wide() {
            statement.push("true");
        } else {
            self.covered.push_namespace_condition("v", statement);
        }
    }

    /// Appends conditions under which the statement returns hits: the assumed scope is correct, the assumed table
    /// serves vectors of this space (the server would reject vectors of another length), and the plan is right for the
    /// counts.
    fn push_guard(&self, plan: SearchPlan, table: VectorTable, statement: &mut StatementBuilder) {
        statement
            .push(" AND (SELECT c.is_scope_correct FROM c) AND (SELECT c.made_by FROM c) = ")
            .bind(self.metadata.space().to_owned());
        statement.push(" AND (SELECT coalesce(c.serving, ").bind(VectorTable::First.name().to_owned());
        statement.push(") FROM c) = ").bind(table.name().to_owned());
        if plan == SearchPlan::ExactFiltered {
            statement.push(" AND (SELECT count(*) FROM m) <= ").push_number(self.exact_limit());
        } else if !self.is_large && self.can_use_index() {
            statement.push(match table {
                VectorTable::First => " AND (SELECT c.first FROM c)",
                VectorTable::Second => " AND (SELECT c.second FROM c)",
            });
            statement.push(if plan == SearchPlan::Exact { " <= " } else { " > " }).push_number(self.exact_limit());
        }
    }

    /// Appends the statement of a plan, without counts.
    fn push_plan(&self, plan: SearchPlan, table: VectorTable, statement: &mut StatementBuilder) {
        self.push_columns(statement.push("SELECT h.embedding, "));
        self.push_hits(plan, statement.push(" FROM ("), |statement| {
            self.push_selection(plan, self.covered, table, statement);
        });
        self.push_join_records(statement.push(") h"));
    }

    /// Appends the vector of row `f`, or NULL if the row cannot be a hit.
    fn push_vector(&self, plan: SearchPlan, statement: &mut StatementBuilder) {
        if !self.index.has_exact_cosines(plan == SearchPlan::Index) || self.query.limit == 0 {
            statement.push("f.embedding");
            return;
        }
        statement.push("CASE WHEN f.distance - ").push(COSINE_TOLERANCE).push(" <= coalesce(nth_value(f.distance, ");
        statement.push_number(self.query.limit.min(i32::MAX as usize)).push(") OVER w, 'NaN') THEN f.embedding END");
    }

    fn push_selection(
        &self,
        plan: SearchPlan,
        covered: &CoveredScope,
        table: VectorTable,
        statement: &mut StatementBuilder,
    ) {
        self.push_distance(plan, statement.push("SELECT v.ns, v.id, v.embedding, "));
        statement.push(" FROM ").push(table.name()).push(" v");
        if let Some(filter) = &self.query.filter {
            statement.push(" JOIN records r ON r.ns = v.ns AND r.id = v.id");
            push_address_join(filter, "v", statement);
        }
        covered.push_row_condition("v", statement.push(" WHERE "));
        if let Some(filter) = &self.query.filter {
            filter::write(filter, statement.push(" AND "));
        }
    }

    fn push_distance(&self, plan: SearchPlan, statement: &mut StatementBuilder) {
        let target = vector_store::stored_vector(&self.query.embedding);
        if plan == SearchPlan::Index {
            self.index.push_indexed_distance(target, statement);
        } else {
            self.index.push_distance(target, statement);
            // The sum keeps the planner from using the index.
            statement.push(" + 0");
        }
        statement.push(" AS distance");
    }

    fn push_order_and_limit(&self, plan: SearchPlan, statement: &mut StatementBuilder) {
        statement.push(if plan == SearchPlan::Index { " ORDER BY distance" } else { " ORDER BY distance, v.id" });
        // The limit is not bound, since the planner needs its value.
        statement.push(" LIMIT ").push_number(self.query.limit.saturating_add(EXTRA_CANDIDATES).min(i64::MAX as usize));
    }

    async fn run_first(
        &self,
        plan: SearchPlan,
        table: VectorTable,
        connection: &mut PgConnection,
    ) -> Result<(ScopeCounts, Candidates), PostgresError> {
        let mut statement = StatementBuilder::default();
        self.push_first(plan, table, &mut statement);
        read_counts_and_candidates(statement.fetch_all(connection).await?)
    }

    async fn run(
        &self,
        plan: SearchPlan,
        table: VectorTable,
        connection: &mut PgConnection,
    ) -> Result<Candidates, PostgresError> {
        let mut statement = StatementBuilder::default();
        self.push_plan(plan, table, &mut statement);
        read_candidates(statement.fetch_all(connection).await?)
    }
}

/// Joins the address of `row`, if the filter tests a part of it.
fn push_address_join(filter: &Filter, row: &'static str, statement: &mut StatementBuilder) {
    if filter::reads_address(filter) {
        statement
            .push(" JOIN addresses a ON a.ns = ")
            .push(row)
            .push(".ns AND a.address = ")
            .push(row)
            .push(".address");
    }
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
            let embedding = Embedding::new(vector.into()).map_err(|_| PostgresError::corrupt("a vector"))?;
            candidates.push((row, embedding));
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
