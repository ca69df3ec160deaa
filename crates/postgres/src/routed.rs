//! Several databases as one.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Done, EmbeddingSpace, Error, ErrorKind, Failure, Hit, Job, JobQueue, Page, Pending,
    Record, RecordId, RecordStore, RemovalCounts, Result, ScanQuery, Scope, Stats, Tombstone, Write, WriteResult,
};
use memory_engine_graph::{GraphEntry, GraphQuery, GraphStats, GraphStore, Subgraph};
use memory_engine_keyword_store::{KeywordEntry, KeywordQuery, KeywordStore, PackedTerms};
use memory_engine_sql::request;
use memory_engine_vector_store::{GenerationRole, GenerationStore, VectorEntry, VectorQuery, VectorStore};

use crate::{records::scopes, store::PostgresStore};

/// Several databases as one: each user lives on one of them, which their namespace says.
///
/// If a database is down, only its own users are affected (`Unavailable`); the queues of the others continue. The
/// embedder is changed one database at a time, so this store has no generations of its own. The order of the
/// databases is part of the stored data: append new ones, and copy the records of the users that are assigned to them
/// (about one in n, for n databases).
///
/// Every call needs a scope that sets a user: no transaction, and no ranking, spans two servers. Without one it fails
/// with `Unsupported`, with three exceptions: counting; a batch of writes whose users all live on one database; and
/// entries for an index, of which each database takes its own in one transaction.
#[derive(Debug)]
pub struct RoutedStore {
    shards: Vec<PostgresStore>,
    next: AtomicUsize,
}

impl RoutedStore {
    /// Routes to these databases.
    ///
    /// # Errors
    /// `InvalidInput` when there are none; `SchemaMismatch` when their vectors are of different spaces.
    pub fn new(shards: Vec<PostgresStore>) -> Result<Self> {
        let Some(first) = shards.first() else {
            return Err(Error::invalid("route", "there is no database to route to"));
        };
        if shards.iter().any(|shard| shard.space() != first.space()) {
            let message = "the databases hold vectors of different spaces";
            return Err(Error::new(ErrorKind::SchemaMismatch, "route", message));
        }
        Ok(Self { shards, next: AtomicUsize::new(0) })
    }

    /// The database where a user lives.
    ///
    /// # Errors
    /// `Unsupported` for a scope without a user.
    pub fn shard(&self, scope: &Scope) -> Result<&PostgresStore> {
        if scope.user_name().is_none() {
            let message = "a scope without a user lies on several servers; name the user";
            return Err(Error::new(ErrorKind::Unsupported, "route", message));
        }
        self.shards.get(self.place(scope)).ok_or_else(|| Error::invalid("route", "there is no database to route to"))
    }

    /// Items by the database that their users live on.
    fn homes<T: Clone>(&self, items: &[T], address: impl Fn(&T) -> &Scope) -> Vec<(&PostgresStore, Vec<T>)> {
        let of =
            |place: usize| items.iter().filter(|item| self.place(address(item)) == place).cloned().collect::<Vec<T>>();
        let all = self.shards.iter().enumerate().map(|(place, shard)| (shard, of(place)));
        all.filter(|(_, own)| !own.is_empty()).collect()
    }

    /// Returns the database with the highest hash for this user (rendezvous hashing): a new database takes users
    /// over, and no user moves between the others.
    fn place(&self, scope: &Scope) -> usize {
        let ns = scopes::namespace(scope);
        let lot = |place: usize| {
            let mut hasher = blake3::Hasher::new_derive_key("memory-engine 2026 shard");
            hasher.update(ns.as_bytes());
            hasher.update(&(place as u64).to_le_bytes());
            *hasher.finalize().as_bytes()
        };
        (0..self.shards.len()).max_by_key(|place| lot(*place)).unwrap_or_default()
    }
}

