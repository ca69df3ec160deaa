//! Values that are kept out of the records of a scope: a record that contains one is masked before it is stored.
//!
//! The keyed hash of each value is in an entry of a ledger at its scope, so that backups, copies, merges and exports
//! contain it. Entries are pinned: the index of pinned records finds them, and they do not expire.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use memory_engine_core::{Field, Filter, Kind, Record, Scope, sync::Mutex};
use memory_engine_screening::ValuePattern;

/// The metadata key of the pattern.
pub(crate) const PATTERN_KEY: &str = "pattern";
/// Maximum number of users whose values are cached.
const CACHE_MAX_USERS: usize = 1000;
/// Maximum age of cached values.
pub(crate) const CACHE_MAX_AGE: Duration = Duration::from_secs(1);

/// The values of a user, and the time at which they were read.
type CachedValues = (Instant, Arc<Vec<KeptOutValue>>);

/// The cached values of some users.
#[derive(Debug, Default)]
pub(crate) struct KeptOutCache(Mutex<BTreeMap<Scope, CachedValues>>);

impl KeptOutCache {
    pub(crate) fn get(&self, user: &Scope) -> Option<Arc<Vec<KeptOutValue>>> {
        let cache = self.0.lock();
        let (read_at, values) = cache.get(user)?;
        (read_at.elapsed() < CACHE_MAX_AGE).then(|| Arc::clone(values))
    }

    pub(crate) fn insert(&self, user: &Scope, read_at: Instant, values: Arc<Vec<KeptOutValue>>) {
        let mut cache = self.0.lock();
        if cache.len() >= CACHE_MAX_USERS {
            cache.clear();
        }
        cache.insert(user.clone(), (read_at, values));
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// A value that is kept out of the records of a scope.
#[derive(Debug, Clone)]
pub struct KeptOutValue {
    /// The entry of the ledger.
    pub entry: Record,
    /// The keyed hash of the value.
    pub pattern: ValuePattern,
}

impl KeptOutValue {
    /// Returns the value in an entry of the ledger.
    pub(crate) fn of(entry: Record) -> Option<Self> {
        let pattern = serde_json::from_value(entry.metadata.get(PATTERN_KEY)?.clone());
        match pattern {
            Ok(pattern) => Some(Self { entry, pattern }),
            Err(error) => {
                tracing::warn!(id = %entry.id, %error, "a value that is kept out cannot be read");
                None
            }
        }
    }

    /// Replaces the value in a record, if it is in the scope of the value. Returns the number of occurrences.
    fn mask(&self, record: &mut Record) -> usize {
        let is_covered = self.entry.scope.covers(&record.scope) && record.kind != Kind::KEPT_OUT;
        if is_covered { self.pattern.mask_record(record, &mut |_, _| ()) } else { 0 }
    }
}

/// Replaces the values in a record. Returns true if it has changed.
pub(crate) fn mask_kept_out(values: &[KeptOutValue], record: &mut Record) -> bool {
    let count: usize = values.iter().map(|value| value.mask(record)).sum();
    if count > 0 {
        tracing::info!(occurrences = count, "values that are kept out were masked");
    }
    count > 0
}

/// Returns the filter for the entries of the ledger.
pub(crate) fn is_kept_out() -> Filter {
    Filter::eq(Field::Pinned, true).and(Filter::eq(Field::Kind, Kind::KEPT_OUT.as_str()))
}
