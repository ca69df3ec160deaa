//! Scopes as UUIDs, and as conditions.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memory_engine_core::{RecordId, Scope};
use memory_engine_sql::rows;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::{database::error::PostgresError, database::statement::Statement};

/// The namespace of a scope: its tenant and user, as a UUID that everyone computes alike.
pub(crate) fn namespace(scope: &Scope) -> Uuid {
    digest("memory-engine 2026 namespace", [scope.tenant(), scope.user_name().unwrap_or_default()])
}

/// The tenant of a scope, likewise.
pub(crate) fn tenant(scope: &Scope) -> Uuid {
    digest("memory-engine 2026 tenant", [scope.tenant()])
}

/// The rest of an address, as a UUID that everyone computes alike.
pub(crate) fn address(scope: &Scope) -> Uuid {
    let [_, agent, session, branch] = scope.dimensions().map(|(_, name)| name.unwrap_or_default());
    digest("memory-engine 2026 address", [agent, session, branch])
}

// No name is empty, so that '' can stand for one that is not set.
fn digest<const N: usize>(context: &str, parts: [&str; N]) -> Uuid {
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

/// The scope in a row with the columns `tenant`, `username`, `agent`, `session` and `branch`.
pub(crate) fn read(row: &PgRow) -> Result<Scope, PostgresError> {
    let name = |column: &str| row.try_get::<&str, _>(column);
    let names = [name("tenant")?, name("username")?, name("agent")?, name("session")?, name("branch")?];
    Ok(rows::scope(names)?)
}

/// Makes the addresses known; their namespaces have to be.
pub(crate) async fn settle(connection: &mut PgConnection, scopes: &[&Scope]) -> Result<(), PostgresError> {
    let names = |place: usize| -> Vec<String> {
        scopes.iter().map(|scope| scope.dimensions()[place].1.unwrap_or_default().to_owned()).collect()
    };
    let addresses: Vec<Uuid> = scopes.iter().map(|scope| address(scope)).collect();
    sqlx::query(
        "INSERT INTO addresses (ns, address, agent, session, branch)
         SELECT x.* FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) x
         ON CONFLICT (ns, address) DO NOTHING",
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

/// The namespaces that a reading scope covers.
#[derive(Debug, Clone)]
pub(crate) struct CoveredScope {
    whose: OwnerFilter,
    below: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
enum OwnerFilter {
    /// One user: one namespace, a bound parameter of every statement.
    User(Uuid),
    /// All users of a tenant. These statements go to every partition.
    Tenant(String),
    /// All there are, where there is no other tenant: the statement has to ask for that.
    Everyone(String),
}

/// The tenants that this process has seen in the database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tenants {
    several: Arc<AtomicBool>,
}

impl Tenants {
    /// Returns the reach of `scope`, for a statement that checks [`CoveredScope::push_assumption_check`]. If only one
    /// tenant is known, a scope of the whole tenant covers everything: comparing the owner of each row with all
    /// namespaces of a tenant takes longer than finding the rows.
    pub(crate) fn reach(&self, scope: &Scope) -> CoveredScope {
        let exact = CoveredScope::of(scope);
        match exact.whose {
            OwnerFilter::Tenant(tenant) if !self.several.load(Ordering::Relaxed) => {
                CoveredScope { whose: OwnerFilter::Everyone(tenant), ..exact }
            }
            OwnerFilter::User(_) | OwnerFilter::Tenant(_) | OwnerFilter::Everyone(_) => exact,
        }
    }

    /// Notes that another tenant was met.
    pub(crate) fn note_several(&self) {
        self.several.store(true, Ordering::Relaxed);
    }
}

impl CoveredScope {
    /// Returns the reach of `scope`.
    pub(crate) fn of(scope: &Scope) -> Self {
        let whose = match scope.user_name() {
            Some(_) => OwnerFilter::User(namespace(scope)),
            None => OwnerFilter::Tenant(scope.tenant().to_owned()),
        };
        Self { whose, below: rows::dimensions_below_user(scope) }
    }

    /// Returns true if it covers all users of a tenant.
    pub(crate) fn is_tenant_wide(&self) -> bool {
        matches!(self.whose, OwnerFilter::Tenant(_) | OwnerFilter::Everyone(_))
    }

    /// Returns the part of it in this namespace.
    pub(crate) fn within(&self, ns: Uuid) -> Self {
        Self { whose: OwnerFilter::User(ns), below: self.below.clone() }
    }

    /// The namespaces within reach that are there, by user.
    pub(crate) async fn namespaces(&self, connection: &mut PgConnection) -> Result<Vec<Uuid>, PostgresError> {
        match &self.whose {
            OwnerFilter::User(ns) => Ok(vec![*ns]),
            OwnerFilter::Tenant(tenant) | OwnerFilter::Everyone(tenant) => {
                let sql = "SELECT n.ns FROM namespaces n WHERE n.tenant = $1 ORDER BY n.username";
                Ok(sqlx::query_scalar(sql).bind(tenant).fetch_all(connection).await?)
            }
        }
    }

    /// The condition that `row`, which has `ns` and `address`, is within reach: the authority in every statement.
    pub(crate) fn holds(&self, row: &'static str, statement: &mut Statement) {
        self.owns(row, statement);
        if self.below.is_empty() {
            return;
        }
        match &self.whose {
            OwnerFilter::User(_) => {
                statement.push(" AND ").push(row);
                statement.push(".address = ANY (ARRAY(SELECT w.address FROM addresses w WHERE ");
                self.push_exact_scope("w", statement);
                statement.push("))");
            }
            OwnerFilter::Tenant(_) | OwnerFilter::Everyone(_) => {
                statement.push(" AND (").push(row).push(".ns, ").push(row);
                statement.push(".address) IN (SELECT w.ns, w.address FROM addresses w WHERE ");
                self.push_exact_scope("w", statement);
                statement.push(")");
            }
        }
    }

    /// The condition that `row` of `addresses` is within reach.
    pub(crate) fn push_exact_scope(&self, row: &'static str, statement: &mut Statement) {
        self.owns(row, statement);
        self.push_inside_scope(row, statement);
    }

    /// The condition that the record `r`, with its namespace `n` and its address `a`, is within reach.
    pub(crate) fn holds_joined(&self, statement: &mut Statement) {
        match &self.whose {
            OwnerFilter::User(ns) => statement.push("r.ns = ").bind(*ns),
            OwnerFilter::Tenant(tenant) | OwnerFilter::Everyone(tenant) => {
                statement.push("n.tenant = ").bind(tenant.clone())
            }
        };
        self.push_inside_scope("a", statement);
    }

    /// Goes on with the condition that `row` of `addresses` is at the places that the scope names.
    fn push_inside_scope(&self, row: &'static str, statement: &mut Statement) {
        for (dimension, name) in &self.below {
            statement.push(" AND ").push(row).push(match *dimension {
                "agent" => ".agent = ",
                "session" => ".session = ",
                _ => ".branch = ",
            });
            statement.bind(name.clone());
        }
    }

    /// The condition under which everything that it covers is what the scope reaches, in one value. True as a rule;
    /// where it is not, nothing that was found may be given.
    pub(crate) fn push_assumption_check(&self, statement: &mut Statement) {
        match &self.whose {
            OwnerFilter::User(_) | OwnerFilter::Tenant(_) => drop(statement.push("true")),
            OwnerFilter::Everyone(tenant) => {
                statement.push("(SELECT coalesce(min(t.tenant) = ").bind(tenant.clone());
                statement.push(" AND max(t.tenant) = ").bind(tenant.clone());
                statement.push(", true) FROM namespaces t)");
            }
        }
    }

    /// Appends the condition that `row` belongs to a covered namespace.
    pub(crate) fn owns(&self, row: &'static str, statement: &mut Statement) {
        match &self.whose {
            OwnerFilter::Everyone(_) => statement.push("true"),
            OwnerFilter::User(ns) => statement.push(row).push(".ns = ").bind(*ns),
            OwnerFilter::Tenant(tenant) => statement
                .push(row)
                .push(".ns IN (SELECT t.ns FROM namespaces t WHERE t.tenant = ")
                .bind(tenant.clone())
                .push(")"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_tenant_and_user_and_nothing_else() {
        let lin = Scope::user("lin").unwrap();
        assert_eq!(namespace(&lin), namespace(&lin.clone().with_session("s").unwrap()));
        let others =
            [Scope::user("mo").unwrap(), Scope::tenant_wide("default").unwrap(), Scope::tenant_wide("lin").unwrap()];
        assert!(others.iter().all(|other| namespace(other) != namespace(&lin)));
        // Kept in databases: a change would lose everything that is stored.
        assert_eq!(namespace(&lin).to_string(), "730fa790-35ac-8067-9535-c413957e7cfa");
        assert_eq!(address(&lin).to_string(), "219e7343-45c1-8989-ba40-119900db869f");
    }

    #[test]
    fn names_do_not_run_into_each_other() {
        let scope =
            |agent: &str, session: &str| Scope::user("lin").unwrap().with_agent(agent).unwrap().with_session(session);
        assert_ne!(address(&scope("ab", "c").unwrap()), address(&scope("a", "bc").unwrap()));
    }
}