#[async_trait]
impl RecordStore for RoutedStore {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        if scope.user_name().is_some() || writes.is_empty() {
            return self.shard(scope)?.put(scope, writes).await;
        }
        let first = writes.first().map_or(0, |write| self.place(&write.record.scope));
        if writes.iter().any(|write| self.place(&write.record.scope) != first) {
            let message =
                "a batch is written whole or not at all, and its users live on several servers; part it by user";
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

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.shard(scope)?.scan(scope, query).await
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        self.shard(scope)?.derived(scope, ids).await
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.shard(scope)?.adjacent(scope, ids).await
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        if scope.user_name().is_some() {
            return RecordStore::stats(self.shard(scope)?, scope).await;
        }
        let mut all = Stats::default();
        for shard in &self.shards {
            let some = RecordStore::stats(shard, scope).await?;
            (all.records, all.addresses) = (all.records + some.records, all.addresses + some.addresses);
            all.tombstones += some.tombstones;
            some.kinds.into_iter().for_each(|(kind, count)| *all.kinds.entry(kind).or_default() += count);
            some.states.into_iter().for_each(|(state, count)| *all.states.entry(state).or_default() += count);
            some.backlog.into_iter().for_each(|(job, count)| *all.backlog.entry(job).or_default() += count);
            some.given_up.into_iter().for_each(|(job, count)| *all.given_up.entry(job).or_default() += count);
            for (job, since) in some.waiting_since {
                let first = all.waiting_since.entry(job).or_insert(since);
                *first = since.min(*first);
            }
            all.oldest = all.oldest.into_iter().chain(some.oldest).min();
            all.newest = all.newest.into_iter().chain(some.newest).max();
        }
        Ok(all)
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.shard(scope)?.tombstones(scope, after, limit).await
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        self.shard(scope)?.import_tombstones(scope, tombstones).await
    }

    async fn close(&self) {
        for shard in &self.shards {
            shard.close().await;
        }
    }
}

#[async_trait]
impl JobQueue for RoutedStore {
    /// Each call begins with another database, so that all get their turn; one that cannot be reached is passed over.
    async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let (mut pending, mut failure) = (Vec::new(), None);
        for turn in 0..self.shards.len() {
            let shard = &self.shards[(first + turn) % self.shards.len()];
            match shard.claim(job, limit - pending.len(), lease).await {
                Ok(some) => pending.extend(some),
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
        for (shard, own) in self.homes(pending, |one| &one.record.scope) {
            shard.extend_lease(&own, lease).await?;
        }
        Ok(())
    }

    async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
        let places: Vec<usize> = done.iter().map(|one| self.place(&one.scope)).collect();
        let mut answers = vec![false; done.len()];
        for (place, shard) in self.shards.iter().enumerate() {
            let own: Vec<usize> = (0..done.len()).filter(|number| places[*number] == place).collect();
            if own.is_empty() {
                continue;
            }
            let receipts: Vec<Done> = own.iter().map(|number| done[*number].clone()).collect();
            for (number, answer) in own.into_iter().zip(shard.complete(&receipts).await?) {
                answers[number] = answer;
            }
        }
        Ok(answers)
    }

    async fn fail(&self, failures: &[Failure]) -> Result<()> {
        for (shard, own) in self.homes(failures, |failure| &failure.scope) {
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
impl KeywordStore for RoutedStore {
    async fn upsert(&self, scope: &Scope, entries: &[KeywordEntry]) -> Result<()> {
        request::check_keyword_entries(scope, entries)?;
        for (shard, own) in self.homes(entries, |entry| &entry.record.scope) {
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

    async fn terms(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<PackedTerms>>> {
        self.shard(scope)?.terms(scope, ids).await
    }
}

#[async_trait]
impl VectorStore for RoutedStore {
    fn space(&self) -> &EmbeddingSpace {
        // There is a first one: `new` refuses an empty list.
        self.shards[0].space()
    }

    async fn upsert(&self, scope: &Scope, entries: &[VectorEntry]) -> Result<()> {
        request::check_vector_entries(scope, self.space(), entries)?;
        for (shard, own) in self.homes(entries, |entry| &entry.record.scope) {
            // What waits for a vector waits for one that serves.
            if shard.role().await? != GenerationRole::Serving {
                let message =
                    "a database serves vectors of another space; open each database by itself to replace them";
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
}

#[async_trait]
impl GraphStore for RoutedStore {
    async fn upsert(&self, scope: &Scope, entries: &[GraphEntry]) -> Result<()> {
        entries.iter().try_for_each(|entry| scope.authorize("graph upsert", &entry.record.scope))?;
        for (shard, own) in self.homes(entries, |entry| &entry.record.scope) {
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
