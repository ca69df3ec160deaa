//! Distributes users over several databases.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Done, EmbeddingSpace, Error, ErrorKind, Failure, FoundRecord, Hit, Job, JobQueue, Kind,
    MultiVector, PackedTerms, Page, Pending, PeriodCount, Periods, Record, RecordGroup, RecordId, RecordStore,
    RecordWithTerms, RemovalCounts, Result, ScanQuery, Scope, Stats, Timestamp, Tombstone, Write, WriteResult,
    audit::AuditLog,
    residue::{ResidueProbes, ResidueReport},
};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore};
use memory_engine_sql::request;
use memory_engine_vector_store::{GenerationRole, GenerationStore, VectorEntry, VectorQuery, VectorStore};

use crate::{records::scopes, store::PostgresStore};

/// Several databases as one store. Each user is stored in one of them, which a hash of the user's namespace selects.
///
/// If a database is down, only its users are affected (`Unavailable`); the queues of the others continue. The embedder
/// is changed in one database at a time, so this store has no embedding versions of its own. The order of the databases
/// is part of the stored data: append new ones, and copy the records of the users that are assigned to them (about one
/// in n, for n databases).
///
/// Every call needs a scope with a user, since no transaction and no ranking spans two servers. Without a user it fails
/// with `Unsupported`, with these exceptions: statistics; expired records, those of the first database first; a batch
/// of writes whose users are all in one database; and index entries, which each database stores in its own transaction.
#[derive(Debug)]
pub struct ShardedStore {
    shards: Vec<PostgresStore>,
    /// Number of claims, which selects the first database of the next one.
    claims: AtomicUsize,
}

impl ShardedStore {
    /// Creates a store over these databases.
    ///
    /// # Errors
    /// `InvalidInput` if there are none; `SchemaMismatch` if they have different embedding spaces.
    pub fn new(shards: Vec<PostgresStore>) -> Result<Self> {
        let Some(first) = shards.first() else {
            return Err(Error::invalid("route", "a sharded store needs at least one database"));
        };
        if shards.iter().any(|shard| shard.space() != first.space()) {
            let message = "the databases have different embedding spaces; open all of them with the same one";
            return Err(Error::new(ErrorKind::SchemaMismatch, "route", message));
        }
        Ok(Self { shards, claims: AtomicUsize::new(0) })
    }

    /// Returns the database of a user.
    ///
    /// # Errors
    /// `Unsupported` for a scope without a user.
    pub fn shard(&self, scope: &Scope) -> Result<&PostgresStore> {
        if scope.user_name().is_none() {
            let message = "a scope without a user spans several databases; set the user of the scope";
            return Err(Error::new(ErrorKind::Unsupported, "route", message));
        }
        self.shards
            .get(self.shard_index(scope))
            .ok_or_else(|| Error::invalid("route", "a sharded store needs at least one database"))
    }

    /// Groups items by the databases of their users. Leaves out databases without items.
    fn by_shard<T: Clone>(&self, items: &[T], scope_of: impl Fn(&T) -> &Scope) -> Vec<(&PostgresStore, Vec<T>)> {
        let mut items_by_index: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        for item in items {
            items_by_index.entry(self.shard_index(scope_of(item))).or_default().push(item.clone());
        }
        items_by_index.into_iter().map(|(index, items)| (&self.shards[index], items)).collect()
    }

    /// Returns the index of the database of a user: the one with the highest hash (rendezvous hashing; D. Thaler and C.
    /// Ravishankar, 1998). A new database takes over some users, and no user moves between the others.
    fn shard_index(&self, scope: &Scope) -> usize {
        let ns = scopes::namespace(scope);
        let hash = |index: usize| {
            let mut hasher = blake3::Hasher::new_derive_key("memory-engine 2026 shard");
            hasher.update(ns.as_bytes());
            hasher.update(&(index as u64).to_le_bytes());
            *hasher.finalize().as_bytes()
        };
        (0..self.shards.len()).max_by_key(|index| hash(*index)).unwrap_or_default()
    }
}

