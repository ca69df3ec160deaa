//! The checks of values that SQL cannot read. Each reads its table once, page by page.

use std::collections::BTreeMap;

use memory_engine_core::{ContentHash, Finding, MultiVector, ProblemKind, Terms, packed_terms, text};
use memory_engine_sql::{embedding_versions::VectorTable, rows};
use memory_engine_synonyms::WordPair;
use sqlx::{AssertSqlSafe, PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::error::PostgresError,
    keywords::{keyword_rows, lexeme::LexemeOwner},
    rows::scopes,
};

/// Number of rows that are read at once.
const PAGE_ROWS: i64 = 1000;

/// Maximum number of wrong rows of a kind that are kept for their repair. A repair runs until there are none.
const MAX_WRONG_ROWS: usize = 1000;

/// Selects the users, with the columns of a scope. `$1` and `$2` are the last row of the previous page.
const NAMESPACES_SQL: &str =
    "SELECT n.namespace, n.namespace AS id, n.tenant, n.username, '' AS agent, '' AS session, '' AS branch
        FROM namespaces n
     WHERE (n.namespace, n.namespace) > ($1, $2) ORDER BY n.namespace LIMIT $3";

const ADDRESSES_SQL: &str = "SELECT a.namespace, a.scope AS id, n.tenant, n.username, a.agent, a.session, a.branch
     FROM scopes a JOIN namespaces n ON n.namespace = a.namespace
     WHERE (a.namespace, a.scope) > ($1, $2) ORDER BY a.namespace, a.scope LIMIT $3";

const RECORDS_SQL: &str = "SELECT r.namespace, r.id, r.text, r.folded, r.content_hash FROM records r
     WHERE (r.namespace, r.id) > ($1, $2) ORDER BY r.namespace, r.id LIMIT $3";

const KEYWORDS_SQL: &str =
    "SELECT k.namespace, k.id, n.tenant, n.username, k.length, k.terms, k.counts, k.lexemes::text AS lexemes,
            k.repeated_terms::text AS repeated_terms
     FROM keyword_documents k JOIN namespaces n ON n.namespace = k.namespace
     WHERE (k.namespace, k.id) > ($1, $2) ORDER BY k.namespace, k.id LIMIT $3";

/// The rows of one kind of problem.
#[derive(Debug, Default)]
pub(crate) struct WrongRows {
    count: u64,
    /// Keys of the first rows: namespace and id.
    pub(crate) keys: Vec<(Uuid, Uuid)>,
}

/// The wrong rows of all kinds, and of the token vectors of each table.
#[derive(Debug, Default)]
pub(crate) struct WrongContents {
    pub(crate) rows: BTreeMap<ProblemKind, WrongRows>,
    pub(crate) tokens: BTreeMap<&'static str, WrongRows>,
}

impl WrongRows {
    fn add(&mut self, key: (Uuid, Uuid)) {
        self.count += 1;
        if self.keys.len() < MAX_WRONG_ROWS {
            self.keys.push(key);
        }
    }

    fn finding(&self, kind: ProblemKind) -> Option<Finding> {
        let examples = self.keys.iter().take(Finding::MAX_EXAMPLES).map(|(_, id)| id.to_string());
        (self.count > 0).then(|| Finding::new(kind, self.count, examples))
    }
}

impl WrongContents {
    /// Reads the tables whose values SQL cannot read.
    pub(crate) async fn find(connection: &mut PgConnection) -> Result<Self, PostgresError> {
        let mut wrong = Self::default();
        for (sql, is_address) in [(NAMESPACES_SQL, false), (ADDRESSES_SQL, true)] {
            let check = |row: &PgRow| check_names(row, is_address);
            wrong.read(connection, sql, check).await?;
        }
        wrong.read(connection, RECORDS_SQL, check_hash).await?;
        wrong.read(connection, KEYWORDS_SQL, check_terms).await?;
        for table in VectorTable::ALL {
            wrong.read_tokens(connection, table.name()).await?;
        }
        wrong.read_verdicts(connection).await?;
        Ok(wrong)
    }

