//! Graph expansion: reads the rows that a walk requests.

use std::collections::BTreeSet;

use memory_engine_core::{Cursor, RecordId, Scope, Timestamp};
use memory_engine_graph::{AliasRow, Ask, EdgeRow, EntityId, GraphQuery, GraphRows, MentionRow, Seeds, Subgraph, Walk};
use memory_engine_sql::{
    filter, graph,
    rows::{rule as stored_rule, sql_limit},
};
use rusqlite::{Connection, Row, types::Value};

use crate::{
    database::{error::SqliteError, statement::Statement},
    rows::scopes::CoveredScope,
};

/// Returns the neighbourhood of the entities of the query, for each visible user.
pub(crate) fn expand(connection: &Connection, scope: &Scope, query: &GraphQuery) -> Result<Subgraph, SqliteError> {
    let mut parts = Vec::new();
    for owner in owners(connection, scope)? {
        let visible = graph::restrict_to_owner(scope, &owner)?;
        let Some(covered) = CoveredScope::of(connection, &visible)? else { continue };
        parts.push(VisibleGraph { connection, covered: &covered, query }.walk(&owner)?);
    }
    Ok(Subgraph::merged(parts, query.entities, query.edges))
}

/// Returns the namespaces of the users that `scope` covers, ordered by user.
fn owners(connection: &Connection, scope: &Scope) -> Result<Vec<Scope>, SqliteError> {
    if scope.user_name().is_some() {
        return Ok(vec![scope.namespace()]);
    }
    let sql = "SELECT n.user FROM namespaces n JOIN tenants t ON t.tenant = n.tenant WHERE t.name = ?1 ORDER BY n.user";
    let mut prepared = connection.prepare_cached(sql)?;
    let users = prepared.query_map([scope.tenant()], |row| row.get::<_, String>(0))?;
    users.map(|user| Ok(graph::owner(scope, &user?)?)).collect()
}

/// The part of the graph that the scope and the filter of a query select.
struct VisibleGraph<'q> {
    connection: &'q Connection,
    covered: &'q CoveredScope,
    query: &'q GraphQuery,
}

