//! Keyword search: the server selects the records that may be hits, and [`Bm25`] ranks them by their stored term
//! counts.

use memory_engine_core::{DamagedRecord, FoundRecord, Hit, Index, RecordId, Scope, packed_terms};
use memory_engine_keyword_store::{Bm25, Bm25Candidate, DistinctTerms, KeywordQuery};
use memory_engine_sql::index_metadata::IndexMetadata;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    keywords::{
        keyword_rows,
        keyword_statement::{KeywordStatement, Selection},
    },
    rows::{
        remembered_scopes::RememberedScopes,
        scopes::{self, CoveredScope, Tenants},
    },
};

/// The state that the searches of a store share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeywordIndex<'s> {
    pub(crate) metadata: &'s IndexMetadata,
    pub(crate) tenants: &'s Tenants,
    /// Scopes in which a query term was in many records.
    pub(crate) large_scopes: &'s RememberedScopes,
    /// Scopes with a record whose terms the server cannot count.
    pub(crate) uncounted_scopes: &'s RememberedScopes,
}

/// Returns the best records within `scope` for a query, ranked with the statistics of that scope.
pub(crate) async fn search(
    connection: &mut PgConnection,
    index: KeywordIndex<'_>,
    scope: &Scope,
    query: &KeywordQuery,
) -> Result<Vec<Hit>, PostgresError> {
    let query_terms = DistinctTerms::of(&query.clauses);
    let statement = KeywordStatement { scope, query, query_terms: &query_terms, reads_records: false };
    let ranked = find(connection, index, &statement).await?;
    Ok(ranked.into_iter().map(|(hit, _)| hit).collect())
}

/// As [`search`], with the records of the hits and their terms.
pub(crate) async fn search_records(
    connection: &mut PgConnection,
    index: KeywordIndex<'_>,
    scope: &Scope,
    query: &KeywordQuery,
) -> Result<Vec<FoundRecord>, PostgresError> {
    let query_terms = DistinctTerms::of(&query.clauses);
    let statement = KeywordStatement { scope, query, query_terms: &query_terms, reads_records: true };
    let ranked = find(connection, index, &statement).await?;
    Ok(ranked.iter().filter_map(|(hit, row)| keyword_rows::read_found(*hit, row)).collect())
}

/// Appends the statement of a search, for its query plan.
pub(crate) fn push_search(scope: &Scope, query: &KeywordQuery, statement: &mut StatementBuilder) {
    let query_terms = DistinctTerms::of(&query.clauses);
    let search = KeywordStatement { scope, query, query_terms: &query_terms, reads_records: false };
    search.push(search.initial_selection(), &CoveredScope::of(scope), statement);
}

/// Returns the best records, best first, each with its row.
async fn find(
    connection: &mut PgConnection,
    index: KeywordIndex<'_>,
    statement: &KeywordStatement<'_>,
) -> Result<Vec<(Hit, PgRow)>, PostgresError> {
    let mut covered = index.tenants.assumed_cover(statement.scope);
    let mut selection = statement.initial_selection();
    if selection == Selection::Few && index.large_scopes.count_search(statement.scope) {
        selection = Selection::Best;
    }
    if selection == Selection::Best && index.uncounted_scopes.count_search(statement.scope) {
        selection = Selection::All;
    }
    loop {
        let found = run(connection, statement, selection, &covered).await?;
        if !found.is_scope_correct {
            index.tenants.set_several();
            covered = CoveredScope::of(statement.scope);
            continue;
        }
        index.metadata.check(Index::Keywords, found.made_by.as_deref(), "keyword search")?;
        if found.has_all_hits(selection, statement) {
            return found.rank(statement);
        }
        if selection == Selection::Best && found.has_uncounted(statement) {
            index.uncounted_scopes.insert(statement.scope);
        }
        selection = match selection {
            Selection::Few => {
                index.large_scopes.insert(statement.scope);
                Selection::Best
            }
            Selection::Nothing | Selection::All | Selection::Best => Selection::All,
        };
    }
}

async fn run(
    connection: &mut PgConnection,
    statement: &KeywordStatement<'_>,
    selection: Selection,
    covered: &CoveredScope,
) -> Result<FoundRows, PostgresError> {
    let mut builder = StatementBuilder::default();
    statement.push(selection, covered, &mut builder);
    FoundRows::read(builder.fetch_all(connection).await?)
}

