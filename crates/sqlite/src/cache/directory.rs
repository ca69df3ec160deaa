//! The addresses of the file in memory: they are only ever added.

use std::sync::Arc;

use memory_engine_core::Scope;
use parking_lot::RwLock;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use crate::{
    database::error::SqliteError,
    records::scopes::{self, Reach},
};

/// Every address by its numbers and names, so that a search over many of them, or a record that is read, need not read them
/// from the file.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By their numbers, which only grow.
    addresses: Vec<Address>,
    tenants: FxHashMap<i64, Tenant>,
    users: FxHashMap<i64, User>,
    /// The numbers of the tenants.
    numbers: FxHashMap<Arc<str>, i64>,
}

#[derive(Debug)]
struct Address {
    scope: i64,
    namespace: i64,
    /// Agent, session and branch.
    below: [Box<str>; 3],
}

#[derive(Debug)]
struct Tenant {
    name: Arc<str>,
    /// The numbers of its users.
    users: FxHashMap<Arc<str>, i64>,
    /// The places of its addresses.
    places: Vec<u32>,
}

#[derive(Debug)]
struct User {
    tenant: i64,
    /// Empty for what belongs to no user.
    name: Arc<str>,
    /// The places of the user's addresses.
    places: Vec<u32>,
}

impl Directory {
    /// What `scope` reaches in this file; `None`, when nothing was ever written there. Only what is not known yet is looked for in
    /// the file.
    pub(crate) fn reach(&self, connection: &Connection, scope: &Scope) -> Result<Option<Reach>, SqliteError> {
        let known = self.known.read().reach(scope);
        if known.is_some() { Ok(known) } else { Reach::of(connection, scope) }
    }

    /// The numbers of the addresses within reach, as this transaction sees them, or later.
    pub(crate) fn covered(&self, connection: &Connection, reach: &Reach) -> Result<Vec<i64>, SqliteError> {
        let last = connection
            .prepare_cached("SELECT coalesce(max(scope), 0) FROM scopes")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        self.read_up_to(connection, last)?;
        let known = self.known.read();
        let places = match reach.namespace {
            Some(namespace) => known.users.get(&namespace).map(|user| &user.places),
            None => known.tenants.get(&reach.tenant).map(|tenant| &tenant.places),
        };
        let wanted = wanted(reach);
        let addresses = places.into_iter().flatten().map(|place| &known.addresses[*place as usize]);
        Ok(addresses.filter(|address| address.is_named(&wanted)).map(|address| address.scope).collect())
    }

    /// The address of this number, if it is within reach.
    pub(crate) fn address(
        &self,
        connection: &Connection,
        reach: &Reach,
        scope: i64,
    ) -> Result<Option<Scope>, SqliteError> {
        self.read_up_to(connection, scope)?;
        let known = self.known.read();
        let Ok(place) = known.addresses.binary_search_by_key(&scope, |address| address.scope) else { return Ok(None) };
        let address = &known.addresses[place];
        let Some(user) = known.users.get(&address.namespace) else { return Ok(None) };
        let Some(tenant) = known.tenants.get(&user.tenant) else { return Ok(None) };
        let is_within = user.tenant == reach.tenant
            && reach.namespace.is_none_or(|namespace| namespace == address.namespace)
            && address.is_named(&wanted(reach));
        let [agent, session, branch] = &address.below;
        is_within.then(|| scopes::named([&tenant.name, &user.name, agent, session, branch])).transpose()
    }

    fn read_up_to(&self, connection: &Connection, scope: i64) -> Result<(), SqliteError> {
        if self.known.read().last() < scope {
            self.known.write().read(connection)?;
        }
        Ok(())
    }
}

impl Tenant {
    fn named(name: Arc<str>) -> Self {
        Self { name, users: FxHashMap::default(), places: Vec::new() }
    }
}

/// The names that a reach sets below the user, each with its place in an address.
fn wanted(reach: &Reach) -> Vec<(usize, &str)> {
    let place = |dimension: &str| match dimension {
        "agent" => 0,
        "session" => 1,
        _ => 2,
    };
    reach.below().iter().map(|(name, value)| (place(name), value.as_str())).collect()
}

impl Address {
    fn is_named(&self, wanted: &[(usize, &str)]) -> bool {
        wanted.iter().all(|(place, name)| &*self.below[*place] == *name)
    }
}

impl Known {
    fn reach(&self, scope: &Scope) -> Option<Reach> {
        let number = *self.numbers.get(scope.tenant())?;
        let namespace = match scope.user_name() {
            None => None,
            Some(user) => Some(*self.tenants.get(&number)?.users.get(user)?),
        };
        Some(Reach::new(number, namespace, scope))
    }

    fn last(&self) -> i64 {
        self.addresses.last().map_or(0, |address| address.scope)
    }

    fn read(&mut self, connection: &Connection) -> Result<(), SqliteError> {
        let sql = "SELECT s.scope, s.namespace, s.agent, s.session, s.branch, n.tenant, n.user, t.name
            FROM scopes s CROSS JOIN namespaces n ON n.namespace = s.namespace CROSS JOIN tenants t ON t.tenant = n.tenant
            WHERE s.scope > ?1 ORDER BY s.scope";
        let mut prepared = connection.prepare_cached(sql)?;
        let mut rows = prepared.query([self.last()])?;
        while let Some(row) = rows.next()? {
            let place = self.addresses.len() as u32;
            let name = |column: usize| row.get::<_, String>(column);
            let (scope, namespace, tenant) = (row.get(0)?, row.get(1)?, row.get(5)?);
            let below = [name(2)?, name(3)?, name(4)?].map(String::into_boxed_str);
            self.addresses.push(Address { scope, namespace, below });
            let (of_user, of_tenant): (Arc<str>, Arc<str>) = (name(6)?.into(), name(7)?.into());
            self.numbers.entry(Arc::clone(&of_tenant)).or_insert(tenant);
            let known = self.tenants.entry(tenant).or_insert_with(|| Tenant::named(of_tenant));
            known.places.push(place);
            known.users.entry(Arc::clone(&of_user)).or_insert(namespace);
            let user = || User { tenant, name: of_user, places: Vec::new() };
            self.users.entry(namespace).or_insert_with(user).places.push(place);
        }
        Ok(())
    }
}
