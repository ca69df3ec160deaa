//! Fuzzy search by trigrams, for misspelled words.

use memory_engine_core::{Error, ErrorKind, Hit, Result, Scope, Score, text};
use memory_engine_sql::rows::sql_limit;
use sqlx::{Connection, PgConnection, Row};

use crate::{
    database::error::PostgresError, database::statement::Statement, database::transaction::with_reader,
    records::scopes, records::scopes::CoveredScope, store::PostgresStore,
};

/// Begins a transaction with a low similarity threshold. Chinese has no blanks, so `pg_trgm` treats a sentence as one
/// word, whose similarity to a word within it is far below one half.
const BEGIN_WITH_LOW_THRESHOLD: &str = "BEGIN READ ONLY; SET LOCAL pg_trgm.word_similarity_threshold = 0.3";

impl PostgresStore {
    /// Returns the active records within `scope` with a part that is spelled like `text`, at most `limit`, best first;
    /// equal scores are ordered by id. The score is `word_similarity` of `pg_trgm`, from 0 to 1, over trigrams of the
    /// normalised text.
    ///
    /// Finds misspelled names and split words, which the terms of the analyzer do not match. It ignores the frequencies
    /// of words, so it supplements the other searches and does not replace one.
    ///
    /// # Errors
    /// `Unsupported` if [`has_fuzzy_search`](Self::has_fuzzy_search) returns false.
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn fuzzy(&self, scope: &Scope, text: &str, limit: usize) -> Result<Vec<Hit>> {
        if !self.has_fuzzy_search() {
            let message = "the database has no pg_trgm, or its locale supports only ASCII letters; \
                           install the extension, or create the database with a UTF-8 locale";
            return Err(Error::new(ErrorKind::Unsupported, "fuzzy search", message));
        }
        let normalized = text::normalize(text);
        with_reader!(self, "fuzzy search", |connection| search(connection, scope, &normalized, limit).await)
    }
}

async fn search(
    connection: &mut PgConnection,
    scope: &Scope,
    normalized: &str,
    limit: usize,
) -> std::result::Result<Vec<Hit>, PostgresError> {
    let mut statement = Statement::default();
    push_search(scope, normalized, limit, &mut statement);
    let mut transaction = connection.begin_with(BEGIN_WITH_LOW_THRESHOLD).await?;
    let rows = statement.fetch_all(&mut transaction).await?;
    transaction.commit().await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(Hit { id: scopes::record_id(row.try_get("id")?), score: Score::new(row.try_get("similarity")?) })
    };
    rows.iter().map(read).collect()
}

/// Appends the statement of a search for a normalised text.
pub(crate) fn push_search(scope: &Scope, normalized: &str, limit: usize, statement: &mut Statement) {
    statement.push("SELECT r.id, word_similarity(").bind(normalized.to_owned());
    statement.push(", coalesce(r.folded, r.text))::double precision AS similarity FROM records r WHERE ");
    CoveredScope::of(scope).push_row_condition("r", statement);
    statement.push(" AND r.state = 'active' AND ").bind(normalized.to_owned()).push(" <% coalesce(r.folded, r.text)");
    statement.push(" ORDER BY similarity DESC, r.id LIMIT ").bind(sql_limit(limit));
}
