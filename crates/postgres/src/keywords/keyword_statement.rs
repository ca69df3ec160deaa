//! The statements of a keyword search.
//!
//! A statement returns the statistics of the searched scope in every row, so that one round trip is enough. The server
//! ranks the records by BM25 and returns the best ones. The client computes their scores from the stored counts, and
//! orders them: the rounding of the server never decides.

use memory_engine_core::Scope;
use memory_engine_keyword_store::{Bm25, Clause, DistinctTerms, KeywordQuery};
use memory_engine_sql::filter;

use crate::{
    database::statement::StatementBuilder,
    keywords::lexeme::LexemeOwner,
    rows::{row, scopes::CoveredScope},
};

/// Maximum number of further records that [`Selection::Best`] returns because they may be as good as the last hit. If
/// there are more, all records with a query term are read.
const MAX_TIED_RECORDS: usize = 64;

/// Number of records beyond the limit that [`Selection::Few`] returns.
const FEW_EXTRA_RECORDS: usize = 8;

/// The records that a statement returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    /// None: the query has no terms, or no hit is wanted.
    Nothing,
    /// All records with a query term.
    All,
    /// The best records by the ranking of the server.
    Best,
    /// All records with a query term if at most the limit plus [`FEW_EXTRA_RECORDS`] match, otherwise none.
    Few,
}

/// The input of a search.
#[derive(Debug)]
pub(crate) struct KeywordStatement<'q> {
    pub(crate) scope: &'q Scope,
    pub(crate) query: &'q KeywordQuery,
    pub(crate) query_terms: &'q DistinctTerms<'q>,
    /// True to return the records of the hits.
    pub(crate) reads_records: bool,
}

/// The statement: the statistics of the searched scope, all records with a query term or the best of them, and the
/// hits `h` with the statistics in every row.
const SEARCH: &str = "
    WITH scope AS MATERIALIZED (
        SELECT coalesce(sum(a.documents), 0)::bigint AS documents,
               (SELECT o.made_by FROM index_metadata o WHERE o.part = 'keywords') AS made_by,
               {is_scope_correct} AS is_scope_correct
        FROM scopes a WHERE {scopes}
    ){all}{best}
    SELECT scope.documents, scope.made_by, scope.is_scope_correct, {matches} AS matches,
           {statistics} AS document_frequencies, h.estimate, h.length, h.terms, h.counts, {columns}
    FROM scope{join_statistics} LEFT JOIN ({hits}) h ON true{join_records}";

/// All records with a query term, at most one more than a limit.
const ALL_RECORDS: &str = ", matching AS MATERIALIZED (
        SELECT d.namespace, d.id, d.length, d.terms, d.counts FROM keyword_documents d
        WHERE {rows} AND (SELECT scope.is_scope_correct FROM scope)
              AND d.lexemes @@ (SELECT {lexemes}::text::tsquery){limit}
    )";

/// The occurrences of the query terms, the number of records with each clause, and the best records. A clause is a term
/// of the query with its synonyms and other forms. The ranking is that of [`Bm25`], whose norm grows with the length.
///
/// Each term is looked up by itself. The lexemes of the found records, which are large, are not read.
const BEST_RECORDS: &str = ", term_occurrences AS MATERIALIZED (
        SELECT query.clause, d.namespace, d.id, {base_norm} + {norm_per_term} * d.length::float8 AS norm,
               query.weight * coalesce((d.repeated_terms -> query.term)::bigint, 1) AS frequency
        FROM unnest({lexemes}::text[]::tsquery[], {terms}::text[], {clauses}::int[], {weights}::float8[])
             query (lexeme, term, clause, weight)
             JOIN LATERAL (
                 SELECT d.namespace, d.id, d.length, d.repeated_terms FROM keyword_documents d
                 WHERE {rows} AND d.lexemes @@ query.lexeme{fence}
             ) d ON true
        WHERE (SELECT scope.is_scope_correct FROM scope)
    ), occurrences AS {occurrences}, clauses AS MATERIALIZED (
        SELECT array_agg(coalesce(found.documents, 0) ORDER BY query.clause) AS document_frequencies,
               array_agg(query.weight * ln(1 + (
                   greatest(greatest(scope.documents, 1) - coalesce(found.documents, 0) + 0.5::float8, 0)
                   / (coalesce(found.documents, 0) + 0.5::float8)
               )) ORDER BY query.clause) AS idf
        FROM scope CROSS JOIN unnest({clause_weights}::float8[]) WITH ORDINALITY query (weight, clause)
             LEFT JOIN (
                 SELECT clause, count(*) AS documents FROM occurrences GROUP BY clause
             ) found ON found.clause = query.clause
    ), best AS MATERIALIZED (
        SELECT ranked.namespace, ranked.id, ranked.estimate FROM (
            SELECT namespace, id,
                   sum((SELECT clauses.idf FROM clauses)[clause] * frequency / (frequency + norm)) AS estimate
            FROM occurrences GROUP BY namespace, id
        ) ranked{filter} ORDER BY ranked.estimate DESC, ranked.id LIMIT {limit}
    )";

