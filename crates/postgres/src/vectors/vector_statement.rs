//! The statements of a vector search.

use memory_engine_core::{Filter, Scope};
use memory_engine_sql::{embedding_versions::VectorTable, filter, index_metadata::IndexMetadata};
use memory_engine_vector_store::VectorQuery;

use crate::{
    database::statement::StatementBuilder,
    rows::{row, scopes::CoveredScope},
    vectors::{vector_index::VectorIndex, vector_rows},
};

/// Maximum number of hits of an index search. More hits are found by comparing all vectors.
const INDEX_MAX_HITS: usize = 500;

/// Number of additional candidates that are scored again, since the rounding of the server may have swapped close
/// ones.
const EXTRA_CANDIDATES: usize = 8;

/// Maximum difference of the cosines of such candidates. The server adds in single precision.
const COSINE_TOLERANCE: &str = "1e-4";

/// The first statement of a search: the counts in every row, and the hits, if the plan is right for these counts.
const COUNT_AND_SEARCH: &str = "
    WITH counts AS MATERIALIZED (
        SELECT (SELECT o.made_by FROM index_metadata o WHERE o.part = 'embedding') AS made_by,
               (SELECT o.made_by FROM index_metadata o WHERE o.part = 'serving table') AS serving,
               {is_scope_correct} AS is_scope_correct,
               {counts}
    ){passing_records}
    SELECT counts.first, counts.second, counts.made_by, counts.serving, counts.is_scope_correct,
           {passing} AS passing, h.embedding, {columns}
    FROM counts LEFT JOIN ({hits}) h ON true{join_records}";

/// The rows of a plan without those that cannot be hits, because vectors are most of the transferred data. The window
/// sorts the rows, since those of an index scan may be out of order.
const HITS: &str = "
    SELECT near.* FROM (
        SELECT found.namespace, found.id, {vector} AS embedding FROM ({search}) found
        WINDOW nearest_first AS (ORDER BY found.distance ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ) near WHERE near.embedding IS NOT NULL";

const JOIN_TERMS: &str = " LEFT JOIN keyword_documents k ON k.namespace = h.namespace AND k.id = h.id{namespace}";

/// The number of vectors in scope, for each of the two tables. During a change of the embedding model, one of them
/// serves searches, and the other one is being filled.
const COUNTS: &str =
    "coalesce(sum(a.vectors), 0)::bigint AS first, coalesce(sum(a.secondary_vectors), 0)::bigint AS second
               FROM scopes a WHERE ";

/// A plan for finding the nearest vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchPlan {
    /// Compares every vector in scope.
    Exact,
    /// Compares every vector in scope that passes the filter, unless there are too many.
    ExactFiltered,
    /// Lets the HNSW index select candidates.
    Index,
}

/// The input of a search.
#[derive(Debug)]
pub(crate) struct VectorStatement<'s> {
    pub(crate) metadata: &'s IndexMetadata,
    pub(crate) index: &'s VectorIndex,
    pub(crate) scope: &'s Scope,
    pub(crate) covered: &'s CoveredScope,
    /// The scope of the first statement. Until several tenants are known, it assumes that the database has only one,
    /// since the conditions are then cheaper, and the statement checks that. Later statements use `covered`.
    pub(crate) assumed: CoveredScope,
    pub(crate) query: &'s VectorQuery,
    /// True if a recent count found too many vectors for an exact search.
    pub(crate) is_large: bool,
    /// True to return the records of the hits.
    pub(crate) reads_records: bool,
}

/// Counts of the records in scope.
#[derive(Debug)]
pub(crate) struct ScopeCounts {
    /// Number of vectors in the serving table; `None` if they were not counted because there are many.
    pub(crate) vectors: Option<u64>,
    pub(crate) table: VectorTable,
    /// The embedding space of the serving table.
    pub(crate) made_by: Option<String>,
    /// True if the assumed scope was correct.
    pub(crate) is_scope_correct: bool,
    /// Number of records that pass the filter, counted up to one more than the limit of an exact search.
    pub(crate) passing: Option<u64>,
}

