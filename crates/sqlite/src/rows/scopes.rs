//! The numbers of tenants, namespaces and scopes in the database.

use memory_engine_core::Scope;
use memory_engine_sql::rows;
use rusqlite::{Connection, OptionalExtension, Row, params, types::Value};

use crate::{database::error::SqliteError, database::statement::Statement};

/// The address of a record: the numbers of its tenant, namespace and scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordAddress {
    pub(crate) tenant: i64,
    pub(crate) namespace: i64,
    pub(crate) scope: i64,
}

/// The part of a tenant that the scope of a read covers.
#[derive(Debug)]
pub(crate) struct CoveredScope {
    pub(crate) tenant: i64,
    /// The user, if the scope sets one.
    pub(crate) namespace: Option<i64>,
    /// The dimensions below the user that the scope sets: column name and value.
    dimensions: Vec<(&'static str, String)>,
}

/// Reads the scope of a row that begins with `t.name, n.user, s.agent, s.session, s.branch`.
pub(crate) fn read(row: &Row<'_>) -> Result<Scope, SqliteError> {
    let mut names = [""; 5];
    for (column, name) in names.iter_mut().enumerate() {
        *name = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    }
    from_names(names)
}

/// Returns the scope of these names: tenant, user, agent, session and branch; empty for a dimension that is not set.
pub(crate) fn from_names(names: [&str; 5]) -> Result<Scope, SqliteError> {
    Ok(rows::scope(names)?)
}

/// As [`read`]. A scope with a name that no scope can have is read as that of its user.
pub(crate) fn read_or_user(row: &Row<'_>) -> Result<Scope, SqliteError> {
    read(row).or_else(|error| {
        let name = |column| row.get_ref(column).ok().and_then(|name| name.as_str().ok());
        let (Some(tenant), Some(user)) = (name(0), name(1)) else { return Err(error) };
        from_names([tenant, user, "", "", ""])
    })
}

/// Returns the numbers of a scope. Creates the missing ones.
pub(crate) fn get_or_create(connection: &Connection, scope: &Scope) -> Result<RecordAddress, SqliteError> {
    let sql = "SELECT t.tenant, n.namespace, s.scope FROM tenants t
        CROSS JOIN namespaces n ON n.tenant = t.tenant AND n.user = ?2
        CROSS JOIN scopes s ON s.namespace = n.namespace AND s.agent = ?3 AND s.session = ?4 AND s.branch = ?5
        WHERE t.name = ?1";
    let [_, agent, session, branch] = scope.dimensions().map(|(_, name)| name.unwrap_or_default());
    let key = params![scope.tenant(), scope.user_name().unwrap_or_default(), agent, session, branch];
    let read = |row: &Row<'_>| {
        Ok(RecordAddress { tenant: row.get("tenant")?, namespace: row.get("namespace")?, scope: row.get("scope")? })
    };
    match connection.prepare_cached(sql)?.query_row(key, read).optional()? {
        Some(address) => Ok(address),
        None => create(connection, scope),
    }
}

fn create(connection: &Connection, scope: &Scope) -> Result<RecordAddress, SqliteError> {
    let tenant = get_or_insert(
        connection,
        "SELECT tenant FROM tenants WHERE name = ?1",
        "INSERT INTO tenants (name) VALUES (?1)",
        params![scope.tenant()],
    )?;
    let namespace = get_or_insert(
        connection,
        "SELECT namespace FROM namespaces WHERE tenant = ?1 AND user = ?2",
        "INSERT INTO namespaces (tenant, user) VALUES (?1, ?2)",
        params![tenant, scope.user_name().unwrap_or_default()],
    )?;
    let [_, agent, session, branch] = scope.dimensions().map(|(_, name)| name.unwrap_or_default());
    let scope = get_or_insert(
        connection,
        "SELECT scope FROM scopes WHERE namespace = ?1 AND agent = ?2 AND session = ?3 AND branch = ?4",
        "INSERT INTO scopes (namespace, agent, session, branch) VALUES (?1, ?2, ?3, ?4)",
        params![namespace, agent, session, branch],
    )?;
    Ok(RecordAddress { tenant, namespace, scope })
}

/// Returns the number of the scope of a namespace without agent, session and branch. Creates it if it is missing.
pub(crate) fn of_namespace(connection: &Connection, namespace: i64) -> Result<i64, SqliteError> {
    Ok(get_or_insert(
        connection,
        "SELECT scope FROM scopes WHERE namespace = ?1 AND agent = '' AND session = '' AND branch = ''",
        "INSERT INTO scopes (namespace, agent, session, branch) VALUES (?1, '', '', '')",
        params![namespace],
    )?)
}

