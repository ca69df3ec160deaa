//! Values that are kept out of the records of a scope: they are masked in whatever is written.
//!
//! The keyed hash of each value is in an entry of a ledger at its scope, so that backups, copies, merges and exports
//! contain it. Entries are pinned: the index of pinned records finds them, and they do not expire.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use memory_engine_core::{Field, Filter, Kind, Order, Record, Result, Scope, Write, sync::Mutex};
use memory_engine_screening::ValuePattern;
use serde_json::json;

use crate::store::IndexedStore;

/// The metadata key of the pattern.
const PATTERN_KEY: &str = "pattern";
/// Maximum number of users whose values are cached.
const CACHE_MAX_USERS: usize = 1000;

/// The values of a user, and the time at which they were read.
type CachedValues = (Instant, Arc<Vec<KeptOutValue>>);

/// The cached values of some users.
#[derive(Debug, Default)]
pub(crate) struct KeptOutCache(Mutex<BTreeMap<Scope, CachedValues>>);

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
    fn of(entry: Record) -> Option<Self> {
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
pub fn is_kept_out() -> Filter {
    Filter::eq(Field::Pinned, true).and(Filter::eq(Field::Kind, Kind::KEPT_OUT.as_str()))
}

impl IndexedStore {
    /// Maximum time after which a value that another process keeps out is masked here.
    pub const KEPT_OUT_DELAY: Duration = Duration::from_secs(1);

    /// Returns the entry of the ledger that keeps a value out of the records of a scope.
    pub fn kept_out_entry(&self, scope: &Scope, pattern: &ValuePattern) -> Record {
        let mut entry = Record::new(scope.clone(), Kind::KEPT_OUT, "a value is kept out", self.clock());
        entry.text = format!("a value is kept out: {}", entry.id);
        entry.pinned = true;
        entry.metadata.insert(PATTERN_KEY.into(), json!(pattern.hashed()));
        entry
    }

    /// Returns the values that are kept out of the records of a user, at any scope of the user.
    ///
    /// # Errors
    /// The store's error.
    pub async fn kept_out(&self, user: &Scope) -> Result<Arc<Vec<KeptOutValue>>> {
        if let Some((read_at, values)) = self.kept_out_cache().0.lock().get(user)
            && read_at.elapsed() < Self::KEPT_OUT_DELAY
        {
            return Ok(Arc::clone(values));
        }
        let read_at = Instant::now();
        let entries = self.scan_all(user, is_kept_out(), Order::OldestFirst).await?;
        let of_user = entries.into_iter().filter(|entry| entry.scope.namespace() == *user);
        let values = Arc::new(of_user.filter_map(KeptOutValue::of).collect::<Vec<_>>());
        let mut cache = self.kept_out_cache().0.lock();
        if cache.len() >= CACHE_MAX_USERS {
            cache.clear();
        }
        cache.insert(user.clone(), (read_at, Arc::clone(&values)));
        Ok(values)
    }

    /// Returns the values that are kept out of the records of writes.
    pub(crate) async fn kept_out_of(&self, writes: &[Write]) -> Result<Vec<KeptOutValue>> {
        let mut users: Vec<Scope> = writes.iter().map(|write| write.record.scope.namespace()).collect();
        users.sort();
        users.dedup();
        let mut values = Vec::new();
        for user in users {
            values.extend(self.kept_out(&user).await?.iter().cloned());
        }
        Ok(values)
    }

    /// Forgets the cached values, after entries of the ledger were written or deleted.
    pub(crate) fn clear_kept_out_cache(&self) {
        self.kept_out_cache().0.lock().clear();
    }
}
