//! Walking along what records say: the rows that a walk asks for.

use std::collections::BTreeSet;

use memory_engine_core::{Cursor, RuleId, Scope, Timestamp};
use memory_engine_graph::{AliasRow, Ask, EdgeRow, EntityId, GraphQuery, MentionRow, Rows, Seeds, Subgraph, Walk};
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{
    database::failure::Failure,
    database::statement::Statement,
    filter_sql,
    graph::graph_store,
    records::scopes::{self, Reach, record_id},
};

/// What lies around the entities that the query begins with, for each user within reach.
pub(crate) async fn expand(
    connection: &mut PgConnection,
    scope: &Scope,
    query: &GraphQuery,
) -> Result<Subgraph, Failure> {
    let mut parts = Vec::new();
    for owner in owners(connection, scope).await? {
        let seen = Seen { reach: Reach::of(scope).within(scopes::namespace(&owner)), query };
        parts.push(seen.walk(connection, &owner).await?);
    }
    Ok(Subgraph::merged(parts, query.entities, query.edges))
}

/// The namespaces within reach, by user.
async fn owners(connection: &mut PgConnection, scope: &Scope) -> Result<Vec<Scope>, Failure> {
    if scope.user_name().is_some() {
        return Ok(vec![scope.namespace()]);
    }
    let sql = "SELECT n.username FROM namespaces n WHERE n.tenant = $1 ORDER BY n.username";
    let users: Vec<String> = sqlx::query_scalar(sql).bind(scope.tenant()).fetch_all(connection).await?;
    let owner = |user: String| match user.as_str() {
        "" => Ok(scope.namespace()),
        _ => Ok(scope.namespace().with_user(user)?),
    };
    users.into_iter().map(owner).collect()
}

/// What a reader sees.
struct Seen<'q> {
    reach: Reach,
    query: &'q GraphQuery,
}

