//! Implements the contracts for `Arc` and `Box` of an implementation.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    audit::AuditLog,
    error::Result,
    id::RecordId,
    record::Record,
    residue::{ResidueProbes, ResidueReport},
    scope::Scope,
    store::{
        Adjacent, DeletionReport, Done, Failure, Job, JobQueue, Page, Pending, PeriodCount, Periods, RecordGroup,
        RecordStore, ScanQuery, Stats, Tombstone, Write, WriteResult,
    },
    time::{Clock, Timestamp},
};

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[deny(clippy::missing_trait_methods)]
        impl<T: Clock + ?Sized> Clock for $pointer<T> {
            fn now(&self) -> Timestamp {
                (**self).now()
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: RecordStore + ?Sized> RecordStore for $pointer<T> {
            async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>> {
                (**self).put(scope, writes).await
            }
            async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>> {
                (**self).get(scope, ids).await
            }
            async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport> {
                (**self).delete(scope, ids).await
            }
            async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport> {
                (**self).delete_unreachable(scope).await
            }
            async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>> {
                (**self).raw_rows(scope, ids).await
            }
            async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page> {
                (**self).scan(scope, query).await
            }
            async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>> {
                (**self).derived(scope, ids).await
            }
            async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>> {
                (**self).adjacent(scope, ids).await
            }
            async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>> {
                (**self).record_groups(scope).await
            }
            async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>> {
                (**self).period_counts(scope, periods).await
            }
            async fn stats(&self, scope: &Scope) -> Result<Stats> {
                (**self).stats(scope).await
            }
            async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>> {
                (**self).tombstones(scope, after, limit).await
            }
            async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64> {
                (**self).import_tombstones(scope, tombstones).await
            }
            async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>> {
                (**self).expired(now, limit).await
            }
            async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64> {
                (**self).remove_tombstones(scope, ids).await
            }
            fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
                (**self).audit_log()
            }
            async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport> {
                (**self).find_residue(probes).await
            }
            async fn close(&self) {
                (**self).close().await;
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: JobQueue + ?Sized> JobQueue for $pointer<T> {
            async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>> {
                (**self).claim(job, limit, lease).await
            }
            async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()> {
                (**self).extend_lease(pending, lease).await
            }
            async fn release(&self, pending: &[Pending]) -> Result<()> {
                (**self).release(pending).await
            }
            async fn complete(&self, done: &[Done]) -> Result<Vec<bool>> {
                (**self).complete(done).await
            }
            async fn fail(&self, failures: &[Failure]) -> Result<()> {
                (**self).fail(failures).await
            }
            async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>> {
                (**self).failures(scope, limit).await
            }
            async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64> {
                (**self).enqueue(scope, ids, job).await
            }
            async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64> {
                (**self).requeue(scope, job).await
            }
        }
    )*};
}

forward!(Arc, Box);