    /// Returns the findings of all kinds.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut tokens = WrongRows::default();
        for rows in self.tokens.values() {
            tokens.count += rows.count;
            tokens.keys.extend(&rows.keys);
        }
        let of_rows = self.rows.iter().filter_map(|(kind, rows)| rows.finding(*kind));
        of_rows.chain(tokens.finding(ProblemKind::TokenVectorsUnreadable)).collect()
    }

    async fn read(
        &mut self,
        connection: &mut PgConnection,
        sql: &'static str,
        check: impl Fn(&PgRow) -> Result<Option<ProblemKind>, PostgresError>,
    ) -> Result<(), PostgresError> {
        let mut last = (Uuid::nil(), Uuid::nil());
        loop {
            let page = sqlx::query(sql).bind(last.0).bind(last.1).bind(PAGE_ROWS).fetch_all(&mut *connection).await?;
            for row in &page {
                last = (row.try_get("namespace")?, row.try_get("id")?);
                if let Some(kind) = check(row)? {
                    self.rows.entry(kind).or_default().add(last);
                }
            }
            if (page.len() as i64) < PAGE_ROWS {
                return Ok(());
            }
        }
    }

    async fn read_tokens(&mut self, connection: &mut PgConnection, table: &'static str) -> Result<(), PostgresError> {
        let sql = format!(
            "SELECT v.namespace, v.id, v.tokens FROM {table} v
             WHERE (v.namespace, v.id) > ($1, $2) AND v.tokens IS NOT NULL ORDER BY v.namespace, v.id LIMIT $3"
        );
        let mut last = (Uuid::nil(), Uuid::nil());
        loop {
            let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(last.0).bind(last.1).bind(PAGE_ROWS);
            let page = query.fetch_all(&mut *connection).await?;
            for row in &page {
                last = (row.try_get("namespace")?, row.try_get("id")?);
                if MultiVector::from_bytes(row.try_get("tokens")?).is_err() {
                    self.tokens.entry(table).or_default().add(last);
                }
            }
            if (page.len() as i64) < PAGE_ROWS {
                return Ok(());
            }
        }
    }

    async fn read_verdicts(&mut self, connection: &mut PgConnection) -> Result<(), PostgresError> {
        let sql = "SELECT v.namespace, v.first, v.second FROM synonym_verdicts v
                   WHERE (v.namespace, v.first, v.second) > ($1, $2, $3)
                   ORDER BY v.namespace, v.first, v.second LIMIT $4";
        let mut last = (Uuid::nil(), String::new(), String::new());
        loop {
            let query = sqlx::query(sql).bind(last.0).bind(&last.1).bind(&last.2).bind(PAGE_ROWS);
            let page = query.fetch_all(&mut *connection).await?;
            for row in &page {
                last = (row.try_get("namespace")?, row.try_get("first")?, row.try_get("second")?);
                if WordPair::new(&last.1, &last.2).is_none() {
                    self.rows.entry(ProblemKind::VerdictUnreadable).or_default().add((last.0, last.0));
                }
            }
            if (page.len() as i64) < PAGE_ROWS {
                return Ok(());
            }
        }
    }
}

/// Checks that the names of a user or an address can be names, and that the id is their hash.
fn check_names(row: &PgRow, is_address: bool) -> Result<Option<ProblemKind>, PostgresError> {
    let Ok(scope) = scopes::read(row) else { return Ok(Some(ProblemKind::ScopeNameInvalid)) };
    let expected = if is_address { scopes::address(&scope) } else { scopes::namespace(&scope) };
    let id: Uuid = row.try_get("id")?;
    Ok((id != expected).then_some(ProblemKind::ScopeIdWrong))
}

