//! The addresses of the file in memory: they are only ever added.

use parking_lot::RwLock;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use crate::{failure::Failure, scopes::Reach};

/// Every address by its numbers and names, so that a search over many of them need not read them from the file.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    addresses: Vec<Address>,
    /// The places of a tenant's, and of a user's, addresses.
    tenants: FxHashMap<i64, Vec<u32>>,
    namespaces: FxHashMap<i64, Vec<u32>>,
    last: i64,
}

#[derive(Debug)]
struct Address {
    scope: i64,
    /// Agent, session and branch.
    below: [Box<str>; 3],
}

impl Directory {
    /// The numbers of the addresses within reach, as this transaction sees them, or later.
    pub(crate) fn covered(&self, connection: &Connection, reach: &Reach) -> Result<Vec<i64>, Failure> {
        let last = connection
            .prepare_cached("SELECT coalesce(max(scope), 0) FROM scopes")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        if self.known.read().last < last {
            self.known.write().read(connection)?;
        }
        let known = self.known.read();
        let places = match reach.namespace {
            Some(namespace) => known.namespaces.get(&namespace),
            None => known.tenants.get(&reach.tenant),
        };
        let wanted: Vec<(usize, &str)> =
            reach.below().iter().map(|(name, value)| (place(name), value.as_str())).collect();
        let addresses = places.into_iter().flatten().map(|place| &known.addresses[*place as usize]);
        let is_covered = |address: &&Address| wanted.iter().all(|(place, name)| &*address.below[*place] == *name);
        Ok(addresses.filter(is_covered).map(|address| address.scope).collect())
    }
}

fn place(dimension: &str) -> usize {
    match dimension {
        "agent" => 0,
        "session" => 1,
        _ => 2,
    }
}

impl Known {
    fn read(&mut self, connection: &Connection) -> Result<(), Failure> {
        let sql = "SELECT s.scope, n.tenant, s.namespace, s.agent, s.session, s.branch
            FROM scopes s CROSS JOIN namespaces n ON n.namespace = s.namespace WHERE s.scope > ?1 ORDER BY s.scope";
        let mut prepared = connection.prepare_cached(sql)?;
        let mut rows = prepared.query([self.last])?;
        while let Some(row) = rows.next()? {
            let place = self.addresses.len() as u32;
            let below = [row.get(3)?, row.get(4)?, row.get(5)?].map(String::into_boxed_str);
            self.last = row.get(0)?;
            self.addresses.push(Address { scope: self.last, below });
            self.tenants.entry(row.get(1)?).or_default().push(place);
            self.namespaces.entry(row.get(2)?).or_default().push(place);
        }
        Ok(())
    }
}