/// The result of a statement.
#[derive(Debug, Default)]
struct FoundRows {
    /// Number of documents within the searched scope.
    documents: u64,
    /// The analyzer that made the index.
    made_by: Option<String>,
    is_scope_correct: bool,
    /// The number of records with each clause, and at the end the number of records that the server cannot rank.
    document_frequencies: Vec<u64>,
    /// Number of records with a query term, counted up to one more than the maximum of rows; `None` if not counted.
    matches: Option<u64>,
    /// True if the rows are the best by the estimates of the server, and not all records with a query term.
    has_estimates: bool,
    rows: Vec<PgRow>,
}

impl FoundRows {
    fn read(rows: Vec<PgRow>) -> Result<Self, PostgresError> {
        let unsigned = |number: i64| u64::try_from(number).unwrap_or_default();
        let mut found = Self::default();
        if let Some(row) = rows.first() {
            found.documents = unsigned(row.try_get("documents")?);
            found.made_by = row.try_get("made_by")?;
            found.is_scope_correct = row.try_get("is_scope_correct")?;
            found.matches = row.try_get::<Option<i64>, _>("matches")?.map(unsigned);
            let frequencies: Option<Vec<i64>> = row.try_get("document_frequencies")?;
            found.document_frequencies = frequencies.unwrap_or_default().into_iter().map(unsigned).collect();
        }
        for row in rows {
            if row.try_get::<Option<Uuid>, _>("id")?.is_none() {
                continue;
            }
            found.has_estimates |= row.try_get::<Option<f64>, _>("estimate")?.is_some();
            found.rows.push(row);
        }
        Ok(found)
    }

    /// Returns true if the server found records in the scope whose terms it cannot count.
    fn has_uncounted(&self, statement: &KeywordStatement<'_>) -> bool {
        self.document_frequencies.get(statement.query.clauses.len()).is_some_and(|count| *count > 0)
    }

    /// Returns true if the rows contain every hit.
    fn has_all_hits(&self, selection: Selection, statement: &KeywordStatement<'_>) -> bool {
        let max_records = statement.max_records(selection);
        let has_more = match self.matches {
            Some(matches) => matches > max_records as u64,
            // Other records may be as good as the last hit.
            None => self.has_estimates && self.rows.len() >= max_records,
        };
        !self.has_uncounted(statement) && !has_more
    }

    /// Returns the hits, best first, each with its row.
    fn rank(self, statement: &KeywordStatement<'_>) -> Result<Vec<(Hit, PgRow)>, PostgresError> {
        let KeywordStatement { query, query_terms, .. } = statement;
        let mut counts = vec![0; query_terms.terms().len()];
        let mut candidates: Vec<Bm25Candidate<(RecordId, usize)>> = Vec::with_capacity(self.rows.len());
        for (number, row) in self.rows.iter().enumerate() {
            let (terms, packed_counts) = (row.try_get("terms")?, row.try_get("counts")?);
            let id = scopes::record_id(row.try_get("id")?);
            // Lexemes only propose records; the stored counts decide.
            let Ok(contains_any) = packed_terms::count(terms, packed_counts, query_terms.terms(), &mut counts) else {
                DamagedRecord::new(id, "keyword_documents", "counts").warn();
                continue;
            };
            if contains_any {
                candidates.push(Bm25Candidate {
                    // Two users of a tenant may have the same id.
                    key: (id, number),
                    frequencies: query_terms.frequencies(&counts),
                    length: u32::try_from(row.try_get::<i64, _>("length")?).unwrap_or(u32::MAX),
                    admitted: row.try_get("admitted")?,
                });
            }
        }
        let bm25 = Bm25::default();
        let ranked = match self.document_frequencies.get(..query.clauses.len()) {
            Some(frequencies) if self.has_estimates => {
                bm25.rank_best(self.documents, &query.clauses, frequencies, &candidates, query.limit)
            }
            _ => bm25.rank(self.documents, &query.clauses, &candidates, query.limit),
        };
        let mut rows: Vec<Option<PgRow>> = self.rows.into_iter().map(Some).collect();
        let with_row = |((id, number), score): ((RecordId, usize), _)| Some((Hit { id, score }, rows[number].take()?));
        Ok(ranked.into_iter().filter_map(with_row).collect())
    }
}