impl VectorStatement<'_> {
    /// Returns the plan of the first statement, before anything is counted. It is usually right: a user has few
    /// vectors, and a tenant has many.
    pub(crate) fn initial_plan(&self) -> SearchPlan {
        match self.query.filter {
            Some(_) => SearchPlan::ExactFiltered,
            None if (self.is_large || self.covered.is_tenant_wide()) && self.can_use_index() => SearchPlan::Index,
            None => SearchPlan::Exact,
        }
    }

    /// Returns the right plan for these counts.
    pub(crate) fn plan_for(&self, counts: &ScopeCounts) -> SearchPlan {
        let is_too_many = |vectors| vectors > self.index.exact_up_to;
        match counts.passing {
            Some(passing) if !is_too_many(passing) => SearchPlan::ExactFiltered,
            _ if counts.vectors.is_none_or(is_too_many) && self.can_use_index() => SearchPlan::Index,
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
    pub(crate) fn push_first(&self, plan: SearchPlan, table: VectorTable, statement: &mut StatementBuilder) {
        let is_filtered = plan == SearchPlan::ExactFiltered;
        statement.push_template(COUNT_AND_SEARCH, |part, statement| match part {
            "is_scope_correct" => self.assumed.push_correctness_check(statement),
            "counts" if self.is_large => drop(statement.push("NULL::bigint AS first, NULL::bigint AS second")),
            "counts" => {
                statement.push(COUNTS);
                self.assumed.push_address_condition("a", statement);
            }
            "passing_records" => self.push_passing_records(is_filtered, statement),
            "passing" => {
                statement.push(if is_filtered { "(SELECT count(*) FROM passing)" } else { "NULL::bigint" });
            }
            "columns" => self.push_columns(statement),
            "hits" => self.push_hits(plan, statement, |statement| {
                self.push_first_selection(plan, table, statement);
                self.push_guard(plan, table, statement);
            }),
            "join_records" => self.push_join_records(statement),
            unknown => statement.refuse(unknown),
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
            unknown => statement.refuse(unknown),
        });
    }

    /// Appends the columns that identify the hits `h`, or those of their records and terms.
    fn push_columns(&self, statement: &mut StatementBuilder) {
        statement.push(if self.reads_records { "y.*, k.terms, k.counts" } else { "h.namespace, h.id" });
    }

    fn push_join_records(&self, statement: &mut StatementBuilder) {
        if self.reads_records {
            row::push_join_records(self.scope, self.covered, true, statement, |_| {});
            statement.push_template(JOIN_TERMS, |part, statement| match part {
                "namespace" => self.covered.push_joined_namespace_condition("k", statement),
                unknown => statement.refuse(unknown),
            });
        }
    }

    /// Appends the records that pass the filter as the table `passing`, at most one more than an exact search compares.
    fn push_passing_records(&self, is_filtered: bool, statement: &mut StatementBuilder) {
        if let (true, Some(filter)) = (is_filtered, &self.query.filter) {
            statement.push(", passing AS MATERIALIZED (SELECT r.namespace, r.id FROM records r");
            push_address_join(filter, "r", statement);
            self.assumed.push_row_condition("r", statement.push(" WHERE "));
            filter::write(filter, statement.push(" AND "));
            statement
                .push(" AND (SELECT counts.is_scope_correct FROM counts) LIMIT ")
                .push_number(self.exact_limit() + 1)
                .push(")");
        }
    }

    fn push_first_selection(&self, plan: SearchPlan, table: VectorTable, statement: &mut StatementBuilder) {
        if plan != SearchPlan::ExactFiltered {
            return self.push_selection(plan, &self.assumed, table, statement);
        }
        self.push_distance(plan, statement.push("SELECT v.namespace, v.id, v.embedding, "));
        statement.push(" FROM passing p JOIN ").push(table.name());
        statement.push(" v ON v.namespace = p.namespace AND v.id = p.id WHERE ");
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
            .push(" AND (SELECT counts.is_scope_correct FROM counts) AND (SELECT counts.made_by FROM counts) = ")
            .bind(self.metadata.space().to_owned());
        statement.push(" AND (SELECT coalesce(counts.serving, ").bind(VectorTable::First.name().to_owned());
        statement.push(") FROM counts) = ").bind(table.name().to_owned());
        if plan == SearchPlan::ExactFiltered {
            statement.push(" AND (SELECT count(*) FROM passing) <= ").push_number(self.exact_limit());
        } else if !self.is_large && self.can_use_index() {
            statement.push(match table {
                VectorTable::First => " AND (SELECT counts.first FROM counts)",
                VectorTable::Second => " AND (SELECT counts.second FROM counts)",
            });
            statement.push(if plan == SearchPlan::Exact { " <= " } else { " > " }).push_number(self.exact_limit());
        }
    }

    /// Appends the statement of a plan, without counts.
    pub(crate) fn push_plan(&self, plan: SearchPlan, table: VectorTable, statement: &mut StatementBuilder) {
        self.push_columns(statement.push("SELECT h.embedding, "));
        self.push_hits(plan, statement.push(" FROM ("), |statement| {
            self.push_selection(plan, self.covered, table, statement);
        });
        self.push_join_records(statement.push(") h"));
    }

    /// Appends the vector of the row `found`, or NULL if the row cannot be a hit: its distance is larger than that of
    /// the last hit, except for rounding. With fewer rows than the limit, all are hits, since NaN is larger than any
    /// number.
    fn push_vector(&self, plan: SearchPlan, statement: &mut StatementBuilder) {
        if !self.index.has_exact_cosines(plan == SearchPlan::Index) || self.query.limit == 0 {
            statement.push("found.embedding");
            return;
        }
        statement
            .push("CASE WHEN found.distance - ")
            .push(COSINE_TOLERANCE)
            .push(" <= coalesce(nth_value(found.distance, ")
            .push_number(self.query.limit.min(i32::MAX as usize))
            .push(") OVER nearest_first, 'NaN') THEN found.embedding END");
    }

    fn push_selection(
        &self,
        plan: SearchPlan,
        covered: &CoveredScope,
        table: VectorTable,
        statement: &mut StatementBuilder,
    ) {
        self.push_distance(plan, statement.push("SELECT v.namespace, v.id, v.embedding, "));
        statement.push(" FROM ").push(table.name()).push(" v");
        if let Some(filter) = &self.query.filter {
            statement.push(" JOIN records r ON r.namespace = v.namespace AND r.id = v.id");
            push_address_join(filter, "v", statement);
        }
        covered.push_row_condition("v", statement.push(" WHERE "));
        if let Some(filter) = &self.query.filter {
            filter::write(filter, statement.push(" AND "));
        }
    }

    fn push_distance(&self, plan: SearchPlan, statement: &mut StatementBuilder) {
        let target = vector_rows::stored_vector(&self.query.embedding);
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
}

/// Joins the address of `row`, if the filter tests a part of it.
fn push_address_join(filter: &Filter, row: &'static str, statement: &mut StatementBuilder) {
    if filter::reads_address(filter) {
        statement
            .push(" JOIN scopes a ON a.namespace = ")
            .push(row)
            .push(".namespace AND a.scope = ")
            .push(row)
            .push(".scope");
    }
}

#[cfg(test)]
mod tests;