#[async_trait]
impl RecordStore for ShardedStore {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        if scope.user_name().is_some() || writes.is_empty() {
            return self.shard(scope)?.put(scope, writes).await;
        }
        let first = writes.first().map_or(0, |write| self.shard_index(&write.record.scope));
        if writes.iter().any(|write| self.shard_index(&write.record.scope) != first) {
            let message =
                "the users of the batch are in several databases, which share no transaction; split the batch by user";
            return Err(Error::new(ErrorKind::Unsupported, "put", message));
        }
        self.shards[first].put(scope, writes).await
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.shard(scope)?.get(scope, ids).await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        RecordStore::delete(self.shard(scope)?, scope, ids).await
    }

    async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
        self.shard(scope)?.delete_unreachable(scope).await
    }

    async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        self.shard(scope)?.raw_rows(scope, ids).await
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.shard(scope)?.scan(scope, query).await
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        self.shard(scope)?.derived(scope, ids).await
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.shard(scope)?.adjacent(scope, ids).await
    }

    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        if scope.user_name().is_some() {
            return self.shard(scope)?.record_groups(scope).await;
        }
        let mut groups = Vec::new();
        for shard in &self.shards {
            groups.extend(shard.record_groups(scope).await?);
        }
        RecordGroup::sort(&mut groups);
        Ok(groups)
    }

    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        if scope.user_name().is_some() {
            return self.shard(scope)?.period_counts(scope, periods).await;
        }
        let mut counts = BTreeMap::new();
        for shard in &self.shards {
            for count in shard.period_counts(scope, periods).await? {
                *counts.entry((count.start, count.kind.as_str().to_owned())).or_default() += count.records;
            }
        }
        let count = |((start, kind), records)| PeriodCount::new(start, Kind::new(kind), records);
        Ok(counts.into_iter().map(count).collect())
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        if scope.user_name().is_some() {
            return RecordStore::stats(self.shard(scope)?, scope).await;
        }
        let mut all = Stats::default();
        for shard in &self.shards {
            let own = RecordStore::stats(shard, scope).await?;
            all.records += own.records;
            all.addresses += own.addresses;
            all.tombstones += own.tombstones;
            own.kinds.into_iter().for_each(|(kind, count)| *all.kinds.entry(kind).or_default() += count);
            own.states.into_iter().for_each(|(state, count)| *all.states.entry(state).or_default() += count);
            own.backlog.into_iter().for_each(|(job, count)| *all.backlog.entry(job).or_default() += count);
            own.given_up.into_iter().for_each(|(job, count)| *all.given_up.entry(job).or_default() += count);
            for (job, since) in own.waiting_since {
                let earliest = all.waiting_since.entry(job).or_insert(since);
                *earliest = since.min(*earliest);
            }
            all.oldest = all.oldest.into_iter().chain(own.oldest).min();
            all.newest = all.newest.into_iter().chain(own.newest).max();
        }
        Ok(all)
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.shard(scope)?.tombstones(scope, after, limit).await
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        self.shard(scope)?.import_tombstones(scope, tombstones).await
    }

    /// The databases that cannot be reached are skipped.
    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        let mut expired = Vec::new();
        for shard in &self.shards {
            match shard.expired(now, limit - expired.len()).await {
                Ok(own) => expired.extend(own),
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(expired)
    }

    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        self.shard(scope)?.remove_tombstones(scope, ids).await
    }

    /// Each database is searched for the records of its users.
    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        let mut report = ResidueReport::default();
        for (index, shard) in self.shards.iter().enumerate() {
            let own = probes.only(|probe| self.shard_index(&probe.namespace) == index);
            if own.records.is_empty() {
                continue;
            }
            let mut found = shard.find_residue(&own).await?;
            for place in &mut found.places {
                place.name = format!("{} (database {})", place.name, index + 1);
            }
            report.extend(found);
        }
        Ok(report)
    }

    /// The first database has the audit log of all users, because each tenant has one chain.
    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        self.shards.first().map(PostgresStore::open_audit_log)
    }

    async fn close(&self) {
        for shard in &self.shards {
            shard.close().await;
        }
    }
}

