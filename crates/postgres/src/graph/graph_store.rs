//! What records say about entities and relations.

use std::collections::BTreeMap;

use async_trait::async_trait;
use memory_engine_core::{RecordId, Removed, Result, RuleId, Scope};
use memory_engine_graph::{
    AliasRow, EdgeRow, EntityId, GraphEntry, GraphQuery, GraphStats, GraphStore, MentionRow, Rows, Subgraph,
};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::failure::Failure,
    database::statement::Statement,
    database::transaction::{reading, writing},
    graph::graph_walk,
    records::namespaces,
    records::row,
    records::scopes::{self, Reach, uuid},
};

#[async_trait]
impl GraphStore for PostgresStore {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        for entry in entries {
            scope.authorize("graph upsert", &entry.record.scope)?;
            entry.extraction.validate()?;
        }
        writing!(self, "graph upsert", |connection| upsert(connection, entries).await)
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<Removed> {
        let reach = Reach::of(scope);
        writing!(self, "graph delete", |connection| delete(connection, &reach, ids).await)
    }

    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        query.validate()?;
        reading!(self, "graph expand", |connection| graph_walk::expand(connection, scope, query).await)
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        let reach = Reach::of(scope);
        reading!(self, "graph stats", |connection| stats(connection, &reach).await)
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        let reach = Reach::of(scope);
        writing!(self, "graph clear", |connection| clear(connection, &reach).await)
    }
}

/// An entity as the database knows it.
pub(crate) fn key(id: EntityId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

/// Takes back what these records say, and counts it.
pub(crate) async fn remove(connection: &mut PgConnection, ns: Uuid, ids: &[Uuid]) -> Result<Removed, Failure> {
    let mut empty = async |sql| {
        let gone = sqlx::query(sql).bind(ns).bind(ids).execute(&mut *connection).await?;
        Ok::<u64, Failure>(gone.rows_affected())
    };
    let mut removed = Removed::default();
    removed.relations = empty("DELETE FROM graph_edges g WHERE g.ns = $1 AND g.id = ANY ($2)").await?;
    removed.aliases = empty("DELETE FROM graph_aliases g WHERE g.ns = $1 AND g.id = ANY ($2)").await?;
    removed.mentions = empty("DELETE FROM graph_entities g WHERE g.ns = $1 AND g.id = ANY ($2)").await?;
    Ok(removed)
}

/// Keeps what the records say that are still as the entries have them.
async fn upsert(connection: &mut PgConnection, entries: &[GraphEntry]) -> Result<(), Failure> {
    let mut of: BTreeMap<Uuid, BTreeMap<RecordId, &GraphEntry>> = BTreeMap::new();
    for entry in entries {
        of.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    for (ns, entries) in of {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = row::current(connection, ns, &ids).await?;
        let fresh = current.iter().filter_map(|now| entries.get(&now.id).filter(|entry| now.is(&entry.record)));
        let said: Vec<Said> = fresh.map(|entry| Said::of(entry)).collect();
        remove(connection, ns, &said.iter().map(|said| said.id).collect::<Vec<_>>()).await?;
        insert(connection, ns, &said).await?;
    }
    Ok(())
}

/// What one record says, with its keys.
struct Said {
    id: Uuid,
    address: Uuid,
    rows: Rows,
}

impl Said {
    fn of(entry: &GraphEntry) -> Self {
        let (id, address) = (uuid(entry.record.id), scopes::address(&entry.record.scope));
        Self { id, address, rows: Rows::of(entry) }
    }
}

async fn insert(connection: &mut PgConnection, ns: Uuid, said: &[Said]) -> Result<(), Failure> {
    let mentions: Vec<(&Said, &MentionRow)> =
        said.iter().flat_map(|said| said.rows.mentions.iter().map(move |row| (said, row))).collect();
    if mentions.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO graph_entities (ns, id, address, entity, name, kind)
         SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[]) x",
    )
    .bind(ns)
    .bind(mentions.iter().map(|(said, _)| said.id).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(said, _)| said.address).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| key(row.entity)).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| row.name.as_str()).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| row.kind.as_str()).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    let aliases: Vec<(&Said, &AliasRow)> =
        said.iter().flat_map(|said| said.rows.aliases.iter().map(move |row| (said, row))).collect();
    if !aliases.is_empty() {
        sqlx::query(
            "INSERT INTO graph_aliases (ns, id, address, entity, alias, name)
             SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[]) x",
        )
        .bind(ns)
        .bind(aliases.iter().map(|(said, _)| said.id).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(said, _)| said.address).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| key(row.entity)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| key(row.alias)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| row.name.as_str()).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    let edges: Vec<(&Said, i32, &EdgeRow)> = said
        .iter()
        .flat_map(|said| (0..).zip(&said.rows.edges).map(move |(number, row)| (said, number, row)))
        .collect();
    if edges.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO graph_edges (ns, id, address, number, source, relation, target, valid_from, valid_until, rule)
         SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::integer[], $5::uuid[], $6::text[], $7::uuid[],
                                    $8::bigint[], $9::bigint[], $10::text[]) x",
    )
    .bind(ns)
    .bind(edges.iter().map(|(said, ..)| said.id).collect::<Vec<_>>())
    .bind(edges.iter().map(|(said, ..)| said.address).collect::<Vec<_>>())
    .bind(edges.iter().map(|(_, number, _)| *number).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| key(row.source)).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.relation.as_str()).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| key(row.target)).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.valid_from.map(|time| time.as_micros())).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.valid_until.map(|time| time.as_micros())).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.rule.as_ref().map(RuleId::as_str)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes back what these records within reach say, and counts it.
async fn delete(connection: &mut PgConnection, reach: &Reach, ids: &[RecordId]) -> Result<Removed, Failure> {
    let mut removed = Removed::default();
    for (ns, ids) in row::keys(connection, reach, ids).await? {
        namespaces::lock_known(connection, &[ns]).await?;
        removed += remove(connection, ns, &ids).await?;
    }
    Ok(removed)
}

/// Takes back all that is said within reach.
async fn clear(connection: &mut PgConnection, reach: &Reach) -> Result<(), Failure> {
    let namespaces = reach.namespaces(connection).await?;
    namespaces::lock_known(connection, &namespaces).await?;
    for table in [
        "DELETE FROM graph_edges g WHERE ",
        "DELETE FROM graph_aliases g WHERE ",
        "DELETE FROM graph_entities g WHERE ",
    ] {
        let mut statement = Statement::new(table);
        reach.holds("g", &mut statement);
        statement.rows(connection).await?;
    }
    Ok(())
}

async fn stats(connection: &mut PgConnection, reach: &Reach) -> Result<GraphStats, Failure> {
    let mut statement =
        Statement::new("SELECT count(DISTINCT g.entity), count(DISTINCT (g.ns, g.id)) FROM graph_entities g WHERE ");
    reach.holds("g", &mut statement);
    let mentions = statement.row(connection).await?;
    let mut statement =
        Statement::new("SELECT count(DISTINCT (g.source, g.relation, g.target)) FROM graph_edges g WHERE ");
    reach.holds("g", &mut statement);
    let edges = statement.row(connection).await?;
    let count = |row: &sqlx::postgres::PgRow, column: usize| {
        Ok::<u64, Failure>(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
    };
    Ok(GraphStats::new(count(&mentions, 0)?, count(&edges, 0)?, count(&mentions, 1)?))
}
