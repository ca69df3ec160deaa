//! The statistics of several scopes.

use std::collections::BTreeMap;

use memory_engine::{MemoryEngine, Scope, Stats};

use crate::fault::Fault;

/// Returns the sum of the statistics of these scopes.
pub(super) async fn stats_of(engine: &MemoryEngine, scopes: &[Scope]) -> Result<Stats, Fault> {
    let mut total = Stats::default();
    for scope in scopes {
        let stats = engine.stats(scope).await?;
        total.records += stats.records;
        total.addresses += stats.addresses;
        total.tombstones += stats.tombstones;
        add_all(&mut total.kinds, stats.kinds);
        add_all(&mut total.states, stats.states);
        add_all(&mut total.queued, stats.queued);
        add_all(&mut total.dead_letters, stats.dead_letters);
        for (job, since) in stats.waiting_since {
            let oldest = total.waiting_since.entry(job).or_insert(since);
            *oldest = since.min(*oldest);
        }
        total.oldest = [total.oldest, stats.oldest].into_iter().flatten().min();
        total.newest = total.newest.max(stats.newest);
    }
    Ok(total)
}

fn add_all<K: Ord>(total: &mut BTreeMap<K, u64>, counts: BTreeMap<K, u64>) {
    for (key, count) in counts {
        *total.entry(key).or_default() += count;
    }
}
