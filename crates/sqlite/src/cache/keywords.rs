//! The keyword index in memory, its cache and its search.

mod loaded;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use memory_engine_core::{Hit, Scope};
use memory_engine_keyword_store::{KeywordQuery, SegmentedPostings};
use parking_lot::RwLock;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use self::loaded::{LoadedPostings, PostingsOwner};
pub(super) use self::loaded::{extend, insert};
use crate::{
    cache::{
        file::{CacheBuilder, IndexCacheFile},
        filter_cache::FilterCache,
        format::{SegmentHeader, SegmentRole},
        manifest::Manifest,
        policy::CachePolicy,
    },
    database::{change_log, error::SqliteError},
    keywords::keyword_rows,
    records::found::FoundRow,
    rows::{addresses::AddressCache, scopes::CoveredScope},
};

/// The postings of the users and tenants that were searched, read at the first search and kept up to date with the
/// writes of all processes.
///
/// The postings of a tenant include those of its users. If they are not loaded, a search for one user reads only that
/// user's postings from the rows. Tenants have caches; users have none. A user with a large share of a tenant's records
/// is searched in the postings of the tenant, because their cache is read faster.
#[derive(Debug)]
pub(crate) struct KeywordIndex {
    /// The path of the database; `None` for one without cache files.
    database: Option<PathBuf>,
    policy: CachePolicy,
    users: PostingsByOwner,
    tenants: PostingsByOwner,
}

type PostingsByOwner = RwLock<FxHashMap<i64, Arc<RwLock<LoadedPostings>>>>;

/// Returns the postings of an owner. For a new owner, they are empty and not loaded yet.
fn postings_of(postings: &PostingsByOwner, owner: i64) -> Arc<RwLock<LoadedPostings>> {
    let existing = postings.read().get(&owner).cloned();
    existing.unwrap_or_else(|| Arc::clone(postings.write().entry(owner).or_default()))
}

impl KeywordIndex {
    /// Returns an index that is not loaded yet.
    pub(crate) fn new(database: PathBuf) -> Self {
        Self { database: Some(database), ..Self::without_files() }
    }

    /// Returns an index that is not loaded yet, of a database without cache files.
    pub(crate) fn without_files() -> Self {
        let policy = CachePolicy::DEFAULT;
        Self { database: None, policy, users: PostingsByOwner::default(), tenants: PostingsByOwner::default() }
    }

    /// Returns true if the database has cache files.
    pub(crate) fn has_files(&self) -> bool {
        self.database.is_some()
    }

    #[cfg(test)]
    pub(crate) fn set_min_records(&mut self, min_records: usize) {
        self.policy.min_records = min_records;
    }

    /// Returns the tenants whose cache lags behind the loaded postings by more than the flush threshold, with their
    /// numbers of records. Postings that are being read are left out.
    pub(crate) fn tenants_to_flush(&self) -> Vec<(i64, usize)> {
        self.large_tenants(|loaded| loaded.cache_lags_by(self.policy.flush_min_changes))
    }

    /// Returns the tenants whose postings are loaded and large enough for a cache, with their numbers of records.
    pub(crate) fn loaded_tenants(&self) -> Vec<(i64, usize)> {
        self.large_tenants(LoadedPostings::is_loaded)
    }

    fn large_tenants(&self, is_match: impl Fn(&LoadedPostings) -> bool) -> Vec<(i64, usize)> {
        if !self.has_files() {
            return Vec::new();
        }
        let Some(tenants) = self.tenants.try_read() else { return Vec::new() };
        let mut large = Vec::new();
        for (tenant, shared) in tenants.iter() {
            let Some(loaded) = shared.try_read() else { continue };
            let records = loaded.postings.len();
            if records > self.policy.min_records && is_match(&loaded) {
                large.push((*tenant, records));
            }
        }
        large
    }

    /// Returns true if the postings of any user or tenant have been read.
    #[cfg(test)]
    pub(crate) fn any_read(&self) -> bool {
        let all = [&self.users, &self.tenants];
        all.iter().any(|postings| postings.read().values().any(|loaded| loaded.read().is_loaded()))
    }

