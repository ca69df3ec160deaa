//! The terms in memory, and searching them.

use std::{io, path::PathBuf, sync::Arc};

use memory_engine_core::{Filter, Hit, Scope};
use memory_engine_keyword_store::{Bm25, KeywordQuery, Postings, SegmentedPostings, find, packed};
use memory_engine_sql::filter;
use parking_lot::RwLock;
use rusqlite::{CachedStatement, Connection};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    cache::changes::{self, LAG, News},
    cache::directory::Directory,
    cache::side_file::{Chain, Input, MANY, Output, Section, SideFile},
    database::error::SqliteError,
    database::statement::Statement,
    keywords::keyword_store,
};

/// How many records of a tenant are put together in one segment.
const PART: usize = 65_536;
/// From how many records on that were added one section after the other they are put together: as many as go into one segment,
/// even if the next section is a long one.
const MOVED: u64 = 50_000;

/// The terms of the users and tenants who are asked about, read at the first question and kept up with what any process
/// writes. Of a tenant whose terms are known, those of its users are; of another one, a question about a user reads no
/// more than what that user has.
#[derive(Debug)]
pub(crate) struct KeywordIndex {
    /// The database, beside which the terms of large tenants are kept.
    path: PathBuf,
    namespaces: Parts<Postings<i64>>,
    tenants: Parts<SegmentedPostings<i64>>,
}

type Parts<P> = RwLock<FxHashMap<i64, Arc<RwLock<Loaded<P>>>>>;

#[derive(Debug, Default)]
struct Loaded<P> {
    postings: P,
    /// The last change it has seen; `None` before it was read.
    seen: Option<i64>,
    /// The last change that the side file has seen, as far as is known.
    kept: i64,
}

fn part<P: Default>(parts: &Parts<P>, number: i64) -> Arc<RwLock<Loaded<P>>> {
    let known = parts.read().get(&number).cloned();
    known.unwrap_or_else(|| Arc::clone(parts.write().entry(number).or_default()))
}

