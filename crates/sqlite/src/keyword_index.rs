//! The terms in memory, and searching them.

use std::sync::Arc;

use memory_core::{Filter, Hit};
use memory_keyword_store::{Bm25, KeywordQuery, Postings, find, packed};
use parking_lot::{Mutex, RwLock};
use rusqlite::{CachedStatement, Connection};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    changes::{self, News},
    failure::Failure,
    filter_sql, keywords,
    scopes::Reach,
    statement::Statement,
};

/// The terms of the users who are asked about, kept up with what any process writes.
///
/// Reading them pays for whoever asks again. So the first question about a user, or about a whole tenant, is left to
/// FTS5, and the second one has everything read that it needs.
#[derive(Debug, Default)]
pub(crate) struct KeywordIndex {
    asked: Mutex<FxHashSet<(i64, Option<i64>)>>,
    namespaces: RwLock<FxHashMap<i64, Arc<RwLock<Loaded>>>>,
}

#[derive(Debug, Default)]
struct Loaded {
    postings: Postings<i64>,
    /// The last change it has seen; `None` before it was read.
    seen: Option<i64>,
}

impl KeywordIndex {
    /// Whether somebody has asked within the same tenant and user before.
    pub(crate) fn is_asked_again(&self, reach: &Reach) -> bool {
        !self.asked.lock().insert((reach.tenant, reach.namespace))
    }

    fn part(&self, namespace: i64) -> Arc<RwLock<Loaded>> {
        let known = self.namespaces.read().get(&namespace).cloned();
        known.unwrap_or_else(|| Arc::clone(self.namespaces.write().entry(namespace).or_default()))
    }

    /// The best records within reach, in the transaction that `connection` is in.
    pub(crate) fn search(
        &self,
        connection: &Connection,
        reach: &Reach,
        query: &KeywordQuery,
    ) -> Result<Vec<Hit>, Failure> {
        let groups = match reach.below() {
            [] => None,
            _ => Some(reach.covered(connection)?.into_iter().collect::<FxHashSet<i64>>()),
        };
        let mut parts = Vec::new();
        for namespace in reach.touched(connection)? {
            let part = self.part(namespace);
            bring_up_to_date(connection, namespace, &part)?;
            parts.push(part);
        }
        // Several are held at once. Whoever holds one has all those before it already, so that nobody waits in a circle.
        let parts: Vec<_> = parts.iter().map(|part| part.read()).collect();
        let parts: Vec<&Postings<i64>> = parts.iter().map(|part| &part.postings).collect();
        let mut admits = query.filter.as_ref().map(|filter| Admission::of(connection, filter)).transpose()?;
        let admit = |row| admits.as_mut().map_or(Ok(true), |admits| admits.row(row));
        let found = find(&Bm25::default(), &parts, groups.as_ref(), &query.clauses, query.limit, admit)?;
        Ok(found.into_iter().map(|(id, score)| Hit { id, score }).collect())
    }
}

/// Reads what this transaction sees and the part does not hold yet. It may have seen more already: by another search.
fn bring_up_to_date(connection: &Connection, namespace: i64, part: &RwLock<Loaded>) -> Result<(), Failure> {
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
                postings.remove(row);
            }
            keywords::since(connection, namespace, since, |stored| take(postings, &stored))?;
            *seen = Some(last);
        }
        News::Everything(last) => {
            // Not to be taken for whole when reading it fails half-way.
            *seen = None;
            *postings = Postings::default();
            keywords::all(connection, namespace, |stored| take(postings, &stored))?;
            *seen = Some(last);
        }
    }
    Ok(())
}

fn take(postings: &mut Postings<i64>, stored: &keywords::StoredTerms<'_>) -> Result<(), Failure> {
    let terms = packed::pairs(stored.terms, stored.counts).collect::<memory_core::Result<Vec<_>>>()?;
    postings.insert(stored.row, stored.id, stored.scope, stored.length, terms);
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
