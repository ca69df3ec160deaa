//! A record store whose changes are logged.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use memory_engine_core::{
    Adjacent, DeletionReport, Page, PeriodCount, Periods, PutMode, Record, RecordGroup, RecordId, RecordStore, Result,
    ScanQuery, Scope, Stats, Timestamp, Tombstone, Write, WriteResult,
    audit::{AuditAction, AuditEvent, AuditLog},
    residue::{ResidueProbes, ResidueReport},
};

use super::{
    auditor::{Announced, Auditor},
    events::Author,
};
use crate::readable::get_readable;

/// A record store that logs each change before it makes it, and a failed change also afterwards. If the log cannot be
/// written, nothing is changed.
#[derive(Debug)]
pub(crate) struct AuditedRecordStore {
    inner: Arc<dyn RecordStore>,
    auditor: Arc<Auditor>,
}

impl AuditedRecordStore {
    pub(crate) fn new(inner: Arc<dyn RecordStore>, auditor: Arc<Auditor>) -> Self {
        Self { inner, auditor }
    }

    async fn run<T>(&self, announced: Announced, work: impl Future<Output = Result<T>>) -> Result<T> {
        let result = work.await;
        if let Err(error) = &result {
            self.auditor.report_failure(announced, error).await;
        }
        result
    }

    /// Returns the ids of the records that the store will delete because these writes replace the text of their
    /// sources, by user.
    async fn withdrawals(&self, writes: &[Write]) -> Result<BTreeMap<Scope, Vec<RecordId>>> {
        let mut texts: BTreeMap<Scope, BTreeMap<RecordId, &str>> = BTreeMap::new();
        for write in writes {
            if !matches!(write.mode, PutMode::Create | PutMode::IfAbsent) {
                texts.entry(write.record.scope.namespace()).or_default().insert(write.record.id, &write.record.text);
            }
        }
        let mut withdrawals = BTreeMap::new();
        for (user, texts) in texts {
            let ids: Vec<RecordId> = texts.keys().copied().collect();
            let stored = self.inner.get(&user, &ids).await?.into_iter().flatten();
            let replaced = stored.filter(|old| texts.get(&old.id).is_some_and(|text| **text != old.text));
            let replaced: Vec<RecordId> = replaced.map(|old| old.id).collect();
            if replaced.is_empty() {
                continue;
            }
            let mut derived = self.inner.derived(&user, &replaced).await?;
            derived.retain(|id| writes.iter().all(|write| write.record.id != *id));
            if !derived.is_empty() {
                withdrawals.insert(user, derived);
            }
        }
        Ok(withdrawals)
    }

    /// Returns the addresses and ids of the stored records with these ids, by user, with the narrowest scope that
    /// covers the records of each user.
    async fn stored_by_user(&self, scope: &Scope, ids: &[RecordId]) -> Result<BTreeMap<Scope, (Scope, Vec<RecordId>)>> {
        let mut by_user: BTreeMap<Scope, (Scope, Vec<RecordId>)> = BTreeMap::new();
        let (found, damaged) = get_readable(self.inner.as_ref(), scope, ids).await?;
        for record in found.into_iter().flatten() {
            let user = by_user.entry(record.scope.namespace());
            let (common, ids) = user.or_insert_with(|| (record.scope.clone(), Vec::new()));
            *common = common.common_with(&record.scope).unwrap_or_else(|| scope.clone());
            ids.push(record.id);
        }
        if !damaged.is_empty() {
            // The address of a damaged record may be unknown.
            let (common, ids) = by_user.entry(scope.namespace()).or_insert_with(|| (scope.clone(), Vec::new()));
            *common = scope.clone();
            ids.extend(damaged);
        }
        Ok(by_user)
    }
}

