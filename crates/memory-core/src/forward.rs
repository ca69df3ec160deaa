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

/// Implements a contract for `Arc` and `Box` of an implementation, from the signatures of its methods:
///
/// ```ignore
/// memory_engine_core::forward! {
///     #[async_trait]
///     impl Reranker {
///         async fn rerank(&self, question: &str, candidates: &[&str]) -> Result<Vec<Score>>;
///     }
/// }
/// ```
///
/// `clippy` refuses a list without one of the methods, even if it has a default. That lint ignores code of macros of
/// other crates, so the token `impl` has to be the caller's.
#[doc(hidden)]
#[macro_export]
macro_rules! forward {
    (#[$attribute:meta] $impl:tt $trait:ident { $($methods:tt)+ }) => {
        $crate::forward! { @methods [[#[$attribute]] $impl $trait] [] $($methods)+ }
    };
    (@methods $head:tt [$($done:tt)*]
        async fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?; $($rest:tt)*
    ) => {
        $crate::forward! { @methods $head [
            $($done)*
            async fn $name(&self $(, $argument: $type)*) $(-> $result)? {
                (**self).$name($($argument),*).await
            }
        ] $($rest)* }
    };
    (@methods $head:tt [$($done:tt)*]
        fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?; $($rest:tt)*
    ) => {
        $crate::forward! { @methods $head [
            $($done)*
            fn $name(&self $(, $argument: $type)*) $(-> $result)? {
                (**self).$name($($argument),*)
            }
        ] $($rest)* }
    };
    (@methods [[$($attributes:tt)*] $impl:tt $trait:ident] [$($methods:tt)*]) => {
        $($attributes)*
        #[deny(clippy::missing_trait_methods)]
        $impl<T: $trait + ?Sized> $trait for ::std::sync::Arc<T> {
            $($methods)*
        }

        $($attributes)*
        #[deny(clippy::missing_trait_methods)]
        $impl<T: $trait + ?Sized> $trait for ::std::boxed::Box<T> {
            $($methods)*
        }
    };
    ($impl:tt $trait:ident { $($methods:tt)+ }) => {
        $crate::forward! { @methods [[] $impl $trait] [] $($methods)+ }
    };
}

crate::forward! {
    impl Clock {
        fn now(&self) -> Timestamp;
    }
}

crate::forward! {
    #[async_trait]
    impl RecordStore {
        async fn put(&self, scope: &Scope, writes: Vec<Write>) -> Result<Vec<WriteResult>>;
        async fn get(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Option<Record>>>;
        async fn delete(&self, scope: &Scope, ids: &[RecordId]) -> Result<DeletionReport>;
        async fn delete_unreachable(&self, scope: &Scope) -> Result<DeletionReport>;
        async fn raw_rows(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<serde_json::Value>>;
        async fn scan(&self, scope: &Scope, query: &ScanQuery) -> Result<Page>;
        async fn derived(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<RecordId>>;
        async fn adjacent(&self, scope: &Scope, ids: &[RecordId]) -> Result<Vec<Adjacent>>;
        async fn record_groups(&self, scope: &Scope) -> Result<Vec<RecordGroup>>;
        async fn period_counts(&self, scope: &Scope, periods: Periods) -> Result<Vec<PeriodCount>>;
        async fn stats(&self, scope: &Scope) -> Result<Stats>;
        async fn tombstones(&self, scope: &Scope, after: Option<RecordId>, limit: usize) -> Result<Vec<Tombstone>>;
        async fn import_tombstones(&self, scope: &Scope, tombstones: &[Tombstone]) -> Result<u64>;
        async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<(Scope, RecordId)>>;
        async fn remove_tombstones(&self, scope: &Scope, ids: &[RecordId]) -> Result<u64>;
        fn audit_log(&self) -> Option<Arc<dyn AuditLog>>;
        async fn find_residue(&self, probes: &ResidueProbes) -> Result<ResidueReport>;
        async fn close(&self);
    }
}

crate::forward! {
    #[async_trait]
    impl JobQueue {
        async fn claim(&self, job: Job, limit: usize, lease: Duration) -> Result<Vec<Pending>>;
        async fn extend_lease(&self, pending: &[Pending], lease: Duration) -> Result<()>;
        async fn release(&self, pending: &[Pending]) -> Result<()>;
        async fn complete(&self, done: &[Done]) -> Result<Vec<bool>>;
        async fn fail(&self, failures: &[Failure]) -> Result<()>;
        async fn failures(&self, scope: &Scope, limit: usize) -> Result<Vec<Failure>>;
        async fn enqueue(&self, scope: &Scope, ids: &[RecordId], job: Job) -> Result<u64>;
        async fn requeue(&self, scope: &Scope, job: Job) -> Result<u64>;
    }
}
