//! Values that are kept out of the records of a scope after their deletion.

use memory_engine_core::{Error, PutMode, RecordId, Result, Scope, Timestamp, Write};
use memory_engine_indexing::IndexedStore;
use memory_engine_screening::ValuePattern;
use serde::Serialize;

use crate::curation::Curation;

/// A value that is kept out of the records of a scope. `Deletion::kept_out`
/// returns it. The store has its keyed hash and the key. The value cannot be read, but a person with the database can
/// guess a short number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeptOut {
    /// The id of its entry. `forget` of this id lets the value be stored again.
    pub id: RecordId,
    /// The scope of the records.
    pub scope: Scope,
    /// The time since which it is kept out.
    pub since: Timestamp,
    /// Number of characters of the value, without the separators of numbers and codes.
    pub length: usize,
}

impl Curation {
    /// Keeps a value out of what is written within a scope from now on. Returns when every process masks it, with the
    /// id of its entry, which exists already if the call is repeated.
    pub(super) async fn keep_out(&self, scope: &Scope, pattern: &ValuePattern) -> Result<RecordId> {
        if scope.user_name().is_none() {
            let message = "a text is kept out of the records of one user; name the user";
            return Err(Error::invalid("forget", message));
        }
        let known = self.indexed_store().read_kept_out(&scope.namespace()).await?;
        let mut same = known.iter().filter(|value| value.entry.scope == *scope && value.pattern.is_same(pattern));
        let id = match same.next() {
            Some(value) => value.entry.id,
            None => {
                let entry = self.indexed_store().kept_out_entry(scope, pattern);
                let id = entry.id;
                self.indexed_store().write_screened(scope, vec![Write::new(entry, PutMode::Create)]).await?;
                id
            }
        };
        // Also for a known entry: another call may have written it just now, and clocks of processes differ.
        tokio::time::sleep(IndexedStore::KEPT_OUT_DELAY).await;
        Ok(id)
    }

    /// Returns the values that are kept out of records within a scope, or of those around it.
    ///
    /// # Errors
    /// The store's error.
    pub async fn kept_out(&self, scope: &Scope) -> Result<Vec<KeptOut>> {
        let values = self.indexed_store().read_kept_out(&scope.namespace()).await?;
        let concerns = |other: &Scope| scope.covers(other) || other.covers(scope);
        let kept_out = values.iter().filter(|value| concerns(&value.entry.scope)).map(|value| KeptOut {
            id: value.entry.id,
            scope: value.entry.scope.clone(),
            since: value.entry.occurred_at,
            length: value.pattern.length(),
        });
        Ok(kept_out.collect())
    }
}
