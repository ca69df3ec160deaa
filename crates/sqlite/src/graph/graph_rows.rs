//! The rows of the graph: mentions, aliases and edges, each from one record.

use memory_engine_core::{RecordId, RemovalCounts, RuleId};
use memory_engine_graph::{GraphEntry, GraphRows, GraphStats};
use rusqlite::{Connection, params};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::{
        row,
        scopes::{self, CoveredScope, RecordAddress},
    },
};

/// Removes the graph rows of a record. Returns the number of removed rows of each type.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<RemovalCounts, SqliteError> {
    let delete = |sql: &str| Ok::<u64, SqliteError>(connection.prepare_cached(sql)?.execute([row])? as u64);
    let mut removed = RemovalCounts::default();
    removed.relations = delete("DELETE FROM graph_edges WHERE record = ?1")?;
    removed.aliases = delete("DELETE FROM graph_aliases WHERE record = ?1")?;
    removed.mentions = delete("DELETE FROM graph_entities WHERE record = ?1")?;
    Ok(removed)
}

/// Stores the graph rows of the entries. An entry is skipped if its record was deleted, moved or written again since.
/// Returns true if earlier rows were replaced.
pub(crate) fn upsert(connection: &Connection, entries: &[GraphEntry]) -> Result<bool, SqliteError> {
    let mut replaced = false;
    for entry in entries {
        let address = scopes::get_or_create(connection, &entry.record.scope)?;
        let Some(current) = row::current(connection, address.namespace, entry.record.id)? else { continue };
        if current.matches(&entry.record, address) {
            replaced |= remove(connection, current.row)? != RemovalCounts::default();
            insert(connection, current.row, address, &GraphRows::of(entry))?;
        }
    }
    Ok(replaced)
}

fn insert(connection: &Connection, row: i64, address: RecordAddress, rows: &GraphRows) -> Result<(), SqliteError> {
    for mention in &rows.mentions {
        let sql = "INSERT INTO graph_entities (record, entity, scope, name, kind) VALUES (?1, ?2, ?3, ?4, ?5)";
        let entity = mention.entity.as_bytes();
        let kind = mention.kind.as_str();
        connection.prepare_cached(sql)?.execute(params![row, entity, address.scope, mention.name, kind])?;
    }
    for alias in &rows.aliases {
        let sql = "INSERT INTO graph_aliases (record, entity, alias, scope, name) VALUES (?1, ?2, ?3, ?4, ?5)";
        let entity = alias.entity.as_bytes();
        let alias_entity = alias.alias.as_bytes();
        connection.prepare_cached(sql)?.execute(params![row, entity, alias_entity, address.scope, alias.name])?;
    }
    for edge in &rows.edges {
        let sql = "INSERT INTO graph_edges (record, source, relation, target, scope, valid_from, valid_until, rule)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        connection.prepare_cached(sql)?.execute(params![
            row,
            edge.source.as_bytes(),
            edge.relation,
            edge.target.as_bytes(),
            address.scope,
            edge.valid_from.map(|time| time.as_micros()),
            edge.valid_until.map(|time| time.as_micros()),
            edge.rule.as_ref().map(RuleId::as_str),
        ])?;
    }
    Ok(())
}

/// Removes the graph rows of those of these records that the scope covers. Returns the number of removed rows of each
/// type.
pub(crate) fn delete(
    connection: &Connection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<RemovalCounts, SqliteError> {
    let mut removed = RemovalCounts::default();
    for id in ids {
        for row in row::find_rows(connection, covered, *id)? {
            removed += remove(connection, row)?;
        }
    }
    Ok(removed)
}

/// Removes all graph rows in the covered scope. Returns true if there were any.
pub(crate) fn clear(connection: &Connection, covered: &CoveredScope) -> Result<bool, SqliteError> {
    let mut removed = 0;
    for table in [
        "DELETE FROM graph_edges WHERE scope IN (SELECT s.scope FROM scopes s WHERE ",
        "DELETE FROM graph_aliases WHERE scope IN (SELECT s.scope FROM scopes s WHERE ",
        "DELETE FROM graph_entities WHERE scope IN (SELECT s.scope FROM scopes s WHERE ",
    ] {
        let mut statement = Statement::new(table);
        covered.push_scope_condition(&mut statement);
        statement.push(")");
        removed += statement.execute(connection)?;
    }
    Ok(removed > 0)
}

/// Counts the distinct entities, edges and records of the graph in the covered scope.
pub(crate) fn stats(connection: &Connection, covered: &CoveredScope) -> Result<GraphStats, SqliteError> {
    let count = |sql: &'static str, suffix: &'static str| -> Result<u64, SqliteError> {
        let mut statement = Statement::new(sql);
        covered.push_scope_condition(&mut statement);
        statement.push(suffix);
        Ok(statement.read_value(connection)?)
    };
    let entities =
        "SELECT count(DISTINCT g.entity) FROM graph_entities g CROSS JOIN scopes s ON s.scope = g.scope WHERE ";
    let records =
        "SELECT count(DISTINCT g.record) FROM graph_entities g CROSS JOIN scopes s ON s.scope = g.scope WHERE ";
    let edges = "SELECT count(*) FROM (SELECT DISTINCT g.source, g.relation, g.target
                 FROM graph_edges g CROSS JOIN scopes s ON s.scope = g.scope WHERE ";
    Ok(GraphStats::new(count(entities, "")?, count(edges, ")")?, count(records, "")?))
}
