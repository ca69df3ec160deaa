//! Query plans of the server, for tests and diagnosis.

use memory_engine_core::{Result, ScanQuery, Scope};
use memory_engine_keyword_store::KeywordQuery;
use memory_engine_vector_store::VectorQuery;
use sqlx::Row;

use crate::{
    database::error::PostgresError, database::statement::StatementBuilder, database::transaction::with_reader,
    keywords::keyword_search, records::scan, store::PostgresStore, vectors::vector_search,
};

/// A lookup whose query plan [`PostgresStore::explain`] returns.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Lookup<'q> {
    /// A page of records.
    Scan(&'q ScanQuery),
    /// Records that share terms with a query.
    Keywords(&'q KeywordQuery),
    /// Records whose vectors are near a vector.
    Vectors(&'q VectorQuery),
}

impl PostgresStore {
    /// Returns the query plan of the server for a lookup, line by line: the indexes that it uses, and the partitions
    /// that it reads. For administration; the wording is that of the server.
    ///
    /// # Errors
    /// Those of the lookup.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn explain(&self, scope: &Scope, lookup: Lookup<'_>) -> Result<String> {
        with_reader!(self, "explain", |connection| {
            let mut statement = StatementBuilder::new("EXPLAIN (COSTS OFF) ");
            match lookup {
                Lookup::Scan(query) => scan::push_scan(scope, query, &mut statement),
                Lookup::Keywords(query) => keyword_search::push_search(scope, query, &mut statement),
                Lookup::Vectors(query) => {
                    vector_search::push_search(connection, self.metadata(), self.index(), scope, query, &mut statement)
                        .await?;
                }
            }
            let rows = statement.fetch_all(connection).await?;
            let lines =
                rows.iter().map(|row| Ok(row.try_get::<String, _>(0)?)).collect::<Result<Vec<_>, PostgresError>>();
            lines.map(|lines| lines.join("\n"))
        })
    }
}