/// Returns the number that `find` selects by `key`. If there is none, runs `insert` and returns the new one.
fn get_or_insert(
    connection: &Connection,
    find: &'static str,
    insert: &'static str,
    key: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<i64> {
    match connection.prepare_cached(find)?.query_row(key, |row| row.get(0)).optional()? {
        Some(number) => Ok(number),
        None => connection.prepare_cached(insert)?.insert(key),
    }
}

/// Returns the number of the namespace of a scope, which its tenant and user identify. `None` if it is not stored.
pub(crate) fn namespace(connection: &Connection, scope: &Scope) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT namespace FROM namespaces WHERE user = ?2
             AND tenant = (SELECT tenant FROM tenants WHERE name = ?1)",
        )?
        .query_row(params![scope.tenant(), scope.user_name().unwrap_or_default()], |row| row.get(0))
        .optional()
}

impl CoveredScope {
    /// Returns the part of the database that `scope` covers; `None` if nothing was ever written there.
    pub(crate) fn of(connection: &Connection, scope: &Scope) -> Result<Option<Self>, SqliteError> {
        let tenant = connection
            .prepare_cached("SELECT tenant FROM tenants WHERE name = ?1")?
            .query_row([scope.tenant()], |row| row.get(0))
            .optional()?;
        let Some(tenant) = tenant else { return Ok(None) };
        let namespace = match scope.user_name() {
            None => None,
            Some(_) => match namespace(connection, scope)? {
                None => return Ok(None),
                found => found,
            },
        };
        Ok(Some(Self::new(tenant, namespace, scope)))
    }

    /// Returns the covered scope of these numbers of a tenant and a user.
    pub(crate) fn new(tenant: i64, namespace: Option<i64>, scope: &Scope) -> Self {
        Self { tenant, namespace, dimensions: rows::dimensions_below_user(scope) }
    }

    /// Returns the dimensions below the user that the scope sets: column name and value.
    pub(crate) fn dimensions(&self) -> &[(&'static str, String)] {
        &self.dimensions
    }

    /// Returns true if the scope sets a session or a branch of a user, so that it covers few records.
    pub(crate) fn is_narrow(&self) -> bool {
        self.namespace.is_some() && self.dimensions.iter().any(|(name, _)| *name != "agent")
    }

    /// Appends the condition that `column`, the number of a namespace, is covered.
    pub(crate) fn push_namespace_condition(&self, column: &'static str, statement: &mut Statement) {
        statement.push(column);
        match self.namespace {
            Some(namespace) => statement.push(" = ").bind(namespace),
            None => statement.push(" IN (SELECT namespace FROM namespaces WHERE tenant = ").bind(self.tenant).push(")"),
        };
    }

    /// Appends the condition that the row `s` of `scopes` is covered. Every statement that reads records must contain
    /// it.
    pub(crate) fn push_scope_condition(&self, statement: &mut Statement) {
        self.push_namespace_condition("s.namespace", statement);
        self.push_dimension_conditions(statement);
    }

    /// Appends the condition that a record `r` with the namespace `n` and the scope `s` is covered. A scope of a whole
    /// user or tenant also covers a record whose scope is missing.
    pub(crate) fn push_stub_condition(&self, statement: &mut Statement) {
        match self.namespace {
            _ if !self.dimensions.is_empty() => self.push_condition_for_scope(statement),
            Some(namespace) => drop(statement.push("r.namespace = ").bind(namespace)),
            None => drop(statement.push("n.tenant = ").bind(self.tenant)),
        }
    }

    fn push_dimension_conditions(&self, statement: &mut Statement) {
        for (dimension, name) in &self.dimensions {
            statement.push(match *dimension {
                "agent" => " AND s.agent = ",
                "session" => " AND s.session = ",
                _ => " AND s.branch = ",
            });
            statement.bind(Value::Text(name.clone()));
        }
    }

    /// Appends the same condition as [`push_scope_condition`](Self::push_scope_condition), for a statement that finds
    /// the row `s` by its number: it checks the namespace of that row instead of listing the namespaces of the tenant.
    pub(crate) fn push_condition_for_scope(&self, statement: &mut Statement) {
        if self.namespace.is_some() {
            return self.push_scope_condition(statement);
        }
        statement.push("(SELECT u.tenant FROM namespaces u WHERE u.namespace = s.namespace) = ").bind(self.tenant);
        self.push_dimension_conditions(statement);
    }
}