impl KeywordIndex {
    /// An index that has not read anything.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, namespaces: Parts::default(), tenants: Parts::default() }
    }

    /// The tenants of whose terms much, or all, is known that their file lacks, with how many records they have. While they are
    /// being read nobody waits to know.
    pub(crate) fn to_be_kept(&self) -> Vec<(i64, usize)> {
        self.of(|part| part.postings.len() > MANY && part.seen.is_some_and(|seen| seen - part.kept > LAG))
    }

    /// The tenants whose terms have been read and are worth a file.
    pub(crate) fn loaded(&self) -> Vec<(i64, usize)> {
        self.of(|part| part.postings.len() > MANY && part.seen.is_some())
    }

    fn of(&self, is_one: impl Fn(&Loaded<SegmentedPostings<i64>>) -> bool) -> Vec<(i64, usize)> {
        let size = |part: &RwLock<Loaded<_>>| Some(part.try_read().filter(|part| is_one(part))?.postings.len());
        let Some(tenants) = self.tenants.try_read() else { return Vec::new() };
        tenants.iter().filter_map(|(tenant, part)| Some((*tenant, size(part)?))).collect()
    }

    /// Notes what a tenant's file has seen.
    pub(crate) fn is_kept(&self, tenant: i64, seen: i64) {
        let part = self.tenants.read().get(&tenant).cloned();
        if let Some(part) = part {
            part.write().kept = seen;
        }
    }

    /// The file of a tenant's terms.
    pub(crate) fn file(&self, tenant: i64) -> SideFile {
        SideFile::in_two_parts(&self.path, &format!("terms-{tenant}"))
    }

    /// Adds to a tenant's file what has changed since, up to the last change, in a transaction that keeps others from writing and
    /// has written nothing itself: what is not committed may be undone.
    pub(crate) fn append(
        &self,
        connection: &Connection,
        tenant: i64,
        chain: &Chain,
        last: i64,
    ) -> Result<(), SqliteError> {
        let (file, mut fresh, mut last_row) = (self.file(tenant), SegmentedPostings::default(), chain.last_row());
        let gone = changes::up_to(connection, chain.seen(), chain.last_row())?;
        keyword_store::since_of_tenant(connection, tenant, chain.seen(), |stored| {
            last_row = last_row.max(stored.row);
            fresh.take(&stored)
        })?;
        let (records, gone_count) = (fresh.len() as u64, gone.len() as u64);
        let section = Section { from: chain.seen(), seen: last, records, gone: gone_count, last_row };
        file.append(connection, chain, section, |out| save(&fresh, &gone, out))?;
        if chain.fresh() + records < MOVED {
            return Ok(());
        }
        let Some(chain) = file.chain(connection)? else { return Ok(()) };
        let take = |(postings, gone): &mut (SegmentedPostings<i64>, Vec<i64>), input: &mut Input<'_>| {
            gone.extend(take_in(postings, input)?);
            Ok(())
        };
        file.move_up(connection, &chain, Default::default(), take, |(mut postings, gone), out| {
            postings.condense();
            save(&postings, &gone, out)
        })
    }

    /// Begins a tenant's file anew with all there is, in a transaction like that. What is known need not be read again.
    pub(crate) fn begin(&self, connection: &Connection, tenant: i64, last: i64) -> Result<(), SqliteError> {
        let (part, file) = (part(&self.tenants, tenant), self.file(tenant));
        if part.read().seen.is_some() {
            bring_up_to_date(connection, tenant, &part, None)?;
            let loaded = part.read();
            let Some(mut beginning) = file.begin(connection, loaded.seen.unwrap_or(last))? else { return Ok(()) };
            let last_row = loaded.postings.last().unwrap_or_default();
            beginning.write(loaded.postings.len(), last_row, |out| save(&loaded.postings, &[], out));
            beginning.finish();
            return Ok(());
        }
        let Some(mut beginning) = file.begin(connection, last)? else { return Ok(()) };
        let (mut postings, mut last_row) = (SegmentedPostings::default(), 0);
        let mut write = |postings: &mut SegmentedPostings<i64>, last_row: i64| {
            let mut whole = std::mem::take(postings);
            whole.condense();
            beginning.write(whole.len(), last_row, |out| save(&whole, &[], out));
        };
        keyword_store::all_of_tenant(connection, tenant, |stored| {
            last_row = last_row.max(stored.row);
            postings.take(&stored)?;
            if postings.len() == PART {
                write(&mut postings, last_row);
            }
            Ok(())
        })?;
        write(&mut postings, last_row);
        beginning.finish();
        Ok(())
    }

    /// The records within `scope` that hold a term of the query, in the transaction that `connection` is in, ranked by the
    /// statistics of that scope.
    pub(crate) fn search(
        &self,
        connection: &Connection,
        directory: &Directory,
        scope: &Scope,
        query: &KeywordQuery,
    ) -> Result<Vec<Hit>, SqliteError> {
        if query.limit == 0 || query.clauses.iter().all(|clause| clause.terms.is_empty()) {
            return Ok(Vec::new());
        }
        let Some(reach) = directory.reach(connection, scope)? else { return Ok(Vec::new()) };
        let admission = query.filter.as_ref().map(|filter| Admission::of(connection, filter)).transpose()?;
        let mut admit = admission.map(|mut admission| move |row| admission.row(row));
        let groups = match (reach.namespace, reach.below()) {
            (None, []) => None,
            _ => Some(directory.covered(connection, &reach)?),
        };
        let whole = part(&self.tenants, reach.tenant);
        let found = match reach.namespace {
            Some(namespace) if whole.read().seen.is_none() => {
                let part = part(&self.namespaces, namespace);
                bring_up_to_date(connection, namespace, &part, None)?;
                let groups = groups.filter(|_| !reach.below().is_empty()).map(FxHashSet::from_iter);
                let admit = |row| admit.as_mut().map_or(Ok(true), |admit| admit(row));
                find(&Bm25::default(), &[&part.read().postings], groups.as_ref(), &query.clauses, query.limit, admit)?
            }
            _ => {
                bring_up_to_date(connection, reach.tenant, &whole, Some(&self.file(reach.tenant)))?;
                whole.read().postings.find(groups.as_deref(), &query.clauses, query.limit, admit)?
            }
        };
        Ok(found.into_iter().map(|(id, score)| Hit { id, score }).collect())
    }
}