impl VisibleGraph<'_> {
    fn walk(&self, owner: &Scope) -> Result<Subgraph, SqliteError> {
        let most_mentioned =
            if matches!(self.query.from, Seeds::MostMentioned) { self.most_mentioned(owner)? } else { Vec::new() };
        let mut walk = Walk::new(owner, self.query, || most_mentioned);
        while let Some(ask) = walk.next() {
            match ask {
                Ask::Aliases(entities) => walk.aliases(self.aliases(owner, &entities)?),
                Ask::Edges(entities) => walk.edges(self.edges(owner, &entities)?),
                Ask::Mentions(entities) => {
                    let rows = self.mentions(owner, &entities, walk.evidence())?;
                    walk.mentions(rows);
                }
            }
        }
        Ok(walk.finish())
    }

    /// Appends the joins and conditions that restrict a statement to the visible rows `g`.
    fn push_visible(&self, owner: &Scope, statement: &mut Statement) {
        statement.push(" CROSS JOIN records r ON r.record = g.record CROSS JOIN scopes s ON s.scope = g.scope WHERE ");
        self.covered.push_scope_condition(statement);
        if owner.user_name().is_none() {
            // An owner without a user selects the records that belong to no user, not those of all users.
            statement.push(" AND s.namespace = (SELECT namespace FROM namespaces WHERE user = '' AND tenant = ");
            statement.bind(self.covered.tenant).push(")");
        }
        if let Some(filter) = &self.query.filter {
            filter::write(filter, statement.push(" AND "));
        }
    }

    fn most_mentioned(&self, owner: &Scope) -> Result<Vec<EntityId>, SqliteError> {
        let mut statement = Statement::new("SELECT g.entity FROM graph_entities g");
        self.push_visible(owner, &mut statement);
        statement.push(" GROUP BY g.entity ORDER BY count(*) DESC, g.entity").limit(sql_limit(self.query.entities));
        statement.read_all(self.connection, |row| Ok(EntityId::from_bytes(row.get("entity")?)))
    }

    fn aliases(&self, owner: &Scope, entities: &BTreeSet<EntityId>) -> Result<Vec<AliasRow>, SqliteError> {
        let mut aliases = Vec::new();
        for column in ["g.entity", "g.alias"] {
            let mut statement = Statement::new("SELECT DISTINCT g.entity, g.alias, g.name FROM graph_aliases g");
            self.push_visible(owner, &mut statement);
            push_any_of(column, entities, &mut statement);
            let read = |row: &Row<'_>| {
                Ok(AliasRow { entity: id(row, "entity")?, alias: id(row, "alias")?, name: row.get("name")? })
            };
            aliases.extend(statement.read_all(self.connection, read)?);
        }
        Ok(aliases)
    }

    fn edges(&self, owner: &Scope, entities: &BTreeSet<EntityId>) -> Result<Vec<EdgeRow>, SqliteError> {
        let mut edges = Vec::new();
        // An edge between two of the entities is read twice. The walk ignores duplicates.
        for column in ["g.source", "g.target"] {
            let mut statement = Statement::new(graph::SELECT_EDGES);
            self.push_visible(owner, &mut statement);
            push_any_of(column, entities, &mut statement);
            statement
                .push(" ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC, g.source, g.relation, g.target")
                .limit(Walk::MAX_EDGES as i64);
            let time = |row: &Row<'_>, column: &str| {
                Ok::<_, SqliteError>(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros))
            };
            let read = |row: &Row<'_>| {
                let edge = EdgeRow {
                    source: id(row, "source")?,
                    relation: row.get("relation")?,
                    target: id(row, "target")?,
                    valid_from: time(row, "valid_from")?,
                    valid_until: time(row, "valid_until")?,
                    rule: stored_rule(row.get("rule")?),
                    record: cursor(row)?,
                };
                Ok(GraphRows::with_record_times(
                    edge,
                    time(row, "record_valid_from")?,
                    time(row, "record_valid_until")?,
                ))
            };
            edges.extend(statement.read_all(self.connection, read)?);
        }
        Ok(edges)
    }

    fn mentions(
        &self,
        owner: &Scope,
        entities: &BTreeSet<EntityId>,
        max_per_entity: usize,
    ) -> Result<Vec<MentionRow>, SqliteError> {
        let mut statement = Statement::new(graph::SELECT_NEWEST_MENTIONS);
        self.push_visible(owner, &mut statement);
        push_any_of("g.entity", entities, &mut statement);
        statement.push(") m WHERE m.n <= ").bind(sql_limit(max_per_entity));
        statement.read_all(self.connection, |row| {
            let kind: String = row.get("kind")?;
            Ok(MentionRow {
                entity: id(row, "entity")?,
                name: row.get("name")?,
                kind: kind.parse().unwrap_or_default(),
                total: row.get("total")?,
                record: cursor(row)?,
            })
        })
    }
}

/// Appends the condition that a column is one of the entities.
fn push_any_of(column: &'static str, entities: &BTreeSet<EntityId>, statement: &mut Statement) {
    statement.push(" AND ").push(column).push(" IN (");
    statement.bind_all(entities.iter().map(|id| Value::Blob(id.as_bytes().to_vec()))).push(")");
}

fn id(row: &Row<'_>, column: &str) -> Result<EntityId, SqliteError> {
    Ok(EntityId::from_bytes(row.get(column)?))
}

fn cursor(row: &Row<'_>) -> Result<Cursor, SqliteError> {
    Ok(Cursor {
        occurred_at: Timestamp::from_micros(row.get("occurred_at")?),
        sequence: row.get("place")?,
        id: RecordId::from_bytes(row.get("id")?),
    })
}
