//! The terms in memory, and searching them.

use std::sync::Arc;

use memory_core::{Filter, Hit};
use memory_keyword_store::{Bm25, KeywordQuery, Postings, SegmentedPostings, find, packed};
use parking_lot::{Mutex, RwLock};
use rusqlite::{CachedStatement, Connection};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    changes::{self, News},
    directory::Directory,
    failure::Failure,
    filter_sql, keywords,
    scopes::Reach,
    statement::Statement,
};

/// The terms of the users and tenants who are asked about, kept up with what any process writes.
///
/// Reading them pays for whoever asks again. So the first question about a user, or about a whole tenant, is left to
/// FTS5, and the second one has everything read that it needs. A tenant's terms are kept apart from those of its users:
/// whoever asks about all of them wants the best of very many, and whoever asks about one, all that there are of few.
#[derive(Debug, Default)]
pub(crate) struct KeywordIndex {
    asked: Mutex<FxHashSet<(i64, Option<i64>)>>,
    namespaces: Parts<Postings<i64>>,
    tenants: Parts<SegmentedPostings<i64>>,
}

type Parts<P> = RwLock<FxHashMap<i64, Arc<RwLock<Loaded<P>>>>>;

#[derive(Debug, Default)]
struct Loaded<P> {
    postings: P,
    /// The last change it has seen; `None` before it was read.
    seen: Option<i64>,
}

fn part<P: Default>(parts: &Parts<P>, number: i64) -> Arc<RwLock<Loaded<P>>> {
    let known = parts.read().get(&number).cloned();
    known.unwrap_or_else(|| Arc::clone(parts.write().entry(number).or_default()))
}

impl KeywordIndex {
    /// Whether somebody has asked within the same tenant and user before.
    pub(crate) fn is_asked_again(&self, reach: &Reach) -> bool {
        !self.asked.lock().insert((reach.tenant, reach.namespace))
    }

    /// The best records within reach, in the transaction that `connection` is in.
    pub(crate) fn search(
        &self,
        connection: &Connection,
        directory: &Directory,
        reach: &Reach,
        query: &KeywordQuery,
    ) -> Result<Vec<Hit>, Failure> {
        let groups = match reach.below() {
            [] => None,
            _ => Some(directory.covered(connection, reach)?.into_iter().collect::<FxHashSet<i64>>()),
        };
        let groups = groups.as_ref();
        let admission = query.filter.as_ref().map(|filter| Admission::of(connection, filter)).transpose()?;
        let mut admit = admission.map(|mut admission| move |row| admission.row(row));
        let found = match reach.namespace {
            Some(namespace) => {
                let part = part(&self.namespaces, namespace);
                bring_up_to_date(connection, namespace, &part)?;
                let postings = &part.read().postings;
                let admit = |row| admit.as_mut().map_or(Ok(true), |admit| admit(row));
                find(&Bm25::default(), &[postings], groups, &query.clauses, query.limit, admit)?
            }
            None => {
                let part = part(&self.tenants, reach.tenant);
                bring_up_to_date(connection, reach.tenant, &part)?;
                part.read().postings.find(groups, &query.clauses, query.limit, admit)?
            }
        };
        Ok(found.into_iter().map(|(id, score)| Hit { id, score }).collect())
    }
}

/// Postings that are kept up with the file.
trait Kept: Default {
    fn take(&mut self, stored: &keywords::StoredTerms<'_>) -> Result<(), Failure>;
    fn forget(&mut self, row: i64);
    /// Reads all that belongs to a user, or to a tenant.
    fn read_all(&mut self, connection: &Connection, whose: i64) -> Result<(), Failure>;
    fn read_since(&mut self, connection: &Connection, whose: i64, change: i64) -> Result<(), Failure>;
}

macro_rules! kept {
    ($postings:ident, $all:ident, $since:ident) => {
        impl Kept for $postings<i64> {
            fn take(&mut self, stored: &keywords::StoredTerms<'_>) -> Result<(), Failure> {
                let terms = packed::pairs(stored.terms, stored.counts).collect::<memory_core::Result<Vec<_>>>()?;
                self.insert(stored.row, stored.id, stored.scope, stored.length, terms);
                Ok(())
            }

            fn forget(&mut self, row: i64) {
                self.remove(row);
            }

            fn read_all(&mut self, connection: &Connection, whose: i64) -> Result<(), Failure> {
                keywords::$all(connection, whose, |stored| self.take(&stored))
            }

            fn read_since(&mut self, connection: &Connection, whose: i64, change: i64) -> Result<(), Failure> {
                keywords::$since(connection, whose, change, |stored| self.take(&stored))
            }
        }
    };
}

kept!(Postings, all, since);
kept!(SegmentedPostings, all_of_tenant, since_of_tenant);

/// Reads what this transaction sees and the part does not hold yet. It may have seen more already: by another search.
fn bring_up_to_date<P: Kept>(connection: &Connection, whose: i64, part: &RwLock<Loaded<P>>) -> Result<(), Failure> {
    if changes::news(connection, part.read().seen)? == News::None {
        return Ok(());
    }
    let mut part = part.write();
    let news = changes::news(connection, part.seen)?;
    let Loaded { postings, seen } = &mut *part;
    match news {
        News::None => {}
        News::Until(last) => {
            let since = seen.unwrap_or_default();
            for row in changes::since(connection, since)? {
                postings.forget(row);
            }
            postings.read_since(connection, whose, since)?;
            *seen = Some(last);
        }
        News::Everything(last) => {
            // Not to be taken for whole when reading it fails half-way.
            *seen = None;
            *postings = P::default();
            postings.read_all(connection, whose)?;
            *seen = Some(last);
        }
    }
    Ok(())
}

/// What a filter says about single records.
struct Admission<'c> {
    prepared: CachedStatement<'c>,
    row: usize,
}

impl<'c> Admission<'c> {
    fn of(connection: &'c Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let mut statement = Statement::new("SELECT 1 FROM records r CROSS JOIN scopes s ON s.scope = r.scope WHERE ");
        filter_sql::write(filter, &mut statement);
        statement.push(" AND r.record = ?");
        let (prepared, row) = statement.prepare_for_each(connection)?;
        Ok(Self { prepared, row })
    }

    fn row(&mut self, row: i64) -> Result<bool, Failure> {
        self.prepared.raw_bind_parameter(self.row, row)?;
        Ok(self.prepared.raw_query().next()?.is_some())
    }
}
