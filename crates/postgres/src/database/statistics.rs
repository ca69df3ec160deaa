//! The statistics by which the server plans statements.
//!
//! The server updates them by itself, but at most once a minute. Until then, after a bulk load, a read of ten records
//! takes as long as a scan of the table. A background task with a connection of its own updates them, so that no write
//! waits.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use memory_engine_core::observe::tracing;
use sqlx::{Connection, PgConnection};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use crate::database::{error::PostgresError, server::ServerConfig};

/// Number of records that this process writes before it updates the statistics for the first time.
const FIRST_UPDATE_RECORDS: u64 = 500;

/// Updates the statistics of the columns that occur in conditions. Those of texts, terms and vectors would take most of
/// the time, and the plans do not use them. `SKIP_LOCKED` leaves out a table whose index is being built: waiting for
/// the lock of the build could be a deadlock.
const ANALYZE: &str = "ANALYZE (SKIP_LOCKED) namespaces, scopes, record_groups, jobs,
    records (namespace, id, scope, state, kind, occurred_at, place, message_id, pinned, expires_at),
    keyword_documents (namespace, id, scope), vectors (namespace, id, scope), secondary_vectors (namespace, id, scope)";

/// Counts the records that this process writes, and updates the statistics at 500 and whenever the count has doubled.
#[derive(Debug, Default)]
pub(crate) struct PlannerStatistics {
    written: AtomicU64,
    /// The number of written records at the last update.
    written_at_update: AtomicU64,
    task: Mutex<Option<JoinHandle<()>>>,
    /// True if an update is due that the task has not begun.
    is_due: Arc<AtomicBool>,
    is_closed: AtomicBool,
}

impl PlannerStatistics {
    /// Counts written records. Returns true if it is time for an [`update`](Self::update).
    pub(crate) fn count_written(&self, records: u64) -> bool {
        let written = self.written.fetch_add(records, Ordering::Relaxed) + records;
        let at_update = self.written_at_update.load(Ordering::Relaxed);
        let set_update = || {
            self.written_at_update.compare_exchange(at_update, written, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        written >= FIRST_UPDATE_RECORDS.max(2 * at_update) && set_update()
    }

    /// Updates the statistics in the background. A running task does it after its current update. After
    /// [`close`](Self::close), nothing is done.
    pub(crate) fn update(&self, server: &ServerConfig) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        // A task may have cleared the flag and still be ending: then a new task waits for it.
        if self.is_due.swap(true, Ordering::AcqRel) && task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (is_due, server, earlier) = (Arc::clone(&self.is_due), server.clone(), task.take());
        *task = Some(tokio::spawn(async move {
            if let Some(earlier) = earlier {
                let _: Result<_, _> = earlier.await;
            }
            while is_due.swap(false, Ordering::AcqRel) {
                // Without statistics, statements are only slower.
                if let Err(failure) = analyze(&server).await {
                    tracing::warn!(error = %failure.into_error("analyze"), "the statistics are not updated yet");
                }
            }
        }));
    }

    /// Waits for the task until `deadline`. A task that is not done by then completes its current update in the
    /// background. Later updates are ignored.
    pub(crate) async fn close(&self, deadline: Instant) {
        let task = {
            let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
            self.is_closed.store(true, Ordering::Relaxed);
            self.is_due.store(false, Ordering::Release);
            task.take()
        };
        if let Some(task) = task {
            let _: Result<_, _> = timeout_at(deadline, task).await;
        }
    }
}

/// Updates the statistics. If the user does not own the tables, the server only warns.
async fn analyze(server: &ServerConfig) -> Result<(), PostgresError> {
    let mut connection = PgConnection::connect_with(&server.migration_options()).await?;
    sqlx::raw_sql(ANALYZE).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_updated_when_the_number_of_records_has_doubled() {
        let statistics = PlannerStatistics::default();
        let updates: Vec<bool> = (0..8).map(|_| statistics.count_written(400)).collect();
        assert_eq!(updates, [false, true, false, true, false, false, false, true]);
    }
}
