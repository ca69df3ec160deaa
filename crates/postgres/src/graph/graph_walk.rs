//! Reads the rows that a graph walk requests. The walk itself is in the crate `graph`, which all stores share.

use std::collections::BTreeSet;

use memory_engine_core::{Cursor, Scope, Timestamp};
use memory_engine_graph::{AliasRow, Ask, EdgeRow, EntityId, GraphQuery, GraphRows, MentionRow, Seeds, Subgraph, Walk};
use memory_engine_sql::{
    filter, graph,
    rows::{rule as stored_rule, sql_limit},
};
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::{error::PostgresError, statement::StatementBuilder},
    rows::scopes::{self, CoveredScope, record_id},
};

/// Returns the entities and relations around those of the query, merged from all users in scope.
pub(crate) async fn expand(
    connection: &mut PgConnection,
    scope: &Scope,
    query: &GraphQuery,
) -> Result<Subgraph, PostgresError> {
    let mut parts = Vec::new();
    for owner in owners(connection, scope).await? {
        let visible = VisibleGraph { covered: CoveredScope::of(scope).within(scopes::namespace(&owner)), query };
        parts.push(visible.walk(connection, &owner).await?);
    }
    Ok(Subgraph::merged(parts, query.entities, query.edges))
}

/// Returns the namespaces in scope, ordered by user.
async fn owners(connection: &mut PgConnection, scope: &Scope) -> Result<Vec<Scope>, PostgresError> {
    if scope.user_name().is_some() {
        return Ok(vec![scope.namespace()]);
    }
    let sql = "SELECT n.username FROM namespaces n WHERE n.tenant = $1 ORDER BY n.username";
    let users: Vec<String> = sqlx::query_scalar(sql).bind(scope.tenant()).fetch_all(connection).await?;
    users.iter().map(|user| Ok(graph::owner(scope, user)?)).collect()
}

/// The part of the graph that a query can read.
struct VisibleGraph<'q> {
    covered: CoveredScope,
    query: &'q GraphQuery,
}

