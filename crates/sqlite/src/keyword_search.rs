//! Searching the terms.

use memory_core::{Hit, RecordId, Scope};
use memory_keyword_store::{Bm25, Candidate, KeywordQuery, Wanted, packed};
use rusqlite::{Connection, types::Value};

use crate::{
    directory::Directory, failure::Failure, filter_sql, keyword_index::KeywordIndex, keywords::Owner, scopes::Reach,
    statement::Statement,
};

/// The records within `scope` that hold a term of the query, ranked by the statistics of that scope.
pub(crate) fn search(
    connection: &Connection,
    index: &KeywordIndex,
    directory: &Directory,
    scope: &Scope,
    query: &KeywordQuery,
) -> Result<Vec<Hit>, Failure> {
    let wanted = Wanted::of(&query.clauses);
    if wanted.terms().is_empty() || query.limit == 0 {
        return Ok(Vec::new());
    }
    let Some(reach) = Reach::of(connection, scope)? else { return Ok(Vec::new()) };
    if index.is_asked_again(&reach) {
        return index.search(connection, directory, &reach, query);
    }
    let candidates = candidates(connection, &reach, query, &wanted)?;
    let documents = documents(connection, &reach)?;
    let ranked = Bm25::default().rank(documents, &query.clauses, &candidates, query.limit);
    Ok(ranked.into_iter().map(|(id, score)| Hit { id, score }).collect())
}

/// The expression for FTS5: any of the terms, of whoever the scope reaches, in the conversation that it sets.
fn expression(wanted: &Wanted<'_>, reach: &Reach) -> String {
    let owner = Owner::of(reach);
    let quote = if owner.is_open() { "\" *" } else { "\"" };
    let mut expression = String::new();
    for (dimension, name) in reach.below() {
        expression.push('"');
        owner.dimension(dimension, name, &mut expression);
        expression.push_str(quote);
        expression.push_str(" AND ");
    }
    for (i, term) in wanted.terms().iter().enumerate() {
        expression.push_str(if i > 0 { " OR \"" } else { "(\"" });
        owner.term(term, &mut expression);
        expression.push_str(quote);
    }
    expression.push(')');
    expression
}

/// All records within reach that hold a term: FTS5 proposes, the scope's columns and the stored counts decide.
fn candidates(
    connection: &Connection,
    reach: &Reach,
    query: &KeywordQuery,
    wanted: &Wanted<'_>,
) -> Result<Vec<Candidate<RecordId>>, Failure> {
    let mut statement = Statement::new("SELECT d.id, d.length, d.terms, d.counts, ");
    match &query.filter {
        None => drop(statement.push("1")),
        Some(filter) => filter_sql::write(filter, &mut statement),
    }
    statement.push(
        " FROM keyword_tokens f CROSS JOIN keyword_documents d ON d.record = f.rowid
          CROSS JOIN scopes s ON s.scope = d.scope",
    );
    if query.filter.is_some() {
        statement.push(" CROSS JOIN records r ON r.record = d.record");
    }
    statement.push(" WHERE keyword_tokens MATCH ").bind(Value::Text(expression(wanted, reach))).push(" AND ");
    reach.covers(&mut statement);
    let (mut prepared, values) = statement.prepare(connection)?;
    let mut rows = prepared.query(values)?;
    let mut counts = vec![0; wanted.terms().len()];
    let mut candidates = Vec::new();
    while let Some(row) = rows.next()? {
        let words = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        let packed = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
        if packed::count(words, packed, wanted.terms(), &mut counts)? {
            candidates.push(Candidate {
                key: RecordId::from_bytes(row.get(0)?),
                frequencies: wanted.frequencies(&counts),
                length: row.get(1)?,
                admitted: row.get(4)?,
            });
        }
    }
    Ok(candidates)
}

/// How many documents are within reach.
fn documents(connection: &Connection, reach: &Reach) -> Result<u64, Failure> {
    let mut statement = Statement::new("SELECT coalesce(sum(s.documents), 0) FROM scopes s WHERE ");
    reach.scopes(&mut statement);
    let (mut prepared, values) = statement.prepare(connection)?;
    Ok(prepared.query_row(values, |row| row.get(0))?)
}
