//! Remembering a whole conversation at once.

use std::collections::{BTreeMap, BTreeSet};

use memory_engine_core::{
    PutMode, Record, RecordId, Result, Scope, State, Write, WriteResult,
    retry::{WRITE_ATTEMPTS, retry_on},
};
use memory_engine_indexing::{Turn, verb};

use crate::{
    engine::MemoryEngine,
    verbs::remember::{CHANGED_MEANWHILE, has_same_content, replacement},
};

impl MemoryEngine {
    /// Remembers many things at the address `scope` in one transaction, all or none, and returns the outcome of each,
    /// in their order. [`import`](Self::import) stores more than fit into memory.
    ///
    /// Turns with an id replace the stored ones, as [`remember`](Self::remember) does. A turn that was forgotten
    /// before has the outcome `Blocked` and is not stored.
    ///
    /// ```
    /// use memory_engine::{MemoryEngine, Scope, Turn};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = MemoryEngine::builder().in_memory().build().await?;
    /// let monday = Scope::user("lin")?.with_session("monday")?;
    /// let turns = [Turn::user("My interview is on Friday"), Turn::assistant("Good luck!")];
    /// let written = memory.remember_all(&monday, turns).await?;
    /// assert_eq!(written.len(), 2);
    /// # Ok::<(), memory_engine::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`remember`](Self::remember), but for blocked turns. Nothing is stored then.
    pub async fn remember_all<T: Into<Turn>>(
        &self,
        scope: &Scope,
        turns: impl IntoIterator<Item = T>,
    ) -> Result<Vec<WriteResult>> {
        let turns: Vec<Turn> = turns.into_iter().map(Into::into).collect();
        let count = turns.len();
        verb!("remember_all", scope, { records = count }, self.acting(self.remember_turns(scope, turns)))
    }

    async fn remember_turns(&self, scope: &Scope, turns: Vec<Turn>) -> Result<Vec<WriteResult>> {
        let mut named = Vec::new();
        let mut records = Vec::new();
        for turn in turns {
            let is_named = turn.is_named();
            let mut record = turn.into_record(scope, self.settings().clock());
            self.indexed_store().screen(&mut record).await?;
            if is_named {
                named.push(record.id);
            }
            records.push(record);
        }
        let attempts = if named.is_empty() { 1 } else { WRITE_ATTEMPTS };
        retry_on(CHANGED_MEANWHILE, attempts, || async {
            self.indexed_store().write_screened(scope, self.writes_of(scope, &records, &named).await?).await
        })
        .await
    }

    /// Returns the writes of records. A record replaces the stored record, and an earlier record of the list, with the
    /// same id.
    async fn writes_of(&self, scope: &Scope, records: &[Record], named: &[RecordId]) -> Result<Vec<Write>> {
        let stored = self.indexed_store().get_all(scope, named).await?;
        let stored: BTreeMap<RecordId, Record> = stored.into_iter().flatten().map(|old| (old.id, old)).collect();
        let mut seen = BTreeSet::new();
        let mut writes = Vec::new();
        for record in records {
            let is_first = seen.insert(record.id);
            let old = stored.get(&record.id);
            let (record, mode) = match old {
                // A retracted turn stays retracted when it is sent again.
                Some(old) if is_first && old.state == State::Revoked && has_same_content(record, old) => {
                    (old.clone(), PutMode::Update { revision: old.revision })
                }
                old if is_first && named.contains(&record.id) => replacement(record.clone(), old),
                _ => (record.clone(), PutMode::Upsert),
            };
            writes.push(Write { jobs: self.enrichment().jobs_for(&record), ..Write::new(record, mode) });
        }
        Ok(writes)
    }
}