impl Seen<'_> {
    async fn walk(&self, connection: &mut PgConnection, owner: &Scope) -> Result<Subgraph, Failure> {
        let begins = self.query.from == Seeds::MostMentioned;
        let most = if begins { self.most_mentioned(connection).await? } else { Vec::new() };
        let mut walk = Walk::new(owner, self.query, || most);
        while let Some(ask) = walk.next() {
            match ask {
                Ask::Aliases(of) => walk.aliases(self.aliases(connection, &of).await?),
                Ask::Edges(of) => walk.edges(self.edges(connection, &of).await?),
                Ask::Mentions(of) => {
                    let rows = self.mentions(connection, &of, walk.evidence()).await?;
                    walk.mentions(rows);
                }
            }
        }
        Ok(walk.finish())
    }

    /// Goes on with the tables that tell who sees a row `g`, and with the conditions that one is seen.
    fn seen(&self, statement: &mut Statement) {
        statement.push(" JOIN records r ON r.ns = g.ns AND r.id = g.id");
        if self.query.filter.is_some() {
            statement.push(" JOIN addresses a ON a.ns = g.ns AND a.address = g.address");
        }
        self.reach.holds("g", statement.push(" WHERE "));
        if let Some(filter) = &self.query.filter {
            filter_sql::write(filter, statement.push(" AND "));
        }
    }

    async fn most_mentioned(&self, connection: &mut PgConnection) -> Result<Vec<EntityId>, Failure> {
        let mut statement = Statement::new("SELECT g.entity FROM graph_entities g");
        self.seen(&mut statement);
        statement.push(" GROUP BY g.entity ORDER BY count(*) DESC, g.entity LIMIT ");
        statement.bind(i64::try_from(self.query.entities).unwrap_or(i64::MAX));
        statement.rows(connection).await?.iter().map(|row| id(row, 0)).collect()
    }

    async fn aliases(&self, connection: &mut PgConnection, of: &BTreeSet<EntityId>) -> Result<Vec<AliasRow>, Failure> {
        let mut statement = Statement::new("SELECT DISTINCT g.entity, g.alias, g.name FROM graph_aliases g");
        self.seen(&mut statement);
        any_of([" AND (g.entity = ANY (", ") OR g.alias = ANY ("], of, &mut statement);
        let read = |row: &PgRow| Ok(AliasRow { entity: id(row, 0)?, alias: id(row, 1)?, name: row.try_get(2)? });
        statement.rows(connection).await?.iter().map(read).collect()
    }

    async fn edges(&self, connection: &mut PgConnection, of: &BTreeSet<EntityId>) -> Result<Vec<EdgeRow>, Failure> {
        let mut statement = Statement::new(
            "SELECT g.source, g.relation, g.target, g.valid_from, g.valid_until, r.occurred_at, r.place, r.id,
                    r.valid_from, r.valid_until, g.rule FROM graph_edges g",
        );
        self.seen(&mut statement);
        any_of([" AND (g.source = ANY (", ") OR g.target = ANY ("], of, &mut statement);
        statement.push(" ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC, g.source, g.relation, g.target LIMIT ");
        statement.bind(Walk::MAX_EDGES as i64);
        let time = |row: &PgRow, column: usize| {
            Ok::<_, Failure>(row.try_get::<Option<i64>, _>(column)?.map(Timestamp::from_micros))
        };
        let read = |row: &PgRow| {
            let edge = EdgeRow {
                source: id(row, 0)?,
                relation: row.try_get(1)?,
                target: id(row, 2)?,
                valid_from: time(row, 3)?,
                valid_until: time(row, 4)?,
                rule: rule(row.try_get(10)?)?,
                record: cursor(row, 5)?,
            };
            Ok(Rows::filled(edge, time(row, 8)?, time(row, 9)?))
        };
        statement.rows(connection).await?.iter().map(read).collect()
    }

    async fn mentions(
        &self,
        connection: &mut PgConnection,
        of: &BTreeSet<EntityId>,
        each: usize,
    ) -> Result<Vec<MentionRow>, Failure> {
        let mut statement = Statement::new(
            "SELECT m.entity, m.name, m.kind, m.total, m.occurred_at, m.place, m.id FROM (
                SELECT g.entity, g.name, g.kind, r.occurred_at, r.place, r.id, count(*) OVER (PARTITION BY g.entity) AS total,
                    row_number() OVER (PARTITION BY g.entity ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC) AS n
                FROM graph_entities g",
        );
        self.seen(&mut statement);
        statement.push(" AND g.entity = ANY (").bind(keys(of)).push(")) m WHERE m.n <= ");
        statement.bind(i64::try_from(each).unwrap_or(i64::MAX));
        let read = |row: &PgRow| {
            let kind: &str = row.try_get(2)?;
            Ok(MentionRow {
                entity: id(row, 0)?,
                name: row.try_get(1)?,
                kind: kind.parse().map_err(|_| Failure::corrupt("the kind of an entity"))?,
                total: u64::try_from(row.try_get::<i64, _>(3)?).unwrap_or_default(),
                record: cursor(row, 4)?,
            })
        };
        statement.rows(connection).await?.iter().map(read).collect()
    }
}

fn keys(of: &BTreeSet<EntityId>) -> Vec<Uuid> {
    of.iter().map(|id| graph_store::key(*id)).collect()
}

fn any_of(columns: [&'static str; 2], of: &BTreeSet<EntityId>, statement: &mut Statement) {
    for column in columns {
        statement.push(column).bind(keys(of));
    }
    statement.push("))");
}

fn id(row: &PgRow, column: usize) -> Result<EntityId, Failure> {
    Ok(EntityId::from_bytes(*row.try_get::<Uuid, _>(column)?.as_bytes()))
}

fn cursor(row: &PgRow, column: usize) -> Result<Cursor, Failure> {
    Ok(Cursor {
        occurred_at: Timestamp::from_micros(row.try_get(column)?),
        sequence: row.try_get(column + 1)?,
        id: record_id(row.try_get(column + 2)?),
    })
}

fn rule(id: Option<String>) -> Result<Option<RuleId>, Failure> {
    id.map(RuleId::new).transpose().map_err(|_| Failure::corrupt("the rule of a relation"))
}
