//! Stores and removes the entities and relations that were extracted from records.

use std::collections::BTreeMap;

use memory_engine_core::{RecordId, RemovalCounts, RuleId};
use memory_engine_graph::{AliasRow, EdgeRow, GraphEntry, GraphRows, GraphStats, MentionRow};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    graph::graph_walk::entity_key,
    rows::{
        namespaces, row,
        scopes::{self, CoveredScope, uuid},
    },
};

/// Removes the graph entries of these records. Returns their counts.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    namespace: Uuid,
    ids: &[Uuid],
) -> Result<RemovalCounts, PostgresError> {
    let mut delete = async |sql| {
        let deleted = sqlx::query(sql).bind(namespace).bind(ids).execute(&mut *connection).await?;
        Ok::<u64, PostgresError>(deleted.rows_affected())
    };
    let mut removed = RemovalCounts::default();
    removed.relations = delete("DELETE FROM graph_edges g WHERE g.namespace = $1 AND g.id = ANY ($2)").await?;
    removed.aliases = delete("DELETE FROM graph_aliases g WHERE g.namespace = $1 AND g.id = ANY ($2)").await?;
    removed.mentions = delete("DELETE FROM graph_entities g WHERE g.namespace = $1 AND g.id = ANY ($2)").await?;
    Ok(removed)
}

/// Stores the entries whose records have not changed.
pub(crate) async fn upsert(connection: &mut PgConnection, entries: &[GraphEntry]) -> Result<(), PostgresError> {
    let mut by_namespace: BTreeMap<Uuid, BTreeMap<RecordId, &GraphEntry>> = BTreeMap::new();
    for entry in entries {
        by_namespace.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &by_namespace.keys().copied().collect::<Vec<_>>()).await?;
    for (namespace, entries) in by_namespace {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = row::current_revisions(connection, namespace, &ids).await?;
        let fresh = current
            .iter()
            .filter_map(|revision| entries.get(&revision.id).filter(|entry| revision.matches(&entry.record)));
        let record_graphs: Vec<RecordGraph> = fresh.map(|entry| RecordGraph::of(entry)).collect();
        remove(connection, namespace, &record_graphs.iter().map(|graph| graph.id).collect::<Vec<_>>()).await?;
        insert(connection, namespace, &record_graphs).await?;
    }
    Ok(())
}

/// The graph rows of one record, with its keys.
struct RecordGraph {
    id: Uuid,
    address: Uuid,
    rows: GraphRows,
}

impl RecordGraph {
    fn of(entry: &GraphEntry) -> Self {
        Self { id: uuid(entry.record.id), address: scopes::address(&entry.record.scope), rows: GraphRows::of(entry) }
    }
}

async fn insert(
    connection: &mut PgConnection,
    namespace: Uuid,
    record_graphs: &[RecordGraph],
) -> Result<(), PostgresError> {
    let mentions: Vec<(&RecordGraph, &MentionRow)> =
        record_graphs.iter().flat_map(|graph| graph.rows.mentions.iter().map(move |row| (graph, row))).collect();
    if mentions.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO graph_entities (namespace, id, scope, entity, name, kind)
         SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[]) x",
    )
    .bind(namespace)
    .bind(mentions.iter().map(|(graph, _)| graph.id).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(graph, _)| graph.address).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| entity_key(row.entity)).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| row.name.as_str()).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| row.kind.as_str()).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    let aliases: Vec<(&RecordGraph, &AliasRow)> =
        record_graphs.iter().flat_map(|graph| graph.rows.aliases.iter().map(move |row| (graph, row))).collect();
    if !aliases.is_empty() {
        sqlx::query(
            "INSERT INTO graph_aliases (namespace, id, scope, entity, alias, name)
             SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[]) x",
        )
        .bind(namespace)
        .bind(aliases.iter().map(|(graph, _)| graph.id).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(graph, _)| graph.address).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| entity_key(row.entity)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| entity_key(row.alias)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| row.name.as_str()).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    let edges: Vec<(&RecordGraph, i32, &EdgeRow)> = record_graphs
        .iter()
        .flat_map(|graph| (0..).zip(&graph.rows.edges).map(move |(number, row)| (graph, number, row)))
        .collect();
    if edges.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO graph_edges (namespace, id, scope, number, source, relation, target, valid_from, valid_until, rule)
         SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::integer[], $5::uuid[], $6::text[], $7::uuid[],
                                    $8::bigint[], $9::bigint[], $10::text[]) x",
    )
    .bind(namespace)
    .bind(edges.iter().map(|(graph, ..)| graph.id).collect::<Vec<_>>())
    .bind(edges.iter().map(|(graph, ..)| graph.address).collect::<Vec<_>>())
    .bind(edges.iter().map(|(_, number, _)| *number).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| entity_key(row.source)).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.relation.as_str()).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| entity_key(row.target)).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.valid_from.map(|time| time.as_micros())).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.valid_until.map(|time| time.as_micros())).collect::<Vec<_>>())
    .bind(edges.iter().map(|(.., row)| row.rule.as_ref().map(RuleId::as_str)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the graph entries of these records in a scope. Returns their counts.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    covered: &CoveredScope,
    ids: &[RecordId],
) -> Result<RemovalCounts, PostgresError> {
    let mut removed = RemovalCounts::default();
    for (namespace, ids) in row::ids_by_namespace(connection, covered, ids).await? {
        namespaces::lock_known(connection, &[namespace]).await?;
        removed += remove(connection, namespace, &ids).await?;
    }
    Ok(removed)
}

/// Removes all graph entries in a scope.
pub(crate) async fn clear(connection: &mut PgConnection, covered: &CoveredScope) -> Result<(), PostgresError> {
    let namespaces = covered.namespaces(connection).await?;
    namespaces::lock_known(connection, &namespaces).await?;
    for delete in [
        "DELETE FROM graph_edges g WHERE ",
        "DELETE FROM graph_aliases g WHERE ",
        "DELETE FROM graph_entities g WHERE ",
    ] {
        let mut statement = StatementBuilder::new(delete);
        covered.push_row_condition("g", &mut statement);
        statement.fetch_all(connection).await?;
    }
    Ok(())
}

/// Returns the statistics of the graph in a scope.
pub(crate) async fn stats(connection: &mut PgConnection, covered: &CoveredScope) -> Result<GraphStats, PostgresError> {
    let mut statement = StatementBuilder::new(
        "SELECT count(DISTINCT g.entity) AS entities, count(DISTINCT (g.namespace, g.id)) AS records
         FROM graph_entities g WHERE ",
    );
    covered.push_row_condition("g", &mut statement);
    let mentions = statement.fetch_one(connection).await?;
    let mut statement = StatementBuilder::new(
        "SELECT count(DISTINCT (g.source, g.relation, g.target)) AS edges FROM graph_edges g WHERE ",
    );
    covered.push_row_condition("g", &mut statement);
    let edges = statement.fetch_one(connection).await?;
    let count = |row: &sqlx::postgres::PgRow, column: &str| {
        Ok::<u64, PostgresError>(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
    };
    Ok(GraphStats::new(count(&mentions, "entities")?, count(&edges, "edges")?, count(&mentions, "records")?))
}
