//! Statements on the graph tables, and the namespaces whose graphs a query walks.

use memory_engine_core::{Result, Scope};

/// Selects edges from `graph_edges g`; the joins and conditions on the record `r` follow.
pub const SELECT_EDGES: &str =
    "SELECT g.source, g.relation, g.target, g.valid_from, g.valid_until, r.occurred_at, r.place,
        r.id, r.valid_from AS record_valid_from, r.valid_until AS record_valid_until, g.rule
    FROM graph_edges g";

/// Selects the mentions of entities from `graph_entities g`, numbered from the newest as `n`; the joins and conditions
/// on the record `r`, the closing parenthesis and the condition on `n` follow.
pub const SELECT_NEWEST_MENTIONS: &str = "SELECT m.entity, m.name, m.kind, m.total, m.occurred_at, m.place, m.id FROM (
        SELECT g.entity, g.name, g.kind, r.occurred_at, r.place, r.id, count(*) OVER (PARTITION BY g.entity) AS total,
            row_number() OVER (PARTITION BY g.entity ORDER BY r.occurred_at DESC, r.place DESC, r.id DESC) AS n
        FROM graph_entities g";

/// Returns the namespace of a user of the tenant. An empty name is the namespace of the records without a user.
///
/// # Errors
/// `InvalidInput` for a name that no user can have.
pub fn owner(scope: &Scope, user: &str) -> Result<Scope> {
    let tenant = scope.namespace();
    if user.is_empty() { Ok(tenant) } else { tenant.with_user(user) }
}

/// Restricts a scope to the namespace of an owner.
///
/// # Errors
/// `InvalidInput` for a name that no user can have.
pub fn restrict_to_owner(scope: &Scope, owner: &Scope) -> Result<Scope> {
    match (scope.user_name(), owner.user_name()) {
        (None, Some(user)) => scope.clone().with_user(user),
        _ => Ok(scope.clone()),
    }
}
