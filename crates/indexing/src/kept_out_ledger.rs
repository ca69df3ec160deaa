//! The ledger of the values that are kept out.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use memory_engine_core::{Kind, Order, Record, Result, Scope, Write};
use memory_engine_screening::ValuePattern;
use serde_json::json;

use crate::{
    kept_out::{CACHE_MAX_AGE, KeptOutValue, PATTERN_KEY, is_kept_out},
    store::IndexedStore,
};

impl IndexedStore {
    /// Maximum time after which a value that another process keeps out is masked here.
    pub const KEPT_OUT_DELAY: Duration = CACHE_MAX_AGE;

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
        match self.kept_out_cache().get(user) {
            Some(values) => Ok(values),
            None => self.read_kept_out(user).await,
        }
    }

    /// As [`kept_out`](Self::kept_out), with the changes of other processes up to now.
    ///
    /// # Errors
    /// The store's error.
    pub async fn read_kept_out(&self, user: &Scope) -> Result<Arc<Vec<KeptOutValue>>> {
        let read_at = Instant::now();
        let entries = self.scan_all(user, is_kept_out(), Order::OldestFirst).await?;
        let of_user = entries.into_iter().filter(|entry| entry.scope.namespace() == *user);
        let values = Arc::new(of_user.filter_map(KeptOutValue::of).collect::<Vec<_>>());
        self.kept_out_cache().insert(user, read_at, Arc::clone(&values));
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
}
