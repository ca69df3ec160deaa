//! What records say about entities and relations.

use async_trait::async_trait;
use memory_engine_core::{RecordId, Removed, Result, RuleId, Scope};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Rows, Subgraph};
use rusqlite::{Connection, params};

use crate::{
    SqliteStore,
    database::failure::Failure,
    database::statement::Statement,
    database::writer::Residue,
    graph::graph_walk,
    records::row,
    records::scopes::{self, Place, Reach},
};

#[async_trait]
impl GraphStore for SqliteStore {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        for entry in entries {
            scope.authorize("graph upsert", &entry.record.scope)?;
            entry.extraction.validate()?;
        }
        let entries = entries.to_vec();
        let residue = |replaced: &bool| if *replaced { Residue::Replaced } else { Residue::None };
        self.write("graph upsert", residue, move |connection| upsert(connection, &entries)).await?;
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<Removed> {
        let (scope, ids) = (scope.clone(), ids.to_vec());
        let residue = |gone: &Removed| if *gone == Removed::default() { Residue::None } else { Residue::Deleted };
        self.write("graph delete", residue, move |connection| match Reach::of(connection, &scope)? {
            None => Ok(Removed::default()),
            Some(reach) => delete(connection, &reach, &ids),
        })
        .await
    }

    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        query.validate()?;
        let (scope, query) = (scope.clone(), query.clone());
        self.read("graph expand", move |connection| graph_walk::expand(connection, &scope, &query)).await
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        let scope = scope.clone();
        self.read("graph stats", move |connection| match Reach::of(connection, &scope)? {
            None => Ok(GraphStats::default()),
            Some(reach) => stats(connection, &reach),
        })
        .await
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        let scope = scope.clone();
        let residue = |any: &bool| if *any { Residue::Deleted } else { Residue::None };
        let clear = self.write("graph clear", residue, move |connection| match Reach::of(connection, &scope)? {
            None => Ok(false),
            Some(reach) => clear(connection, &reach),
        });
        clear.await.map(drop)
    }
}

/// Takes back what a record says, and counts it.
pub(crate) fn remove(connection: &Connection, row: i64) -> Result<Removed, Failure> {
    let empty = |sql: &str| Ok::<u64, Failure>(connection.prepare_cached(sql)?.execute([row])? as u64);
    let mut removed = Removed::default();
    removed.relations = empty("DELETE FROM graph_edges WHERE record = ?1")?;
    removed.aliases = empty("DELETE FROM graph_aliases WHERE record = ?1")?;
    removed.mentions = empty("DELETE FROM graph_entities WHERE record = ?1")?;
    Ok(removed)
}

/// Keeps what the records say that are still as the entries have them; whether something was replaced.
fn upsert(connection: &Connection, entries: &[GraphEntry]) -> Result<bool, Failure> {
    let mut replaced = false;
    for entry in entries {
        let place = scopes::settle(connection, &entry.record.scope)?;
        let Some(current) = row::current(connection, place.namespace, entry.record.id)? else { continue };
        if current.is(&entry.record, place) {
            replaced |= remove(connection, current.row)? != Removed::default();
            insert(connection, current.row, place, &Rows::of(entry))?;
        }
    }
    Ok(replaced)
}

fn insert(connection: &Connection, row: i64, place: Place, rows: &Rows) -> Result<(), Failure> {
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

/// Takes back what these records within reach say, and counts it.
fn delete(connection: &Connection, reach: &Reach, ids: &[RecordId]) -> Result<Removed, Failure> {
    let mut removed = Removed::default();
    for id in ids {
        for stored in row::all(connection, reach, *id)? {
            removed += remove(connection, stored.row)?;
        }
    }
    Ok(removed)
}

/// Takes back all that is said within reach; whether anything was.
fn clear(connection: &Connection, reach: &Reach) -> Result<bool, Failure> {
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

fn stats(connection: &Connection, reach: &Reach) -> Result<GraphStats, Failure> {
    let count = |sql: &'static str, end: &'static str| -> Result<u64, Failure> {
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
