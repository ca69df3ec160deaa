//! Waiting for background jobs.

use memory_engine_core::{Result, Scope};
use memory_engine_enrichment::Progress;
use tracing::{Span, field::Empty};

use crate::{engine::MemoryEngine, verb::verb};

impl MemoryEngine {
    /// Works and waits until everything within `scope` that is queued has been done or given up. Returns the number of
    /// items that were queued.
    ///
    /// Items that another worker has claimed are waited for. On SQLite and Postgres, those of a worker whose process
    /// has ended are free at once; other stores may keep them for half a minute. An item that fails by itself is given
    /// up after five attempts; [`Admin::failures`](crate::admin::Admin::failures) lists it.
    ///
    /// # Errors
    /// The embedder's or the store's; what was indexed before stays.
    pub async fn drain(&self, scope: &Scope, progress: impl FnMut(Progress)) -> Result<u64> {
        let work = self.enrichment().worker().drain(scope, progress);
        verb!("drain", scope, { items = Empty }, work, |span: &Span, items: &u64| _ = span.record("items", *items))
    }
}
