//! The rows of what records say about entities and relations.

use memory_engine_core::{RecordId, RemovalCounts, RuleId};
use memory_engine_graph::{GraphEntry, GraphStats, Rows};
use rusqlite::{Connection, params};

use crate::{
    database::{error::SqliteError, statement::Statement},
    records::{
        row,
        scopes::{self, CoveredScope, RecordAddress},
    },
};

/// Removes what a record says, and counts it.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<RemovalCounts, SqliteError> {
    let empty = |sql: &str| Ok::<u64, SqliteError>(connection.prepare_cached(sql)?.execute([row])? as u64);
    let mut removed = RemovalCounts::default();
    removed.relations = empty("DELETE FROM graph_edges WHERE record = ?1")?;
    removed.aliases = empty("DELETE FROM graph_aliases WHERE record = ?1")?;
    removed.mentions = empty("DELETE FROM graph_entities WHERE record = ?1")?;
    Ok(removed)
}

/// Stores what the records say, if they are still as the entries have them. Returns true if something was replaced.
pub(crate) fn upsert(connection: &Connection, entries: &[GraphEntry]) -> Result<bool, SqliteError> {
    let mut replaced = false;
    for entry in entries {
        let place = scopes::settle(connection, &entry.record.scope)?;
        let Some(current) = row::current(connection, place.namespace, entry.record.id)? else { continue };
        if current.is(&entry.record, place) {
            replaced |= remove(connection, current.row)? != RemovalCounts::default();
            insert(connection, current.row, place, &Rows::of(entry))?;
        }
    }
    Ok(replaced)
}

fn insert(connection: &Connection, row: i64, place: RecordAddress, rows: &Rows) -> Result<(), SqliteError> {
    for mention in &rows.mentions {
        let sql = "INSERT INTO graph_entities (record, entity, scope, name, kind) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (entity, kind) = (mention.entity.as_bytes(), mention.kind.as_str());
        connection.prepare_cached(sql)?.execute(params![row, entity, place.scope, mention.name, kind])?;
    }
    for alias in &rows.aliases {
        let sql = "INSERT INTO graph_aliases (record, entity, alias, scope, name) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (entity, other) = (alias.entity.as_bytes(), alias.alias.as_bytes());
        connection.prepare_cached(sql)?.execute(params![row, entity, other, place.scope, alias.name])?;
    }
    for edge in &rows.edges {
        let sql = "INSERT INTO graph_edges (record, source, relation, target, scope, valid_from, valid_until, rule)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        connection.prepare_cached(sql)?.execute(params![
            row,
            edge.source.as_bytes(),
            edge.relation,
            edge.target.as_bytes(),
            place.scope,
            edge.valid_from.map(|time| time.as_micros()),
            edge.valid_until.map(|time| time.as_micros()),
            edge.rule.as_ref().map(RuleId::as_str),
        ])?;
    }
    Ok(())
}

/// Removes what these records within reach say, and counts it.
pub(crate) fn delete(
    connection: &Connection,
    reach: &CoveredScope,
    ids: &[RecordId],
) -> Result<RemovalCounts, SqliteError> {
    let mut removed = RemovalCounts::default();
    for id in ids {
        for stored in row::all(connection, reach, *id)? {
            removed += remove(connection, stored.row)?;
        }
    }
    Ok(removed)
}

/// Removes everything that is said within reach. Returns true if there was anything.
pub(crate) fn clear(connection: &Connection, reach: &CoveredScope) -> Result<bool, SqliteError> {
    let mut gone = 0;
    for table in [
        "DELETE FROM graph_edges WHERE scope IN (SELECT s.scope FROM scopes s WHERE ",
        "DELETE FROM graph_aliases WHERE scope IN (SELECT s.scope FROM scopes s WHERE ",
        "DELETE FROM graph_entities WHERE scope IN (SELECT s.scope FROM scopes s WHERE ",
    ] {
        let mut statement = Statement::new(table);
        reach.scopes(&mut statement);
        statement.push(")");
        let (mut prepared, values) = statement.prepare(connection)?;
        gone += prepared.execute(values)?;
    }
    Ok(gone > 0)
}

pub(crate) fn stats(connection: &Connection, reach: &CoveredScope) -> Result<GraphStats, SqliteError> {
    let count = |sql: &'static str, end: &'static str| -> Result<u64, SqliteError> {
        let mut statement = Statement::new(sql);
        reach.scopes(&mut statement);
        statement.push(end);
        let (mut prepared, values) = statement.prepare(connection)?;
        Ok(prepared.query_row(values, |row| row.get(0))?)
    };
    let entities =
        "SELECT count(DISTINCT g.entity) FROM graph_entities g CROSS JOIN scopes s ON s.scope = g.scope WHERE ";
    let records =
        "SELECT count(DISTINCT g.record) FROM graph_entities g CROSS JOIN scopes s ON s.scope = g.scope WHERE ";
    let edges = "SELECT count(*) FROM (SELECT DISTINCT g.source, g.relation, g.target
                 FROM graph_edges g CROSS JOIN scopes s ON s.scope = g.scope WHERE ";
    Ok(GraphStats::new(count(entities, "")?, count(edges, ")")?, count(records, "")?))
}
