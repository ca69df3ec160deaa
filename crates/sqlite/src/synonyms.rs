//! The rows of synonyms: groups of synonyms and verdicts on pairs of words.

use memory_engine_core::{Scope, phrases::fold};
use memory_engine_synonyms::{PairVerdict, SynonymGroup, WordPair};
use rusqlite::{Connection, params};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::scopes::{self, CoveredScope},
};

pub(crate) fn list(connection: &Connection, scope: &Scope) -> Result<Vec<SynonymGroup>, SqliteError> {
    let Some(namespace) = scopes::namespace(connection, scope)? else { return Ok(Vec::new()) };
    let mut statement =
        connection.prepare_cached("SELECT term, members, category FROM synonym_groups WHERE namespace = ?1")?;
    let mut rows = statement.query([namespace])?;
    let mut groups = Vec::new();
    while let Some(row) = rows.next()? {
        // The health check reports a group that cannot be read.
        let members = row.get_ref("members")?.as_bytes().ok().and_then(|members| serde_json::from_slice(members).ok());
        if let (Ok(term), Some(members), Ok(category)) = (row.get("term"), members, row.get("category")) {
            groups.push(SynonymGroup { term, members, category });
        }
    }
    groups.sort_by_cached_key(SynonymGroup::key);
    Ok(groups)
}

/// Stores the groups. Returns true if an earlier group was replaced.
pub(crate) fn put(connection: &Connection, scope: &Scope, groups: &[SynonymGroup]) -> Result<bool, SqliteError> {
    let namespace = scopes::get_or_create(connection, scope)?.namespace;
    let mut replaced = false;
    for group in groups {
        replaced |= remove(connection, namespace, &group.key())? > 0;
        let members = serde_json::Value::from(group.members.as_slice()).to_string();
        connection
            .prepare_cached("INSERT INTO synonym_groups (namespace, term, members, category) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![namespace, group.term, members, group.category])?;
    }
    Ok(replaced)
}

/// Removes the groups whose terms fold to `key`. Terms are stored as they were spelled, so every term is read. Returns
/// 1 if there was one, else 0.
pub(crate) fn remove(connection: &Connection, namespace: i64, key: &str) -> Result<u64, SqliteError> {
    let mut statement = connection.prepare_cached("SELECT term FROM synonym_groups WHERE namespace = ?1")?;
    let terms = statement.query_map([namespace], |row| row.get::<_, String>(0))?;
    let mut removed = 0;
    for term in terms.collect::<rusqlite::Result<Vec<_>>>()? {
        if fold(&term) == key {
            connection
                .prepare_cached("DELETE FROM synonym_groups WHERE namespace = ?1 AND term = ?2")?
                .execute(params![namespace, term])?;
            removed = 1;
        }
    }
    Ok(removed)
}

pub(crate) fn verdicts(connection: &Connection, scope: &Scope) -> Result<Vec<PairVerdict>, SqliteError> {
    let Some(namespace) = scopes::namespace(connection, scope)? else { return Ok(Vec::new()) };
    let mut statement = connection.prepare_cached(
        "SELECT first, second, accepted FROM synonym_verdicts WHERE namespace = ?1 ORDER BY first, second",
    )?;
    let mut rows = statement.query([namespace])?;
    let mut verdicts = Vec::new();
    while let Some(row) = rows.next()? {
        // The health check reports a verdict that cannot be read.
        let words = row.get_ref("first")?.as_str().ok().zip(row.get_ref("second")?.as_str().ok());
        if let Some(pair) = words.and_then(|(first, second)| WordPair::new(first, second)) {
            verdicts.push(PairVerdict { pair, accepted: row.get("accepted")? });
        }
    }
    Ok(verdicts)
}

pub(crate) fn judge(connection: &Connection, scope: &Scope, verdicts: &[PairVerdict]) -> Result<(), SqliteError> {
    let namespace = scopes::get_or_create(connection, scope)?.namespace;
    for PairVerdict { pair, accepted } in verdicts {
        connection
            .prepare_cached(
                "INSERT INTO synonym_verdicts (namespace, first, second, accepted) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET accepted = excluded.accepted",
            )?
            .execute(params![namespace, pair.first(), pair.second(), accepted])?;
    }
    Ok(())
}

/// Removes all groups and verdicts of the covered namespaces. Returns their number.
pub(crate) fn clear(connection: &Connection, covered: &CoveredScope) -> Result<u64, SqliteError> {
    let mut removed = 0;
    for table in ["DELETE FROM synonym_groups WHERE ", "DELETE FROM synonym_verdicts WHERE "] {
        let mut statement = Statement::new(table);
        covered.push_namespace_condition("namespace", &mut statement);
        removed += statement.execute(connection)?;
    }
    Ok(removed as u64)
}
