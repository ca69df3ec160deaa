//! The rows of what records say about entities and relations.

use std::collections::BTreeMap;

use memory_engine_core::{RecordId, RemovalCounts, RuleId};
use memory_engine_graph::{AliasRow, EdgeRow, GraphEntry, GraphStats, MentionRow, Rows};
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::Statement},
    graph::graph_walk::entity_key,
    records::{
        namespaces, row,
        scopes::{self, CoveredScope, uuid},
    },
};

/// Removes what these records say, and counts it.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    ns: Uuid,
    ids: &[Uuid],
) -> Result<RemovalCounts, PostgresError> {
    let mut empty = async |sql| {
        let gone = sqlx::query(sql).bind(ns).bind(ids).execute(&mut *connection).await?;
        Ok::<u64, PostgresError>(gone.rows_affected())
    };
    let mut removed = RemovalCounts::default();
    removed.relations = empty("DELETE FROM graph_edges g WHERE g.ns = $1 AND g.id = ANY ($2)").await?;
    removed.aliases = empty("DELETE FROM graph_aliases g WHERE g.ns = $1 AND g.id = ANY ($2)").await?;
    removed.mentions = empty("DELETE FROM graph_entities g WHERE g.ns = $1 AND g.id = ANY ($2)").await?;
    Ok(removed)
}

/// Stores what the records say, if they are still as the entries have them.
pub(crate) async fn upsert(connection: &mut PgConnection, entries: &[GraphEntry]) -> Result<(), PostgresError> {
    let mut of: BTreeMap<Uuid, BTreeMap<RecordId, &GraphEntry>> = BTreeMap::new();
    for entry in entries {
        of.entry(scopes::namespace(&entry.record.scope)).or_default().insert(entry.record.id, entry);
    }
    namespaces::lock_known(connection, &of.keys().copied().collect::<Vec<_>>()).await?;
    for (ns, entries) in of {
        let ids: Vec<_> = entries.keys().copied().collect();
        let current = row::current(connection, ns, &ids).await?;
        let fresh = current.iter().filter_map(|now| entries.get(&now.id).filter(|entry| now.is(&entry.record)));
        let said: Vec<RecordStatements> = fresh.map(|entry| RecordStatements::of(entry)).collect();
        remove(connection, ns, &said.iter().map(|said| said.id).collect::<Vec<_>>()).await?;
        insert(connection, ns, &said).await?;
    }
    Ok(())
}

/// The statements of one record, with its keys.
struct RecordStatements {
    id: Uuid,
    address: Uuid,
    rows: Rows,
}

impl RecordStatements {
    fn of(entry: &GraphEntry) -> Self {
        let (id, address) = (uuid(entry.record.id), scopes::address(&entry.record.scope));
        Self { id, address, rows: Rows::of(entry) }
    }
}

async fn insert(connection: &mut PgConnection, ns: Uuid, said: &[RecordStatements]) -> Result<(), PostgresError> {
    let mentions: Vec<(&RecordStatements, &MentionRow)> =
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
    .bind(mentions.iter().map(|(_, row)| entity_key(row.entity)).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| row.name.as_str()).collect::<Vec<_>>())
    .bind(mentions.iter().map(|(_, row)| row.kind.as_str()).collect::<Vec<_>>())
    .execute(&mut *connection)
    .await?;
    let aliases: Vec<(&RecordStatements, &AliasRow)> =
        said.iter().flat_map(|said| said.rows.aliases.iter().map(move |row| (said, row))).collect();
    if !aliases.is_empty() {
        sqlx::query(
            "INSERT INTO graph_aliases (ns, id, address, entity, alias, name)
             SELECT $1, x.* FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[]) x",
        )
        .bind(ns)
        .bind(aliases.iter().map(|(said, _)| said.id).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(said, _)| said.address).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| entity_key(row.entity)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| entity_key(row.alias)).collect::<Vec<_>>())
        .bind(aliases.iter().map(|(_, row)| row.name.as_str()).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    let edges: Vec<(&RecordStatements, i32, &EdgeRow)> = said
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

/// Removes what these records within reach say, and counts it.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    reach: &CoveredScope,
    ids: &[RecordId],
) -> Result<RemovalCounts, PostgresError> {
    let mut removed = RemovalCounts::default();
    for (ns, ids) in row::keys(connection, reach, ids).await? {
        namespaces::lock_known(connection, &[ns]).await?;
        removed += remove(connection, ns, &ids).await?;
    }
    Ok(removed)
}

/// Removes everything that is said within reach.
pub(crate) async fn clear(connection: &mut PgConnection, reach: &CoveredScope) -> Result<(), PostgresError> {
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

pub(crate) async fn stats(connection: &mut PgConnection, reach: &CoveredScope) -> Result<GraphStats, PostgresError> {
    let mut statement = Statement::new(
        "SELECT count(DISTINCT g.entity) AS entities, count(DISTINCT (g.ns, g.id)) AS records FROM graph_entities g WHERE ",
    );
    reach.holds("g", &mut statement);
    let mentions = statement.row(connection).await?;
    let mut statement =
        Statement::new("SELECT count(DISTINCT (g.source, g.relation, g.target)) AS edges FROM graph_edges g WHERE ");
    reach.holds("g", &mut statement);
    let edges = statement.row(connection).await?;
    let count = |row: &sqlx::postgres::PgRow, column: &str| {
        Ok::<u64, PostgresError>(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
    };
    Ok(GraphStats::new(count(&mentions, "entities")?, count(&edges, "edges")?, count(&mentions, "records")?))
}
