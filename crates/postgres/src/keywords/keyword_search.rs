//! Searching the terms.

use memory_engine_core::{Hit, Index, RecordId, Scope};
use memory_engine_keyword_store::{Bm25, Candidate, KeywordQuery, QueryTerms, packed};
use memory_engine_sql::filter;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    database::statement::Statement,
    keywords::lexeme::Owner,
    records::scopes::{self, CoveredScope, Tenants},
};
use memory_engine_sql::index_metadata::IndexMetadata;

/// The records within `scope` that hold a term of the query, ranked by the statistics of that scope.
pub(crate) async fn search(
    connection: &mut PgConnection,
    origin: &IndexMetadata,
    tenants: &Tenants,
    scope: &Scope,
    query: &KeywordQuery,
) -> Result<Vec<Hit>, PostgresError> {
    let wanted = QueryTerms::of(&query.clauses);
    let ask = async |reach: &CoveredScope, connection: &mut PgConnection| {
        let mut statement = Statement::default();
        count(reach, &mut statement);
        if !wanted.terms().is_empty() && query.limit > 0 {
            propose(reach, scope, query, &wanted, statement.push(" UNION ALL "));
        }
        read(statement.rows(connection).await?, &wanted)
    };
    let mut found = ask(&tenants.reach(scope), connection).await?;
    if !found.is_right {
        tenants.note_several();
        found = ask(&CoveredScope::of(scope), connection).await?;
    }
    let KeywordMatches { documents, made_by, candidates, .. } = found;
    origin.check(Index::Keywords, made_by.as_deref(), "keyword search")?;
    let ranked = Bm25::default().rank(documents, &query.clauses, &candidates, query.limit);
    Ok(ranked.into_iter().map(|(id, score)| Hit { id, score }).collect())
}

/// Writes the statement of a search.
pub(crate) fn write(scope: &Scope, query: &KeywordQuery, statement: &mut Statement) {
    let reach = CoveredScope::of(scope);
    count(&reach, statement);
    propose(&reach, scope, query, &QueryTerms::of(&query.clauses), statement.push(" UNION ALL "));
}

/// Begins the statement with one row: how many documents are within reach, what they were made by, and whether the
/// reach is the right one. One statement for this and for what is found is one way to the server less.
fn count(reach: &CoveredScope, statement: &mut Statement) {
    statement.push(
        "SELECT NULL::uuid AS id, NULL::bigint AS length, NULL::bytea AS terms, NULL::bytea AS counts,
                NULL::boolean AS admitted, coalesce(sum(a.documents), 0)::bigint AS documents,
                (SELECT o.made_by FROM origins o WHERE o.part = 'keywords') AS made_by, ",
    );
    reach.push_assumption_check(statement);
    statement.push(" AS is_right");
    reach.push_exact_scope("a", statement.push(" FROM addresses a WHERE "));
}

/// Goes on with all that may hold a term.
fn propose(
    reach: &CoveredScope,
    scope: &Scope,
    query: &KeywordQuery,
    wanted: &QueryTerms<'_>,
    statement: &mut Statement,
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
    reach.holds("d", statement);
    reach.push_assumption_check(statement.push(" AND "));
    let lexemes = Owner::of(scope).query(wanted.terms().iter().copied());
    statement.push(" AND d.lexemes @@ ").bind(lexemes).push("::tsquery");
}

/// The number of documents, the analyzer of the index, the check of the assumed tenant, and all records with a query
/// term. Lexemes propose records; the stored counts decide.
#[derive(Debug, Default)]
struct KeywordMatches {
    documents: u64,
    made_by: Option<String>,
    is_right: bool,
    candidates: Vec<Candidate<RecordId>>,
}

fn read(rows: Vec<PgRow>, wanted: &QueryTerms<'_>) -> Result<KeywordMatches, PostgresError> {
    let mut counts = vec![0; wanted.terms().len()];
    let mut found = KeywordMatches::default();
    for row in rows {
        let Some(id) = row.try_get::<Option<Uuid>, _>("id")? else {
            found.documents = u64::try_from(row.try_get::<i64, _>("documents")?).unwrap_or_default();
            found.made_by = row.try_get("made_by")?;
            found.is_right = row.try_get("is_right")?;
            continue;
        };
        if packed::count(row.try_get("terms")?, row.try_get("counts")?, wanted.terms(), &mut counts)? {
            found.candidates.push(Candidate {
                key: scopes::record_id(id),
                frequencies: wanted.frequencies(&counts),
                length: u32::try_from(row.try_get::<i64, _>("length")?).unwrap_or(u32::MAX),
                admitted: row.try_get("admitted")?,
            });
        }
    }
    Ok(found)
}