/// Checks that the content hash and the folded text of a record belong to its text.
fn check_hash(row: &PgRow) -> Result<Option<ProblemKind>, PostgresError> {
    let stored: (Option<&str>, &[u8]) = (row.try_get("folded")?, row.try_get("content_hash")?);
    let expected = hash_and_folded_text(row.try_get("text")?);
    let is_right = stored.0 == expected.1.as_deref() && stored.1 == expected.0.as_bytes();
    Ok((!is_right).then_some(ProblemKind::RecordHashWrong))
}

/// Returns the content hash of a text, and its folded form unless that is the text itself.
pub(crate) fn hash_and_folded_text(text: &str) -> (ContentHash, Option<String>) {
    let folded = text::normalize(text);
    (ContentHash::of(text), (folded != text).then_some(folded))
}

/// Checks that the terms of a record can be read, that their number is its length, and that the lexemes and the
/// repeated terms are theirs.
fn check_terms(row: &PgRow) -> Result<Option<ProblemKind>, PostgresError> {
    let unreadable = Ok(Some(ProblemKind::KeywordTermsUnreadable));
    let Ok(words) = std::str::from_utf8(row.try_get("terms")?) else { return unreadable };
    let mut terms = Terms::default();
    let mut pairs = Vec::new();
    let mut length = 0;
    for pair in packed_terms::pairs(words, row.try_get("counts")?) {
        let Ok((term, count)) = pair else { return unreadable };
        pairs.push((term, count));
        // The lexemes do not depend on the counts.
        terms.extend([term]);
        length += i64::from(count);
    }
    if row.try_get::<i64, _>("length")? != length {
        return Ok(Some(ProblemKind::KeywordLengthWrong));
    }
    // An invalid name is another finding.
    let Ok(owner) = rows::scope([row.try_get("tenant")?, row.try_get("username")?, "", "", ""]) else {
        return Ok(None);
    };
    let expected = LexemeOwner::of_address(&owner).vector(&terms);
    let has_same = sorted_lexemes(row.try_get("lexemes")?) == sorted_lexemes(&expected);
    let expected = keyword_rows::repeated_terms(pairs.into_iter());
    let has_same_repeated_terms = json_value(row.try_get("repeated_terms")?) == json_value(expected.as_deref());
    Ok((!has_same || !has_same_repeated_terms).then_some(ProblemKind::KeywordLexemesWrong))
}

fn json_value(json: Option<&str>) -> Option<serde_json::Value> {
    json.and_then(|json| serde_json::from_str(json).ok())
}

/// Returns the lexemes of the text of a `tsvector` without positions, sorted, each once, as they are quoted.
fn sorted_lexemes(vector: &str) -> Vec<&str> {
    let vector = vector.trim();
    let inner = vector.strip_prefix('\'').and_then(|vector| vector.strip_suffix('\'')).unwrap_or(vector);
    let mut lexemes: Vec<&str> = inner.split("' '").collect();
    lexemes.sort_unstable();
    lexemes.dedup();
    lexemes
}

#[cfg(test)]
mod tests {
    use memory_engine_core::Scope;

    use super::*;

    #[test]
    fn lexemes_are_compared_as_a_set() {
        assert_eq!(sorted_lexemes("'b' 'a' 'it''s' "), ["a", "b", "it''s"]);
        let terms: Terms = ["docker", "it's", "海鲜", "\\"].into_iter().collect();
        let vector = LexemeOwner::of_address(&Scope::user("lin").unwrap()).vector(&terms);
        assert_eq!(sorted_lexemes(&vector).len(), 4);
        assert_eq!(sorted_lexemes(""), [""]);
    }

    #[test]
    fn only_the_first_wrong_rows_are_kept() {
        let mut rows = WrongRows::default();
        (0..1200).for_each(|number| rows.add((Uuid::nil(), Uuid::from_u128(number))));
        assert_eq!((rows.count, rows.keys.len()), (1200, MAX_WRONG_ROWS));
        assert_eq!(rows.finding(ProblemKind::RecordHashWrong).unwrap().examples.len(), Finding::MAX_EXAMPLES);
    }
}