impl VisibleGraph<'_> {
    async fn walk(&self, connection: &mut PgConnection, owner: &Scope) -> Result<Subgraph, PostgresError> {
        let most_mentioned =
            if self.query.from == Seeds::MostMentioned { self.most_mentioned(connection).await? } else { Vec::new() };
        let mut walk = Walk::new(owner, self.query, || most_mentioned);
        while let Some(ask) = walk.next() {
            match ask {
                Ask::Aliases(entities) => walk.aliases(self.aliases(connection, &entities).await?),
                Ask::Edges(entities) => walk.edges(self.edges(connection, &entities).await?),
                Ask::Mentions(entities) => {
                    let rows = self.mentions(connection, &entities, walk.evidence()).await?;
                    walk.mentions(rows);
                }
            }
        }
        Ok(walk.finish())
    }

    /// Appends the joins and the conditions under which row `g` is visible to the query.
    fn push_visibility(&self, statement: &mut StatementBuilder) {
        statement.push(" JOIN records r ON r.namespace = g.namespace AND r.id = g.id");
        if self.query.filter.is_some() {
            statement.push(" JOIN scopes a ON a.namespace = g.namespace AND a.scope = g.scope");
        }
        self.covered.push_row_condition("g", statement.push(" WHERE "));
        if let Some(filter) = &self.query.filter {
            filter::write(filter, statement.push(" AND "));
        }
    }

    async fn most_mentioned(&self, connection: &mut PgConnection) -> Result<Vec<EntityId>, PostgresError> {
        let mut statement = StatementBuilder::new("SELECT g.entity FROM graph_entities g");
        self.push_visibility(&mut statement);
        statement.push(" GROUP BY g.entity ORDER BY count(*) DESC, g.entity LIMIT ");
        statement.bind(sql_limit(self.query.entities));
        statement.fetch_all(connection).await?.iter().map(|row| id(row, "entity")).collect()
    }

    async fn aliases(
        &self,
        connection: &mut PgConnection,
        entities: &BTreeSet<EntityId>,
    ) -> Result<Vec<AliasRow>, PostgresError> {
        let mut statement = StatementBuilder::new("SELECT DISTINCT g.entity, g.alias, g.name FROM graph_aliases g");
        self.push_visibility(&mut statement);
        push_any_of([" AND (g.entity = ANY (", ") OR g.alias = ANY ("], entities, &mut statement);
        let read = |row: &PgRow| {
            Ok(AliasRow { entity: id(row, "entity")?, alias: id(row, "alias")?, name: row.try_get("name")? })
        };
        statement.fetch_all(connection).await?.iter().map(read).collect()
    }

    async fn edges(
        &self,
        connection: &mut PgConnection,
        entities: &BTreeSet<EntityId>,
    ) -> Result<Vec<EdgeRow>, PostgresError> {
        let mut statement = StatementBuilder::new(graph::SELECT_EDGES);
        self.push_visibility(&mut statement);
        push_any_of([" AND (g.source = ANY (", ") OR g.target = ANY ("], entities, &mut statement);
        statement.push(" ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC, g.source, g.relation, g.target LIMIT ");
        statement.bind(Walk::MAX_EDGES as i64);
        let time = |row: &PgRow, column: &str| {
            Ok::<_, PostgresError>(row.try_get::<Option<i64>, _>(column)?.map(Timestamp::from_micros))
        };
        let read = |row: &PgRow| {
            let edge = EdgeRow {
                source: id(row, "source")?,
                relation: row.try_get("relation")?,
                target: id(row, "target")?,
                valid_from: time(row, "valid_from")?,
                valid_until: time(row, "valid_until")?,
                rule: stored_rule(row.try_get("rule")?),
                record: cursor(row)?,
            };
            Ok(GraphRows::with_record_times(edge, time(row, "record_valid_from")?, time(row, "record_valid_until")?))
        };
        statement.fetch_all(connection).await?.iter().map(read).collect()
    }

    async fn mentions(
        &self,
        connection: &mut PgConnection,
        entities: &BTreeSet<EntityId>,
        limit_per_entity: usize,
    ) -> Result<Vec<MentionRow>, PostgresError> {
        let mut statement = StatementBuilder::new(graph::SELECT_NEWEST_MENTIONS);
        self.push_visibility(&mut statement);
        statement.push(" AND g.entity = ANY (").bind(keys(entities)).push(")) m WHERE m.n <= ");
        statement.bind(sql_limit(limit_per_entity));
        let read = |row: &PgRow| {
            let kind: &str = row.try_get("kind")?;
            Ok(MentionRow {
                entity: id(row, "entity")?,
                name: row.try_get("name")?,
                kind: kind.parse().unwrap_or_default(),
                total: u64::try_from(row.try_get::<i64, _>("total")?).unwrap_or_default(),
                record: cursor(row)?,
            })
        };
        statement.fetch_all(connection).await?.iter().map(read).collect()
    }
}

fn keys(entities: &BTreeSet<EntityId>) -> Vec<Uuid> {
    entities.iter().map(|id| entity_key(*id)).collect()
}

/// Appends the condition that one of two columns is one of these entities.
fn push_any_of(columns: [&'static str; 2], entities: &BTreeSet<EntityId>, statement: &mut StatementBuilder) {
    for column in columns {
        statement.push(column).bind(keys(entities));
    }
    statement.push("))");
}

fn id(row: &PgRow, column: &str) -> Result<EntityId, PostgresError> {
    Ok(EntityId::from_bytes(*row.try_get::<Uuid, _>(column)?.as_bytes()))
}

fn cursor(row: &PgRow) -> Result<Cursor, PostgresError> {
    Ok(Cursor {
        occurred_at: Timestamp::from_micros(row.try_get("occurred_at")?),
        sequence: row.try_get("place")?,
        id: record_id(row.try_get("id")?),
    })
}

/// Returns the stored key of an entity.
pub(crate) fn entity_key(id: EntityId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}
