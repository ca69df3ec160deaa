//! The addresses of a database in memory. Addresses are only added, never changed or removed.

use std::sync::Arc;

use memory_engine_core::{RecordId, Scope};
use parking_lot::RwLock;
use rusqlite::{Connection, Row};
use rustc_hash::FxHashMap;

use crate::{
    database::error::SqliteError,
    rows::scopes::{self, CoveredScope},
};

/// All addresses with their numbers and names. Searches and reads do not query the database for them.
#[derive(Debug, Default)]
pub(crate) struct AddressCache {
    loaded: RwLock<LoadedAddresses>,
}

#[derive(Debug, Default)]
struct LoadedAddresses {
    /// Ascending by their numbers.
    addresses: Vec<AddressRow>,
    tenants: FxHashMap<i64, Tenant>,
    users: FxHashMap<i64, User>,
    /// Numbers of the tenants, by name.
    tenant_numbers: FxHashMap<Arc<str>, i64>,
}

/// A row of the table `scopes`.
#[derive(Debug)]
struct AddressRow {
    scope: i64,
    namespace: i64,
    /// Names of agent, session and branch.
    dimensions: [Box<str>; 3],
}

#[derive(Debug)]
struct Tenant {
    name: Arc<str>,
    /// Namespaces of its users, by name.
    users: FxHashMap<Arc<str>, i64>,
    /// Positions of its addresses.
    positions: Vec<u32>,
}

#[derive(Debug)]
struct User {
    tenant: i64,
    /// Empty for records that belong to no user.
    name: Arc<str>,
    /// Positions of the user's addresses.
    positions: Vec<u32>,
}

impl AddressCache {
    /// Returns the part of the database that `scope` covers; `None` if nothing was ever written there.
    pub(crate) fn covered_scope(
        &self,
        connection: &Connection,
        scope: &Scope,
    ) -> Result<Option<CoveredScope>, SqliteError> {
        let covered = self.loaded.read().covered_scope(scope);
        if covered.is_some() { Ok(covered) } else { CoveredScope::of(connection, scope) }
    }

    /// Returns what `read` reads of the records of these ids within `scope`, aligned with the ids. The rows that `sql`
    /// returns for an id begin with the number of their scope. `read` returns `None` for a row whose scope is not
    /// covered. If several users of the tenant have a record of an id, that of the first user by name is taken.
    pub(crate) fn read_by_ids<T>(
        &self,
        connection: &Connection,
        scope: &Scope,
        sql: &str,
        ids: &[RecordId],
        mut read: impl FnMut(&Row<'_>, RecordId, &CoveredScope, i64) -> Result<Option<T>, SqliteError>,
    ) -> Result<Vec<Option<T>>, SqliteError> {
        let Some(covered) = self.covered_scope(connection, scope)? else {
            return Ok(ids.iter().map(|_| None).collect());
        };
        let user = |scope| self.user(connection, &covered, scope);
        let mut prepared = connection.prepare_cached(sql)?;
        let mut find = |id: &RecordId| {
            let mut rows = prepared.query([id.as_bytes()])?;
            let mut found: Option<(i64, T)> = None;
            while let Some(row) = rows.next()? {
                let scope = row.get(0)?;
                if let Some((first, _)) = found
                    && user(scope)? >= user(first)?
                {
                    continue;
                }
                found = read(row, *id, &covered, scope)?.map(|value| (scope, value)).or(found);
            }
            Ok(found.map(|(_, value)| value))
        };
        ids.iter().map(&mut find).collect()
    }

    /// Returns the numbers of the covered addresses, at least those that this transaction sees.
    pub(crate) fn scopes_within(
        &self,
        connection: &Connection,
        covered: &CoveredScope,
    ) -> Result<Vec<i64>, SqliteError> {
        let last_scope = connection
            .prepare_cached("SELECT coalesce(max(scope), 0) FROM scopes")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        self.read_up_to(connection, last_scope)?;
        let loaded = self.loaded.read();
        let positions = match covered.namespace {
            Some(namespace) => loaded.users.get(&namespace).map(|user| &user.positions),
            None => loaded.tenants.get(&covered.tenant).map(|tenant| &tenant.positions),
        };
        let names = required_names(covered);
        let addresses = positions.into_iter().flatten().map(|position| &loaded.addresses[*position as usize]);
        Ok(addresses.filter(|address| address.has_names(&names)).map(|address| address.scope).collect())
    }

    /// Returns the address with this number, if it is covered.
    pub(crate) fn scope(
        &self,
        connection: &Connection,
        covered: &CoveredScope,
        scope: i64,
    ) -> Result<Option<Scope>, SqliteError> {
        self.read_up_to(connection, scope)?;
        let loaded = self.loaded.read();
        let Some((address, user)) = loaded.covered_address(covered, scope) else { return Ok(None) };
        let Some(tenant) = loaded.tenants.get(&user.tenant) else { return Ok(None) };
        let [agent, session, branch] = &address.dimensions;
        // Records with a name that no scope can have are left out: scans and the health check report them.
        Ok(scopes::from_names([&tenant.name, &user.name, agent, session, branch]).ok())
    }

    /// Returns the name of the user at the address with this number, if it is covered; an empty name for no user.
    pub(crate) fn user(
        &self,
        connection: &Connection,
        covered: &CoveredScope,
        scope: i64,
    ) -> Result<Option<Arc<str>>, SqliteError> {
        self.read_up_to(connection, scope)?;
        let loaded = self.loaded.read();
        Ok(loaded.covered_address(covered, scope).map(|(_, user)| Arc::clone(&user.name)))
    }

    /// Reads new addresses from the database, if the address `scope` is not loaded yet.
    fn read_up_to(&self, connection: &Connection, scope: i64) -> Result<(), SqliteError> {
        if self.loaded.read().last_scope() < scope {
            self.loaded.write().read_new(connection)?;
        }
        Ok(())
    }
}

impl Tenant {
    fn new(name: Arc<str>) -> Self {
        Self { name, users: FxHashMap::default(), positions: Vec::new() }
    }
}

/// Returns the names of the dimensions that a covered scope sets, each with its index in [`AddressRow::dimensions`].
fn required_names(covered: &CoveredScope) -> Vec<(usize, &str)> {
    let index = |dimension: &str| match dimension {
        "agent" => 0,
        "session" => 1,
        _ => 2,
    };
    covered.dimensions().iter().map(|(name, value)| (index(name), value.as_str())).collect()
}

impl AddressRow {
    fn has_names(&self, names: &[(usize, &str)]) -> bool {
        names.iter().all(|(index, name)| &*self.dimensions[*index] == *name)
    }
}

impl LoadedAddresses {
    fn covered_scope(&self, scope: &Scope) -> Option<CoveredScope> {
        let number = *self.tenant_numbers.get(scope.tenant())?;
        let namespace = match scope.user_name() {
            None => None,
            Some(user) => Some(*self.tenants.get(&number)?.users.get(user)?),
        };
        Some(CoveredScope::new(number, namespace, scope))
    }

