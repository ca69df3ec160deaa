//! Query plans of the server, for tests and diagnosis.

use memory_engine_core::{Result, ScanQuery, Scope, text};
use memory_engine_keyword_store::KeywordQuery;
use memory_engine_vector_store::VectorQuery;
use sqlx::Row;

use crate::{
    database::error::PostgresError, database::statement::Statement, database::transaction::reading, keywords::fuzzy,
    keywords::keyword_search, records::scan, store::PostgresStore, vectors::vector_search,
};

/// Something to be looked up, to be explained.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Lookup<'q> {
    /// A page of records.
    Scan(&'q ScanQuery),
    /// Records that share terms with a query.
    Keywords(&'q KeywordQuery),
    /// Records whose vectors are near a vector.
    Vectors(&'q VectorQuery),
    /// Records whose text is similar to a text, by trigrams.
    Fuzzy(&'q str),
}

impl PostgresStore {
    /// The server's plan for a lookup, line by line: which indexes it uses, and which partitions it looks into. For
    /// those who tend a database; the wording is the server's.
    ///
    /// # Errors
    /// Those of the lookup.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn explain(&self, scope: &Scope, lookup: Lookup<'_>) -> Result<String> {
        reading!(self, "explain", |connection| {
            let mut statement = Statement::new("EXPLAIN (COSTS OFF) ");
            match lookup {
                Lookup::Scan(query) => scan::write(scope, query, &mut statement),
                Lookup::Keywords(query) => keyword_search::write(scope, query, &mut statement),
                Lookup::Fuzzy(text) => fuzzy::write(scope, &text::normalize(text), 10, &mut statement),
                Lookup::Vectors(query) => {
                    vector_search::explained(connection, self.origin(), self.index(), scope, query, &mut statement)
                        .await?;
                }
            }
            let rows = statement.rows(connection).await?;
            let lines =
                rows.iter().map(|row| Ok(row.try_get::<String, _>(0)?)).collect::<Result<Vec<_>, PostgresError>>();
            lines.map(|lines| lines.join("\n"))
        })
    }
}
