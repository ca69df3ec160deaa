//! The statistics by which the server plans statements.
//!
//! The server updates them by itself, but at most once a minute. Until then, after a bulk load, a read of ten records
//! takes as long as a scan of the table.

use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::PgConnection;

use crate::database::error::PostgresError;

/// Number of records that this process writes before it updates the statistics for the first time.
const FIRST_UPDATE_RECORDS: u64 = 500;

/// Updates the statistics of the columns that occur in conditions. Those of texts, terms and vectors would take most of
/// the time, and no plan depends on them. `SKIP_LOCKED` leaves out a table whose index is being built: the build has a
/// lock that conflicts, and would wait for this statement in turn.
const ANALYZE: &str = "ANALYZE (SKIP_LOCKED) namespaces, addresses, record_groups, backlog,
    records (ns, id, address, state, kind, occurred_at, place, message_id, pinned, expires_at),
    keyword_documents (ns, id, address), vectors (ns, id, address), second_vectors (ns, id, address)";

/// Counts the records that this process writes, and updates the statistics when their number has doubled.
#[derive(Debug, Default)]
pub(crate) struct PlannerStatistics {
    written: AtomicU64,
    /// The number of written records at the last update.
    written_at_update: AtomicU64,
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

    /// Updates the statistics. If the user does not own the tables, the server only warns.
    pub(crate) async fn update(&self, connection: &mut PgConnection) -> Result<(), PostgresError> {
        sqlx::raw_sql(ANALYZE).execute(connection).await?;
        Ok(())
    }
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