    /// Sets the last change that a tenant's cache contains.
    pub(crate) fn mark_cached(&self, tenant: i64, change: i64) {
        let loaded = self.tenants.read().get(&tenant).cloned();
        if let Some(loaded) = loaded {
            loaded.write().cached_change = change;
        }
    }

    /// Returns the cache of a tenant's postings.
    pub(crate) fn file(&self, tenant: i64) -> IndexCacheFile {
        self.database.as_deref().map_or_else(IndexCacheFile::none, |database| cache_file(database, tenant))
    }

    /// Appends the changes since the last segment to a tenant's cache. The transaction must hold the write lock and
    /// must have written nothing itself, because a cache must not contain changes that may be rolled back.
    pub(crate) fn append(
        &self,
        connection: &Connection,
        tenant: i64,
        manifest: &Manifest,
        newest: i64,
    ) -> Result<(), SqliteError> {
        let file = self.file(tenant);
        let base_change = manifest.newest_change();
        let obsolete = change_log::changed_rows_up_to(connection, base_change, manifest.last_row())?;
        let mut changed = SegmentedPostings::default();
        let mut last_row = manifest.last_row();
        keyword_rows::for_each_changed_of_tenant(connection, tenant, base_change, |stored| {
            last_row = last_row.max(stored.row);
            loaded::insert(&mut changed, &stored)
        })?;
        let header = SegmentHeader {
            base_change,
            newest_change: newest,
            records: changed.len() as u64,
            obsolete: obsolete.len() as u64,
            last_row,
            role: SegmentRole::Appended,
        };
        file.append(connection, manifest, header, |out| loaded::save(&changed, &obsolete, out))?;
        if manifest.appended_records() + header.records < self.policy.compaction_min_records {
            return Ok(());
        }
        let Some(manifest) = file.manifest(connection)? else { return Ok(()) };
        file.compact(
            connection,
            &manifest,
            (SegmentedPostings::default(), Vec::new()),
            |(postings, obsolete), input| {
                obsolete.extend(loaded::extend(postings, input)?);
                Ok(())
            },
            |(mut postings, obsolete), out| {
                postings.merge();
                loaded::save(&postings, &obsolete, out)
            },
        )
    }

    /// Writes a new cache of a tenant, in a transaction that holds the write lock. Loaded postings are not read again.
    pub(crate) fn rebuild(&self, connection: &Connection, tenant: i64, newest: i64) -> Result<(), SqliteError> {
        let shared = postings_of(&self.tenants, tenant);
        let file = self.file(tenant);
        if shared.read().is_loaded() {
            loaded::bring_up_to_date(connection, PostingsOwner::Tenant(tenant), &shared, None)?;
            let loaded = shared.read();
            let newest = loaded.newest_change.unwrap_or(newest);
            let Some(mut builder) = file.builder(connection, newest)? else { return Ok(()) };
            let last_row = loaded.postings.last().unwrap_or_default();
            builder.push_segment(loaded.postings.len(), last_row, |out| loaded::save(&loaded.postings, &[], out));
            builder.publish();
            return Ok(());
        }
        let Some(mut builder) = file.builder(connection, newest)? else { return Ok(()) };
        let mut postings = SegmentedPostings::default();
        let mut last_row = 0;
        keyword_rows::for_each_of_tenant(connection, tenant, |stored| {
            last_row = last_row.max(stored.row);
            loaded::insert(&mut postings, &stored)?;
            if postings.len() == self.policy.keyword_segment_records {
                push_segment(&mut builder, &mut postings, last_row);
            }
            Ok(())
        })?;
        push_segment(&mut builder, &mut postings, last_row);
        builder.publish();
        Ok(())
    }

    /// Loads the postings of every tenant that are not loaded yet. They include those of the tenant's users.
    pub(crate) fn load_tenants(&self, connection: &Connection) -> Result<(), SqliteError> {
        let mut tenants = connection.prepare_cached("SELECT tenant FROM tenants ORDER BY tenant")?;
        let tenants = tenants.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
        for tenant in tenants {
            let shared = postings_of(&self.tenants, tenant);
            loaded::bring_up_to_date(connection, PostingsOwner::Tenant(tenant), &shared, Some(&self.file(tenant)))?;
        }
        Ok(())
    }

