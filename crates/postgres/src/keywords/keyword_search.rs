//! Keyword search: the server selects candidates by their lexemes, and [`Bm25`] ranks them by their stored term counts.

use memory_engine_core::{Hit, Index, RecordId, Scope, packed_terms};
use memory_engine_keyword_store::{Bm25, Bm25Candidate, DistinctTerms, KeywordQuery};
use memory_engine_sql::{filter, index_metadata::IndexMetadata};
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    keywords::lexeme::LexemeOwner,
    records::scopes::{self, CoveredScope, Tenants},
};

/// Begins the row with the statistics of the searched scope, up to the condition of a correct scope.
///
/// Statistics and candidates are read by one statement, which saves a round trip.
const SELECT_STATISTICS: &str =
    "SELECT NULL::uuid AS id, NULL::bigint AS length, NULL::bytea AS terms, NULL::bytea AS counts,
            NULL::boolean AS admitted, coalesce(sum(a.documents), 0)::bigint AS documents,
            (SELECT o.made_by FROM origins o WHERE o.part = 'keywords') AS made_by, ";

/// Returns the best records within `scope` for a query, ranked with the statistics of that scope.
pub(crate) async fn search(
    connection: &mut PgConnection,
    metadata: &IndexMetadata,
    tenants: &Tenants,
    scope: &Scope,
    query: &KeywordQuery,
) -> Result<Vec<Hit>, PostgresError> {
    let query_terms = DistinctTerms::of(&query.clauses);
    let mut matches = find_matches(connection, &tenants.assumed_cover(scope), scope, query, &query_terms).await?;
    if !matches.is_scope_correct {
        tenants.set_several();
        matches = find_matches(connection, &CoveredScope::of(scope), scope, query, &query_terms).await?;
    }
    let KeywordMatches { documents, made_by, candidates, .. } = matches;
    metadata.check(Index::Keywords, made_by.as_deref(), "keyword search")?;
    let ranked = Bm25::default().rank(documents, &query.clauses, &candidates, query.limit);
    Ok(ranked.into_iter().map(|(id, score)| Hit { id, score }).collect())
}

async fn find_matches(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    scope: &Scope,
    query: &KeywordQuery,
    query_terms: &DistinctTerms<'_>,
) -> Result<KeywordMatches, PostgresError> {
    let mut statement = StatementBuilder::default();
    push_statistics(covered, &mut statement);
    if !query_terms.terms().is_empty() && query.limit > 0 {
        push_candidates(covered, scope, query, query_terms, statement.push(" UNION ALL "));
    }
    read(statement.fetch_all(connection).await?, query_terms)
}

/// Appends the statement of a search, for its query plan.
pub(crate) fn push_search(scope: &Scope, query: &KeywordQuery, statement: &mut StatementBuilder) {
    let covered = CoveredScope::of(scope);
    push_statistics(&covered, statement);
    push_candidates(&covered, scope, query, &DistinctTerms::of(&query.clauses), statement.push(" UNION ALL "));
}

/// Appends the selection of one row: the number of documents in scope, the analyzer of the index, and whether the
/// covered scope is correct.
fn push_statistics(covered: &CoveredScope, statement: &mut StatementBuilder) {
    statement.push(SELECT_STATISTICS);
    covered.push_correctness_check(statement);
    statement.push(" AS is_scope_correct");
    covered.push_address_condition("a", statement.push(" FROM addresses a WHERE "));
}

/// Appends the selection of all records that may contain a query term.
fn push_candidates(
    covered: &CoveredScope,
    scope: &Scope,
    query: &KeywordQuery,
    query_terms: &DistinctTerms<'_>,
    statement: &mut StatementBuilder,
) {
    statement.push("SELECT d.id, d.length, d.terms, d.counts, ");
    match &query.filter {
        None => drop(statement.push("true, NULL, NULL, NULL FROM keyword_documents d")),
        Some(filter) => {
            filter::write(filter, statement);
            statement.push(
                ", NULL, NULL, NULL FROM keyword_documents d JOIN records r ON r.ns = d.ns AND r.id = d.id
                  JOIN addresses a ON a.ns = d.ns AND a.address = d.address",
            );
        }
    }
    statement.push(" WHERE ");
    covered.push_row_condition("d", statement);
    covered.push_correctness_check(statement.push(" AND "));
    let lexemes = LexemeOwner::of(scope).query(query_terms.terms().iter().copied());
    statement.push(" AND d.lexemes @@ ").bind(lexemes).push("::tsquery");
}

/// The result of a search statement.
#[derive(Debug, Default)]
struct KeywordMatches {
    /// Number of documents within the searched scope.
    documents: u64,
    /// The analyzer of the index.
    made_by: Option<String>,
    is_scope_correct: bool,
    /// All records with a query term. Lexemes only propose records; the stored counts decide.
    candidates: Vec<Bm25Candidate<RecordId>>,
}

/// Reads the statistics, which are in the row without an id, and the candidates.
fn read(rows: Vec<PgRow>, query_terms: &DistinctTerms<'_>) -> Result<KeywordMatches, PostgresError> {
    let mut counts = vec![0; query_terms.terms().len()];
    let mut matches = KeywordMatches::default();
    for row in rows {
        let Some(id) = row.try_get::<Option<Uuid>, _>("id")? else {
            matches.documents = u64::try_from(row.try_get::<i64, _>("documents")?).unwrap_or_default();
            matches.made_by = row.try_get("made_by")?;
            matches.is_scope_correct = row.try_get("is_scope_correct")?;
            continue;
        };
        if packed_terms::count(row.try_get("terms")?, row.try_get("counts")?, query_terms.terms(), &mut counts)? {
            matches.candidates.push(Bm25Candidate {
                key: scopes::record_id(id),
                frequencies: query_terms.frequencies(&counts),
                length: u32::try_from(row.try_get::<i64, _>("length")?).unwrap_or(u32::MAX),
                admitted: row.try_get("admitted")?,
            });
        }
    }
    Ok(matches)
}
