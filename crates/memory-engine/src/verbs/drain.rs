//! Waiting for background jobs.

use memory_engine_core::{Result, Scope};
use memory_engine_enrichment::Progress;
use memory_engine_indexing::verb;
use tracing::{Span, field::Empty};

use crate::engine::MemoryEngine;

impl MemoryEngine {
    /// Runs the queued jobs within `scope` and waits until each is done or has failed for good. Returns the number of
    /// items that were queued.
    ///
    /// It also waits for items that another worker has claimed. On SQLite and Postgres, the claims of a worker whose
    /// process has ended are released at once; other stores may keep them for half a minute. An item that fails on its
    /// own becomes a dead letter after five attempts; [`Admin::failures`](crate::admin::Admin::failures) lists it. A
    /// service that is unreachable is asked again, until 4 seconds have passed in which the
    /// number of queued items has not become smaller.
    ///
    /// # Errors
    /// The error of the embedder or the store, if a retry does not help. Items that were done before stay done, and the
    /// others stay queued.
    pub async fn drain(&self, scope: &Scope, progress: impl FnMut(Progress)) -> Result<u64> {
        let work = self.enrichment().worker().drain(scope, progress);
        verb!("drain", scope, { items = Empty }, work, |span: &Span, items: &u64| _ = span.record("items", *items))
    }
}