    /// Returns the records within `scope` that contain a term of the query, ranked by the statistics of that scope, in
    /// the transaction of `connection`.
    pub(crate) fn search(
        &self,
        connection: &Connection,
        addresses: &AddressCache,
        filters: &FilterCache,
        scope: &Scope,
        query: &KeywordQuery,
    ) -> Result<Vec<FoundRow>, SqliteError> {
        if query.limit == 0 || query.clauses.iter().all(|clause| clause.terms.is_empty()) {
            return Ok(Vec::new());
        }
        let Some(covered) = addresses.covered_scope(connection, scope)? else { return Ok(Vec::new()) };
        let admitted =
            query.filter.as_ref().map(|filter| filters.matching_rows(connection, &covered, filter)).transpose()?;
        if admitted.as_ref().is_some_and(|rows| rows.is_empty()) {
            return Ok(Vec::new());
        }
        let is_admitted = admitted.map(|rows| move |row| rows.contains(row));
        let (shared, owner) = self.current_postings(connection, &covered)?;
        let covers_all_postings = covered.dimensions().is_empty()
            && match owner {
                PostingsOwner::User(_) => true,
                PostingsOwner::Tenant(_) => covered.namespace.is_none(),
            };
        let groups = if covers_all_postings { None } else { Some(addresses.scopes_within(connection, &covered)?) };
        let hits = shared.read().postings.find(groups.as_deref(), &query.clauses, query.limit, is_admitted);
        Ok(hits
            .into_iter()
            .map(|found| FoundRow { row: found.number, hit: Hit { id: found.id, score: found.score } })
            .collect())
    }

    /// Returns true if the cache of a tenant is read faster than the rows of one of its users: the user has many
    /// records, and at least a share of those in the cache.
    fn tenant_cache_is_faster(
        &self,
        connection: &Connection,
        tenant: i64,
        namespace: i64,
    ) -> Result<bool, SqliteError> {
        let Some(manifest) = self.file(tenant).manifest(connection)? else { return Ok(false) };
        let share = manifest.records() / self.policy.tenant_cache_max_ratio;
        let enough = share.max(self.policy.min_records as u64);
        let sql = "SELECT EXISTS (SELECT 1 FROM records INDEXED BY records_by_namespace WHERE namespace = ?1
            LIMIT 1 OFFSET ?2)";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.query_row((namespace, i64::try_from(enough).unwrap_or(i64::MAX)), |row| row.get(0))?)
    }

    /// Returns postings that contain the covered records, and the owner of the postings. They are those of the tenant
    /// if these are loaded or read faster or no user is given, else those of the user. They contain at least the
    /// changes that this transaction sees.
    fn current_postings(
        &self,
        connection: &Connection,
        covered: &CoveredScope,
    ) -> Result<(Arc<RwLock<LoadedPostings>>, PostingsOwner), SqliteError> {
        let tenant_postings = postings_of(&self.tenants, covered.tenant);
        if let Some(namespace) = covered.namespace
            && !tenant_postings.read().is_loaded()
        {
            let user_postings = postings_of(&self.users, namespace);
            let is_loaded = user_postings.read().is_loaded();
            if is_loaded || !self.tenant_cache_is_faster(connection, covered.tenant, namespace)? {
                let owner = PostingsOwner::User(namespace);
                loaded::bring_up_to_date(connection, owner, &user_postings, None)?;
                return Ok((user_postings, owner));
            }
        }
        let owner = PostingsOwner::Tenant(covered.tenant);
        loaded::bring_up_to_date(connection, owner, &tenant_postings, Some(&self.file(covered.tenant)))?;
        Ok((tenant_postings, owner))
    }
}

/// Returns the cache of a tenant's postings.
pub(super) fn cache_file(database: &Path, tenant: i64) -> IndexCacheFile {
    IndexCacheFile::with_append_file(database, &format!("terms-{tenant}"))
}

/// Writes the postings as one segment, and clears them.
fn push_segment(builder: &mut CacheBuilder<'_>, postings: &mut SegmentedPostings, last_row: i64) {
    let mut segment = std::mem::take(postings);
    segment.merge();
    builder.push_segment(segment.len(), last_row, |out| loaded::save(&segment, &[], out));
}