/// The records that may be hits: their estimate is at least that of the last hit, except for rounding. `OFFSET 0` makes
/// the planner look up each record by its key.
const BEST_HITS: &str = "SELECT best.estimate, d.* FROM best CROSS JOIN LATERAL (
        SELECT d.namespace, d.id, d.length, d.terms, d.counts FROM keyword_documents d
        WHERE d.namespace = best.namespace AND d.id = best.id{namespace} OFFSET 0
    ) d WHERE best.estimate >= coalesce((
        SELECT last.estimate * (1 - 1e-9::float8) FROM best last
        ORDER BY last.estimate DESC OFFSET {better_hits} LIMIT 1
    ), 0)";

/// The occurrences of clauses with several terms.
const SUM_OF_TERMS: &str = "MATERIALIZED (
        SELECT clause, namespace, id, min(norm) AS norm, sum(frequency) AS frequency FROM term_occurrences
        GROUP BY clause, namespace, id
    )";

impl KeywordStatement<'_> {
    /// Returns the records that the first statement should return. A user usually has few matches, and reading all of
    /// them costs less than ranking them in the server. In a large scope, the caller uses `Best` instead.
    pub(crate) fn initial_selection(&self) -> Selection {
        let query = self.query;
        let is_positive = |weight: f64| weight.is_finite() && weight > 0.0;
        let is_countable = |clause: &Clause| {
            let mut terms = clause.terms.iter();
            is_positive(clause.weight) && terms.all(|term| is_positive(term.weight) && !term.term.contains('\0'))
        };
        if self.query_terms.terms().is_empty() || query.limit == 0 {
            Selection::Nothing
        } else if !query.clauses.iter().all(is_countable) {
            Selection::All
        } else if self.scope.user_name().is_none() {
            Selection::Best
        } else {
            Selection::Few
        }
    }

    /// Returns the maximum number of records that a statement returns, unless it returns all.
    pub(crate) fn max_records(&self, selection: Selection) -> usize {
        let extra = match selection {
            Selection::Best => MAX_TIED_RECORDS,
            Selection::Few => FEW_EXTRA_RECORDS,
            Selection::Nothing | Selection::All => return usize::MAX,
        };
        // It fits into a `bigint`, also plus one.
        self.query.limit.saturating_add(extra).min(i64::MAX as usize - 1)
    }

    /// Appends the statement.
    pub(crate) fn push(&self, selection: Selection, covered: &CoveredScope, statement: &mut StatementBuilder) {
        let has_all = matches!(selection, Selection::All | Selection::Few);
        let has_best = selection == Selection::Best;
        let joins_records = self.reads_records || self.query.filter.is_some();
        statement.push_template(SEARCH, |part, statement| match part {
            "is_scope_correct" => covered.push_correctness_check(statement),
            "scopes" => covered.push_address_condition("a", statement),
            "all" if has_all => self.push_all(selection, covered, statement),
            "best" if has_best => self.push_best(covered, statement),
            "matches" if selection == Selection::Few => drop(statement.push("(SELECT count(*) FROM matching)")),
            "matches" => drop(statement.push("NULL::bigint")),
            "statistics" if has_best => drop(statement.push("clauses.document_frequencies")),
            "statistics" => drop(statement.push("NULL::bigint[]")),
            "columns" if joins_records => drop(statement.push("y.*")),
            "columns" => drop(statement.push("true AS admitted, h.namespace, h.id")),
            "join_statistics" if has_best => drop(statement.push(" CROSS JOIN clauses")),
            "hits" => self.push_hits(selection, covered, statement),
            "join_records" if joins_records => {
                let push_admitted = |statement: &mut StatementBuilder| self.push_admitted(statement);
                row::push_join_records(self.scope, covered, self.reads_records, statement, push_admitted);
            }
            "all" | "best" | "join_statistics" | "join_records" => {}
            unknown => statement.refuse(unknown),
        });
    }

    /// Appends the column that is true for records that pass the filter.
    fn push_admitted(&self, statement: &mut StatementBuilder) {
        statement.push(", ");
        match &self.query.filter {
            None => drop(statement.push("true")),
            Some(filter) => filter::write(filter, statement),
        }
        statement.push(" AS admitted");
    }

    fn push_all(&self, selection: Selection, covered: &CoveredScope, statement: &mut StatementBuilder) {
        statement.push_template(ALL_RECORDS, |part, statement| match part {
            "rows" => covered.push_row_condition("d", statement),
            "lexemes" => {
                let terms = self.query_terms.terms().iter().copied();
                statement.bind(LexemeOwner::of(self.scope).query(terms));
            }
            "limit" if selection == Selection::Few => {
                statement.push(" LIMIT ").push_number(self.max_records(selection) + 1);
            }
            "limit" => {}
            unknown => statement.refuse(unknown),
        });
    }

    fn push_best(&self, covered: &CoveredScope, statement: &mut StatementBuilder) {
        let clauses = &self.query.clauses;
        // The last clause, of weight 0, counts the records whose terms the server cannot count (see `lexeme.rs`). If
        // there are any, the caller reads all records.
        let uncounted_clause = i32::try_from(clauses.len() + 1).unwrap_or(i32::MAX);
        let terms: Vec<(i32, &str, f64)> = (1..)
            .zip(clauses)
            .flat_map(|(number, clause)| clause.terms.iter().map(move |term| (number, &term.term[..], term.weight)))
            .collect();
        let is_single_term = clauses.iter().all(|clause| clause.terms.len() == 1);
        let Bm25 { k1, b, pivot } = Bm25::default();
        statement.push_template(BEST_RECORDS, |part, statement| match part {
            "base_norm" => drop(statement.bind(k1 * (1.0 - b)).push("::float8")),
            "norm_per_term" => drop(statement.bind(k1 * b / pivot).push("::float8")),
            "lexemes" => {
                let terms = terms.iter().map(|(_, term, _)| *term);
                statement.bind(LexemeOwner::of(self.scope).queries(terms));
            }
            "terms" => {
                let terms = terms.iter().map(|(_, term, _)| (*term).to_owned());
                statement.bind(terms.chain([String::new()]).collect::<Vec<_>>());
            }
            "clauses" => {
                let numbers = terms.iter().map(|(number, _, _)| *number);
                statement.bind(numbers.chain([uncounted_clause]).collect::<Vec<_>>());
            }
            "weights" => {
                let weights = terms.iter().map(|(_, _, weight)| *weight);
                statement.bind(weights.chain([1.0]).collect::<Vec<_>>());
            }
            "rows" => covered.push_row_condition("d", statement),
            // It keeps the subquery separate: otherwise, the planner may read all records of the user for each term.
            "fence" if !covered.is_tenant_wide() => drop(statement.push(" OFFSET 0")),
            "occurrences" if is_single_term => {
                statement.push("NOT MATERIALIZED (SELECT * FROM term_occurrences)");
            }
            "occurrences" => drop(statement.push(SUM_OF_TERMS)),
            "clause_weights" => {
                let weights = clauses.iter().map(|clause| clause.weight);
                statement.bind(weights.chain([0.0]).collect::<Vec<_>>());
            }
            "filter" => self.push_filter(covered, statement),
            "limit" => drop(statement.push_number(self.max_records(Selection::Best))),
            "fence" => {}
            unknown => statement.refuse(unknown),
        });
    }

    fn push_filter(&self, covered: &CoveredScope, statement: &mut StatementBuilder) {
        let Some(filter) = &self.query.filter else { return };
        statement.push(" JOIN records r ON r.namespace = ranked.namespace AND r.id = ranked.id");
        covered.push_joined_namespace_condition("r", statement);
        statement.push(" JOIN scopes a ON a.namespace = r.namespace AND a.scope = r.scope WHERE ");
        filter::write(filter, statement);
    }

    fn push_hits(&self, selection: Selection, covered: &CoveredScope, statement: &mut StatementBuilder) {
        match selection {
            Selection::Nothing => {
                statement.push(
                    "SELECT NULL::float8 AS estimate, NULL::uuid AS namespace, NULL::uuid AS id, NULL::bigint AS length,
                         NULL::bytea AS terms, NULL::bytea AS counts WHERE false",
                );
            }
            Selection::All | Selection::Few => {
                statement.push("SELECT NULL::float8 AS estimate, matching.* FROM matching");
                if selection == Selection::Few {
                    statement.push(" WHERE (SELECT count(*) FROM matching) <= ");
                    statement.push_number(self.max_records(selection));
                }
            }
            Selection::Best => statement.push_template(BEST_HITS, |part, statement| match part {
                "namespace" => covered.push_joined_namespace_condition("d", statement),
                "better_hits" => drop(statement.push_number(self.query.limit.saturating_sub(1).min(i64::MAX as usize))),
                unknown => statement.refuse(unknown),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