/// Postings that are kept up with the file.
trait Kept: Default {
    fn take(&mut self, stored: &keyword_store::StoredTerms<'_>) -> Result<(), SqliteError>;
    fn forget(&mut self, row: i64);
    /// Reads all that belongs to a user, or to a tenant.
    fn read_all(&mut self, connection: &Connection, whose: i64) -> Result<(), SqliteError>;
    fn read_since(&mut self, connection: &Connection, whose: i64, change: i64) -> Result<(), SqliteError>;
    /// Takes in what the section of a side file holds.
    fn extend_from(&mut self, input: &mut Input<'_>) -> io::Result<()>;
}

/// Writes the section of a side file: which rows are gone, or come again, and these.
fn save(postings: &SegmentedPostings<i64>, gone: &[i64], out: &mut Output) -> io::Result<()> {
    out.deltas(gone.iter().copied())?;
    postings.save(out, |scope| *scope)
}

/// Takes in what such a section says; which rows it says are gone.
fn take_in(postings: &mut SegmentedPostings<i64>, input: &mut Input<'_>) -> io::Result<Vec<i64>> {
    let gone = input.deltas()?;
    gone.iter().for_each(|row| postings.forget(*row));
    postings.extend(input, |scope| scope)?;
    Ok(gone)
}

macro_rules! kept {
    ($postings:ident, $all:ident, $since:ident, $extend:expr) => {
        impl Kept for $postings<i64> {
            fn take(&mut self, stored: &keyword_store::StoredTerms<'_>) -> Result<(), SqliteError> {
                let terms =
                    packed::pairs(stored.terms, stored.counts).collect::<memory_engine_core::Result<Vec<_>>>()?;
                self.insert(stored.row, stored.id, stored.scope, stored.length, terms);
                Ok(())
            }

            fn forget(&mut self, row: i64) {
                self.remove(row);
            }

            fn read_all(&mut self, connection: &Connection, whose: i64) -> Result<(), SqliteError> {
                keyword_store::$all(connection, whose, |stored| self.take(&stored))
            }

            fn read_since(&mut self, connection: &Connection, whose: i64, change: i64) -> Result<(), SqliteError> {
                keyword_store::$since(connection, whose, change, |stored| self.take(&stored))
            }

            fn extend_from(&mut self, input: &mut Input<'_>) -> io::Result<()> {
                $extend(self, input)
            }
        }
    };
}

kept!(Postings, all, since, |_: &mut Postings<i64>, _| Err(io::ErrorKind::Unsupported.into()));
kept!(SegmentedPostings, all_of_tenant, since_of_tenant, |postings, input| take_in(postings, input).map(drop));

/// Reads what this transaction sees and the part does not hold yet. It may have seen more already: by another search.
fn bring_up_to_date<P: Kept>(
    connection: &Connection,
    whose: i64,
    part: &RwLock<Loaded<P>>,
    file: Option<&SideFile>,
) -> Result<(), SqliteError> {
    if changes::news(connection, part.read().seen)? == News::None {
        return Ok(());
    }
    let mut part = part.write();
    let mut news = changes::news(connection, part.seen)?;
    if let (News::Everything(_), Some(file)) = (news, file)
        && let Some((postings, seen)) = file.read(connection, |_| P::default(), P::extend_from)?
    {
        *part = Loaded { postings, seen: Some(seen), kept: seen };
        news = changes::news(connection, part.seen)?;
    }
    let Loaded { postings, seen, .. } = &mut *part;
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
        filter::write(filter, &mut statement);
        statement.push(" AND r.record = ?");
        let (prepared, row) = statement.prepare_for_each(connection)?;
        Ok(Self { prepared, row })
    }

    fn row(&mut self, row: i64) -> Result<bool, SqliteError> {
        self.prepared.raw_bind_parameter(self.row, row)?;
        Ok(self.prepared.raw_query().next()?.is_some())
    }
}
