//! Scopes as UUIDs and as SQL conditions.
//!
//! A namespace (tenant and user) and an address (agent, session and branch) are UUIDs, which are hashes of their names.
//! [`CoveredScope`] writes the conditions that limit every statement to a scope.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memory_engine_core::{RecordId, Scope};
use memory_engine_sql::rows;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{database::error::PostgresError, database::statement::StatementBuilder};

/// Returns the namespace of a scope: a hash of its tenant and user, which is the same in every process.
pub(crate) fn namespace(scope: &Scope) -> Uuid {
    hash_names("memory-engine 2026 namespace", [scope.tenant(), scope.user_name().unwrap_or_default()])
}

/// Returns a hash of the tenant of a scope, which is the same in every process.
pub(crate) fn tenant(scope: &Scope) -> Uuid {
    hash_names("memory-engine 2026 tenant", [scope.tenant()])
}

/// Returns the address of a scope within its namespace: a hash of its agent, session and branch.
pub(crate) fn address(scope: &Scope) -> Uuid {
    let [_, agent, session, branch] = scope.dimensions().map(|(_, name)| name.unwrap_or_default());
    hash_names("memory-engine 2026 address", [agent, session, branch])
}

/// Hashes names to a UUID. No name is empty, so that an empty string represents a name that is not set.
fn hash_names<const N: usize>(context: &str, parts: [&str; N]) -> Uuid {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

pub(crate) fn uuid(id: RecordId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(crate) fn uuids(ids: &[RecordId]) -> Vec<Uuid> {
    ids.iter().copied().map(uuid).collect()
}

pub(crate) fn record_id(id: Uuid) -> RecordId {
    RecordId::from_bytes(*id.as_bytes())
}

/// Reads a scope from the columns `tenant`, `username`, `agent`, `session` and `branch` of a row.
pub(crate) fn read(row: &PgRow) -> Result<Scope, PostgresError> {
    let name = |column: &str| row.try_get::<&str, _>(column);
    let names = [name("tenant")?, name("username")?, name("agent")?, name("session")?, name("branch")?];
    Ok(rows::scope(names)?)
}

/// As [`read`]. A scope with a name that no scope can have is read as that of its user.
pub(crate) fn read_or_user(row: &PgRow) -> Result<Scope, PostgresError> {
    read(row).or_else(|_| Ok(rows::scope([row.try_get("tenant")?, row.try_get("username")?, "", "", ""])?))
}

/// Inserts the addresses of these scopes that do not exist yet. Their namespaces must exist.
pub(crate) async fn insert_addresses(connection: &mut PgConnection, scopes: &[&Scope]) -> Result<(), PostgresError> {
    let names = |dimension: usize| -> Vec<String> {
        scopes.iter().map(|scope| scope.dimensions()[dimension].1.unwrap_or_default().to_owned()).collect()
    };
    let addresses: Vec<Uuid> = scopes.iter().map(|scope| address(scope)).collect();
    sqlx::query(
        "INSERT INTO scopes (namespace, scope, agent, session, branch)
         SELECT x.* FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) x
         ON CONFLICT (namespace, scope) DO NOTHING",
    )
    .bind(scopes.iter().map(|scope| namespace(scope)).collect::<Vec<_>>())
    .bind(addresses)
    .bind(names(1))
    .bind(names(2))
    .bind(names(3))
    .execute(connection)
    .await?;
    Ok(())
}

/// Inserts the address of a namespace without agent, session and branch, if it does not exist yet. Returns it.
pub(crate) async fn insert_user_address(connection: &mut PgConnection, namespace: Uuid) -> Result<Uuid, PostgresError> {
    let address = hash_names("memory-engine 2026 address", ["", "", ""]);
    let sql = "INSERT INTO scopes (namespace, scope, agent, session, branch) VALUES ($1, $2, '', '', '')
               ON CONFLICT (namespace, scope) DO NOTHING";
    sqlx::query(sql).bind(namespace).bind(address).execute(connection).await?;
    Ok(address)
}

/// The namespaces and addresses that a scope covers for reading.
#[derive(Debug, Clone)]
pub(crate) struct CoveredScope {
    owner: OwnerFilter,
    /// Names of the dimensions below the user.
    dimensions: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
enum OwnerFilter {
    /// One user: one namespace, a bound parameter of every statement.
    User(Uuid),
    /// All users of a tenant. These statements read every partition.
    Tenant(String),
    /// All namespaces, on the assumption that this is the only tenant. The statement has to check it.
    OnlyTenant(String),
}

/// Records whether the database was found to have several tenants.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tenants {
    has_several: Arc<AtomicBool>,
}

impl Tenants {
    /// Returns the covered scope of a statement that checks [`CoveredScope::push_correctness_check`].
    ///
    /// While only one tenant was found, a scope of the whole tenant covers all namespaces: comparing the namespace of
    /// each row with those of a tenant takes longer than finding the rows.
    pub(crate) fn assumed_cover(&self, scope: &Scope) -> CoveredScope {
        let exact = CoveredScope::of(scope);
        match exact.owner {
            OwnerFilter::Tenant(tenant) if !self.has_several.load(Ordering::Relaxed) => {
                CoveredScope { owner: OwnerFilter::OnlyTenant(tenant), ..exact }
            }
            OwnerFilter::User(_) | OwnerFilter::Tenant(_) | OwnerFilter::OnlyTenant(_) => exact,
        }
    }

    /// Records that the database has more than one tenant.
    pub(crate) fn set_several(&self) {
        self.has_several.store(true, Ordering::Relaxed);
    }
}

impl CoveredScope {
    /// Returns the namespaces and addresses that `scope` covers.
    pub(crate) fn of(scope: &Scope) -> Self {
        let owner = match scope.user_name() {
            Some(_) => OwnerFilter::User(namespace(scope)),
            None => OwnerFilter::Tenant(scope.tenant().to_owned()),
        };
        Self { owner, dimensions: rows::dimensions_below_user(scope) }
    }

    /// Returns the whole of a namespace.
    pub(crate) fn of_namespace(namespace: Uuid) -> Self {
        Self { owner: OwnerFilter::User(namespace), dimensions: Vec::new() }
    }

    /// Returns true if it covers all users of a tenant.
    pub(crate) fn is_tenant_wide(&self) -> bool {
        matches!(self.owner, OwnerFilter::Tenant(_) | OwnerFilter::OnlyTenant(_))
    }

    /// Returns the part of the scope in one namespace.
    pub(crate) fn within(&self, namespace: Uuid) -> Self {
        Self { owner: OwnerFilter::User(namespace), dimensions: self.dimensions.clone() }
    }

    /// Returns the covered namespaces, ordered by user. The namespace of a single user may not exist.
    pub(crate) async fn namespaces(&self, connection: &mut PgConnection) -> Result<Vec<Uuid>, PostgresError> {
        match &self.owner {
            OwnerFilter::User(namespace) => Ok(vec![*namespace]),
            OwnerFilter::Tenant(tenant) | OwnerFilter::OnlyTenant(tenant) => {
                let sql = "SELECT n.namespace FROM namespaces n WHERE n.tenant = $1 ORDER BY n.username";
                Ok(sqlx::query_scalar(sql).bind(tenant).fetch_all(connection).await?)
            }
        }
    }

    /// Appends the condition that `row`, which has the columns `namespace` and `address`, is covered. This condition
    /// enforces the scope in every statement.
    pub(crate) fn push_row_condition(&self, row: &'static str, statement: &mut StatementBuilder) {
        self.push_namespace_condition(row, statement);
        if self.dimensions.is_empty() {
            return;
        }
        match &self.owner {
            OwnerFilter::User(_) => {
                statement.push(" AND ").push(row);
                statement.push(".scope = ANY (ARRAY(SELECT w.scope FROM scopes w WHERE ");
                self.push_address_condition("w", statement);
                statement.push("))");
            }
            OwnerFilter::Tenant(_) | OwnerFilter::OnlyTenant(_) => {
                statement.push(" AND (").push(row).push(".namespace, ").push(row);
                statement.push(".scope) IN (SELECT w.namespace, w.scope FROM scopes w WHERE ");
                self.push_address_condition("w", statement);
                statement.push(")");
            }
        }
    }

    /// Appends the condition that `row` of `addresses` is covered.
    pub(crate) fn push_address_condition(&self, row: &'static str, statement: &mut StatementBuilder) {
        self.push_namespace_condition(row, statement);
        self.push_dimension_conditions(row, statement);
    }

    /// Appends the rows of these records in `table`, which has the alias `row`, and their order: if several users of a
    /// tenant have a record of one id, the first by user comes first, as everywhere.
    ///
    /// Only the table of the records has an index by id alone, so the rows of a whole tenant are found through it.
    pub(crate) fn push_rows_by_id(
        &self,
        table: &'static str,
        row: &'static str,
        ids: &[RecordId],
        statement: &mut StatementBuilder,
    ) {
        let ids = uuids(ids);
        if self.is_tenant_wide() {
            statement.push(
                "records r JOIN namespaces n ON n.namespace = r.namespace
                JOIN scopes a ON a.namespace = r.namespace AND ",
            );
            statement
                .push("a.scope = r.scope JOIN ")
                .push(table)
                .push(" ON ")
                .push(row)
                .push(".namespace = r.namespace AND ");
            statement.push(row).push(".id = r.id WHERE r.id = ANY (").bind(ids).push(") AND ");
            self.push_joined_record_condition(statement);
            statement.push(" ORDER BY n.username");
        } else {
            statement.push(table).push(" WHERE ").push(row).push(".id = ANY (").bind(ids).push(") AND ");
            self.push_row_condition(row, statement);
        }
    }

    /// Appends the condition that the record `r`, joined with its namespace `n` and its address `a`, is covered.
    pub(crate) fn push_joined_record_condition(&self, statement: &mut StatementBuilder) {
        match &self.owner {
            OwnerFilter::User(namespace) => statement.push("r.namespace = ").bind(*namespace),
            OwnerFilter::Tenant(tenant) | OwnerFilter::OnlyTenant(tenant) => {
                statement.push("n.tenant = ").bind(tenant.clone())
            }
        };
        self.push_dimension_conditions("a", statement);
    }

    /// Appends the condition that `row` of `addresses` has the agent, session and branch that the scope names.
    fn push_dimension_conditions(&self, row: &'static str, statement: &mut StatementBuilder) {
        for (dimension, name) in &self.dimensions {
            statement.push(" AND ").push(row).push(match *dimension {
                "agent" => ".agent = ",
                "session" => ".session = ",
                _ => ".branch = ",
            });
            statement.bind(name.clone());
        }
    }

    /// Appends the condition that the covered scope is correct, as one boolean value. It is false if there is more than
    /// one tenant although only one was assumed; the rows of the statement must then be discarded.
    pub(crate) fn push_correctness_check(&self, statement: &mut StatementBuilder) {
        match &self.owner {
            OwnerFilter::User(_) | OwnerFilter::Tenant(_) => drop(statement.push("true")),
            OwnerFilter::OnlyTenant(tenant) => {
                statement.push("(SELECT coalesce(min(t.tenant) = ").bind(tenant.clone());
                statement.push(" AND max(t.tenant) = ").bind(tenant.clone());
                statement.push(", true) FROM namespaces t)");
            }
        }
    }

    /// Appends the condition that a joined `row` is in the namespace of the user, if the scope has one. The join
    /// implies it, but the planner does not infer that, and would read all partitions.
    pub(crate) fn push_joined_namespace_condition(&self, row: &'static str, statement: &mut StatementBuilder) {
        if !self.is_tenant_wide() {
            self.push_namespace_condition(row, statement.push(" AND "));
        }
    }

    /// Appends the condition that `row` belongs to a covered namespace.
    pub(crate) fn push_namespace_condition(&self, row: &'static str, statement: &mut StatementBuilder) {
        match &self.owner {
            OwnerFilter::OnlyTenant(_) => statement.push("true"),
            OwnerFilter::User(namespace) => statement.push(row).push(".namespace = ").bind(*namespace),
            OwnerFilter::Tenant(tenant) => statement
                .push(row)
                .push(".namespace IN (SELECT t.namespace FROM namespaces t WHERE t.tenant = ")
                .bind(tenant.clone())
                .push(")"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_depends_only_on_tenant_and_user() {
        let lin = Scope::user("lin").unwrap();
        assert_eq!(namespace(&lin), namespace(&lin.clone().with_session("s").unwrap()));
        let others =
            [Scope::user("mo").unwrap(), Scope::tenant_wide("default").unwrap(), Scope::tenant_wide("lin").unwrap()];
        assert!(others.iter().all(|other| namespace(other) != namespace(&lin)));
        // These UUIDs are stored in databases: with other ones, all stored data would be lost.
        assert_eq!(namespace(&lin).to_string(), "730fa790-35ac-8067-9535-c413957e7cfa");
        assert_eq!(address(&lin).to_string(), "219e7343-45c1-8989-ba40-119900db869f");
    }

    #[test]
    fn adjacent_names_are_separated_in_the_hash() {
        let scope =
            |agent: &str, session: &str| Scope::user("lin").unwrap().with_agent(agent).unwrap().with_session(session);
        assert_ne!(address(&scope("ab", "c").unwrap()), address(&scope("a", "bc").unwrap()));
    }
}