#[async_trait]
impl JobQueue for ShardedStore {
    /// Each call begins with the next database, so that the workers serve all of them. Databases that cannot be reached
    /// are skipped.
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        let first = self.claims.fetch_add(1, Ordering::Relaxed);
        let mut pending = Vec::new();
        let mut failure = None;
        for offset in 0..self.shards.len() {
            let shard = &self.shards[(first + offset) % self.shards.len()];
            match shard.claim(job, limit - pending.len(), lease).await {
                Ok(claimed) => pending.extend(claimed),
                Err(error) if error.is_transient() => failure = Some(error),
                Err(error) => return Err(error),
            }
            if pending.len() >= limit {
                break;
            }
        }
        match failure {
            Some(error) if pending.is_empty() => Err(error),
            _ => Ok(pending),
        }
    }

    async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
        for (shard, own) in self.by_shard(pending, |job| &job.record.scope) {
            shard.extend_lease(&own, lease).await?;
        }
        Ok(())
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        let shard_indexes: Vec<usize> = done.iter().map(|job| self.shard_index(&job.scope)).collect();
        let mut is_current = vec![false; done.len()];
        for (index, shard) in self.shards.iter().enumerate() {
            let positions: Vec<usize> = (0..done.len()).filter(|position| shard_indexes[*position] == index).collect();
            if positions.is_empty() {
                continue;
            }
            let own: Vec<Done> = positions.iter().map(|position| done[*position].clone()).collect();
            for (position, answer) in positions.into_iter().zip(shard.complete(&own).await?) {
                is_current[position] = answer;
            }
        }
        Ok(is_current)
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        for (shard, own) in self.by_shard(failures, |failure| &failure.scope) {
            shard.fail(&own).await?;
        }
        Ok(())
    }

    async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
        self.shard(scope)?.failures(scope, limit).await
    }

    async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
        self.shard(scope)?.enqueue(scope, ids, job).await
    }

    async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
        self.shard(scope)?.requeue(scope, job).await
    }
}

#[async_trait]
impl KeywordStore for ShardedStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        request::check_keyword_entries(scope, entries)?;
        for (shard, own) in self.by_shard(entries, |entry| &entry.record.scope) {
            KeywordStore::upsert(shard, scope, &own).await?;
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        KeywordStore::delete(self.shard(scope)?, scope, ids).await
    }

    async fn search(&self, scope: &Scope, query: &KeywordQuery) -> Result<Vec<Hit>> {
        KeywordStore::search(self.shard(scope)?, scope, query).await
    }

    async fn search_records(&self, scope: &Scope, query: &KeywordQuery) -> Result<Option<Vec<FoundRecord>>> {
        KeywordStore::search_records(self.shard(scope)?, scope, query).await
    }

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        self.shard(scope)?.terms(scope, ids).await
    }

    async fn records_with_terms(
        &self,
        scope: &Scope,
        ids: &[RecordId],
    ) -> Result<Option<Vec<Option<RecordWithTerms>>>> {
        self.shard(scope)?.records_with_terms(scope, ids).await
    }
}

#[async_trait]
impl VectorStore for ShardedStore {
    fn space(&self) -> &EmbeddingSpace {
        // The list is not empty: `new` rejects an empty one.
        self.shards[0].space()
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        request::check_vector_entries(scope, self.space(), entries)?;
        for (shard, own) in self.by_shard(entries, |entry| &entry.record.scope) {
            // The job queue counts records that lack a vector of the serving version.
            if shard.role().await? != GenerationRole::Serving {
                let message =
                    "a database serves vectors of another embedding space; open each database separately to reembed it";
                return Err(Error::new(ErrorKind::SchemaMismatch, "vector upsert", message));
            }
            VectorStore::upsert(shard, scope, &own).await?;
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        VectorStore::delete(self.shard(scope)?, scope, ids).await
    }

    async fn search(&self, scope: &Scope, query: &VectorQuery) -> Result<Vec<Hit>> {
        VectorStore::search(self.shard(scope)?, scope, query).await
    }

    async fn search_records(&self, scope: &Scope, query: &VectorQuery) -> Result<Option<Vec<FoundRecord>>> {
        VectorStore::search_records(self.shard(scope)?, scope, query).await
    }

    async fn token_vectors(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<MultiVector>>> {
        self.shard(scope)?.token_vectors(scope, ids).await
    }
}

#[async_trait]
impl GraphStore for ShardedStore {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        entries.iter().try_for_each(|entry| scope.authorize("graph upsert", &entry.record.scope))?;
        for (shard, own) in self.by_shard(entries, |entry| &entry.record.scope) {
            GraphStore::upsert(shard, scope, &own).await?;
        }
        Ok(())
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<RemovalCounts> {
        GraphStore::delete(self.shard(scope)?, scope, ids).await
    }

    async fn expand(&self, scope: &Scope, query: &GraphQuery) -> Result<Subgraph> {
        self.shard(scope)?.expand(scope, query).await
    }

    async fn stats(&self, scope: &Scope) -> Result<GraphStats> {
        GraphStore::stats(self.shard(scope)?, scope).await
    }

    async fn clear(&self, scope: &Scope) -> Result<()> {
        GraphStore::clear(self.shard(scope)?, scope).await
    }
}