/// Returns the ids that are in no event.
fn unannounced(ids: impl IntoIterator<Item = RecordId>, events: &Announced) -> Vec<RecordId> {
    let is_new = |id: &RecordId| !events.iter().any(|(_, event)| event.records.contains(id));
    ids.into_iter().filter(is_new).collect()
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl RecordStore for AuditedRecordStore {
    async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
        let author = Author::current();
        let mut events = author.writes(scope, &writes);
        if writes.iter().all(|write| scope.covers(&write.record.scope)) {
            for (user, ids) in self.withdrawals(&writes).await? {
                events.extend(author.cascade(&user, &ids));
            }
        }
        let users: Vec<Scope> = writes.iter().map(|write| write.record.scope.namespace()).collect();
        let announced = self.auditor.announce_all(events).await?;
        let results = self.run(announced.clone(), self.inner.put(scope, writes)).await?;
        for (user, result) in users.iter().zip(&results) {
            // Records that were derived after the text was read.
            let missed = unannounced(result.cascade_deleted.iter().copied(), &announced);
            if !missed.is_empty() {
                self.auditor.report(author.cascade(user, &missed)).await;
            }
        }
        Ok(results)
    }

    async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
        self.inner.get(scope, ids).await
    }

    async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
        let author = Author::current();
        let mut events: Vec<AuditEvent> = Vec::new();
        for (user, (common, stored)) in self.stored_by_user(scope, ids).await? {
            let derived = self.inner.derived(&user, &stored).await?;
            let derived: Vec<RecordId> = derived.into_iter().filter(|id| !stored.contains(id)).collect();
            events.extend(author.events(&common, AuditAction::Delete, &stored));
            events.extend(author.events(&user, AuditAction::Delete, &derived));
        }
        let announced = self.auditor.announce_all(events).await?;
        let report = self.run(announced.clone(), self.inner.delete(scope, ids)).await?;
        // Records that were written or derived after the first look.
        let missed = unannounced(report.ids.iter().copied(), &announced);
        if !missed.is_empty() {
            self.auditor.report(author.events(&scope.namespace(), AuditAction::Delete, &missed)).await;
        }
        Ok(report)
    }

    async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
        let report = self.inner.delete_unreachable(scope).await?;
        if !report.ids.is_empty() {
            // Their ids were not known before.
            let events = Author::current().events(&scope.namespace(), AuditAction::Delete, &report.ids);
            self.auditor.report(events).await;
        }
        Ok(report)
    }

    async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
        self.inner.raw_rows(scope, ids).await
    }

    async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
        self.inner.scan(scope, query).await
    }

    async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        self.inner.derived(scope, ids).await
    }

    async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
        self.inner.adjacent(scope, ids).await
    }

    async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
        self.inner.record_groups(scope).await
    }

    async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
        self.inner.period_counts(scope, periods).await
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        self.inner.stats(scope).await
    }

    async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
        self.inner.tombstones(scope, after, limit).await
    }

    async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
        let author = Author::current();
        let mut by_user: BTreeMap<Scope, Vec<RecordId>> = BTreeMap::new();
        for tombstone in tombstones {
            let user = if scope.covers(&tombstone.scope) { &tombstone.scope } else { scope };
            by_user.entry(user.namespace()).or_default().push(tombstone.id);
        }
        let mut events = Vec::new();
        for (user, ids) in by_user {
            let derived = self.inner.derived(&user, &ids).await?;
            events.extend(author.events(&user, AuditAction::Import, &ids));
            events.extend(author.cascade(&user, &derived));
        }
        let announced = self.auditor.announce_all(events).await?;
        self.run(announced, self.inner.import_tombstones(scope, tombstones)).await
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
        self.inner.expired(now, limit).await
    }

    async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
        let events = Author::current().events(scope, AuditAction::Expire, ids);
        let announced = self.auditor.announce_all(events).await?;
        self.run(announced, self.inner.remove_tombstones(scope, ids)).await
    }

    fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        self.inner.audit_log()
    }

    async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
        self.inner.find_residue(probes).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