    /// Returns the address with this number and its user, if it is covered.
    fn covered_address(&self, covered: &CoveredScope, scope: i64) -> Option<(&AddressRow, &User)> {
        let position = self.addresses.binary_search_by_key(&scope, |address| address.scope).ok()?;
        let address = &self.addresses[position];
        let user = self.users.get(&address.namespace)?;
        let is_covered = user.tenant == covered.tenant
            && covered.namespace.is_none_or(|namespace| namespace == address.namespace)
            && address.has_names(&required_names(covered));
        is_covered.then_some((address, user))
    }

    fn last_scope(&self) -> i64 {
        self.addresses.last().map_or(0, |address| address.scope)
    }

    /// Reads the addresses that are not loaded yet.
    fn read_new(&mut self, connection: &Connection) -> Result<(), SqliteError> {
        let sql = "SELECT s.scope, s.namespace, s.agent, s.session, s.branch, n.tenant, n.user, t.name
            FROM scopes s CROSS JOIN namespaces n ON n.namespace = s.namespace
            CROSS JOIN tenants t ON t.tenant = n.tenant
            WHERE s.scope > ?1 ORDER BY s.scope";
        let mut prepared = connection.prepare_cached(sql)?;
        let mut rows = prepared.query([self.last_scope()])?;
        while let Some(row) = rows.next()? {
            let position = self.addresses.len() as u32;
            let name = |column: usize| -> Result<String, SqliteError> {
                // In place of a damaged name, one that no scope can have.
                Ok(row.get_ref(column)?.as_str().unwrap_or("\0").to_owned())
            };
            let scope = row.get(0)?;
            let namespace = row.get(1)?;
            let tenant = row.get(5)?;
            let dimensions = [name(2)?, name(3)?, name(4)?].map(String::into_boxed_str);
            self.addresses.push(AddressRow { scope, namespace, dimensions });
            let user_name: Arc<str> = name(6)?.into();
            let tenant_name: Arc<str> = name(7)?.into();
            self.tenant_numbers.entry(Arc::clone(&tenant_name)).or_insert(tenant);
            let tenant_entry = self.tenants.entry(tenant).or_insert_with(|| Tenant::new(tenant_name));
            tenant_entry.positions.push(position);
            tenant_entry.users.entry(Arc::clone(&user_name)).or_insert(namespace);
            let user = || User { tenant, name: user_name, positions: Vec::new() };
            self.users.entry(namespace).or_insert_with(user).positions.push(position);
        }
        Ok(())
    }
}
