//! Finding what is misspelled.

use memory_engine_core::{Error, ErrorKind, Hit, Result, Scope, Score, text};
use memory_engine_sql::rows::sql_limit;
use sqlx::{Connection, PgConnection, Row};

use crate::{
    database::error::PostgresError, database::statement::Statement, database::transaction::reading, records::scopes,
    records::scopes::CoveredScope, store::PostgresStore,
};

/// Chinese has no blanks: to `pg_trgm` a sentence is one word, and a word within it is far less like it than half.
const BEGIN: &str = "BEGIN READ ONLY; SET LOCAL pg_trgm.word_similarity_threshold = 0.3";

impl PostgresStore {
    /// The active records within `scope` of which a part is spelled much like `text`: best first, equal ones by id, at
    /// most `limit`. The score is `pg_trgm`'s `word_similarity`: 0 to 1, over trigrams of the folded text.
    ///
    /// It finds what the analyzer's terms do not: misspelled names, words cut in two. It knows nothing of how rare a
    /// word is, so it supplements the other searches rather than replaces one.
    ///
    /// # Errors
    /// `Unsupported` where [`is_fuzzy`](Self::is_fuzzy) says no.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn fuzzy(&self, scope: &Scope, text: &str, limit: usize) -> Result<Vec<Hit>> {
        if !self.is_fuzzy() {
            let message = "the database has no pg_trgm, or its locale knows ASCII letters only; \
                           install the extension, or make the database with a UTF-8 locale";
            return Err(Error::new(ErrorKind::Unsupported, "fuzzy search", message));
        }
        let wanted = text::normalize(text);
        reading!(self, "fuzzy search", |connection| search(connection, scope, &wanted, limit).await)
    }
}

async fn search(
    connection: &mut PgConnection,
    scope: &Scope,
    wanted: &str,
    limit: usize,
) -> std::result::Result<Vec<Hit>, PostgresError> {
    let mut statement = Statement::default();
    write(scope, wanted, limit, &mut statement);
    let mut transaction = connection.begin_with(BEGIN).await?;
    let rows = statement.rows(&mut transaction).await?;
    transaction.commit().await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(Hit { id: scopes::record_id(row.try_get("id")?), score: Score::new(row.try_get("likeness")?) })
    };
    rows.iter().map(read).collect()
}

/// Writes the statement that finds what is spelled much like `wanted`, which is folded.
pub(crate) fn write(scope: &Scope, wanted: &str, limit: usize, statement: &mut Statement) {
    statement.push("SELECT r.id, word_similarity(").bind(wanted.to_owned());
    statement.push(", coalesce(r.folded, r.text))::double precision AS likeness FROM records r WHERE ");
    CoveredScope::of(scope).holds("r", statement);
    statement.push(" AND r.state = 'active' AND ").bind(wanted.to_owned()).push(" <% coalesce(r.folded, r.text)");
    statement.push(" ORDER BY likeness DESC, r.id LIMIT ").bind(sql_limit(limit));
}
