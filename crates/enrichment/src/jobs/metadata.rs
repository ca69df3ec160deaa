//! Topic, entities and emotion of turns.

use std::collections::BTreeMap;

use memory_engine_core::{Done, Pending, PutMode, Record, Result, Scope, Write};
use memory_engine_summarizer::MetadataExtractor;

use super::told;
use crate::MemoryEngine;

impl MemoryEngine {
    /// Fills in what the records do not say themselves, those of a user in one transaction. What it changes is at another
    /// revision afterwards.
    pub(super) async fn describe(&self, extractor: &dyn MetadataExtractor, pending: &[Pending]) -> Result<Vec<Done>> {
        let records: Vec<Record> = pending.iter().map(|pending| pending.record.clone()).collect();
        let described = extractor.extract(&records).await?;
        told("metadata", described.degraded.as_ref());
        let mut done: Vec<Done> = pending.iter().map(Pending::done).collect();
        let mut users: BTreeMap<Scope, (Vec<usize>, Vec<Write>)> = BTreeMap::new();
        for (n, (mut record, found)) in records.into_iter().zip(described.turns).enumerate() {
            if found.fill(&mut record) {
                let (places, writes) = users.entry(record.scope.namespace()).or_default();
                let mode = PutMode::Update { revision: record.revision };
                places.push(n);
                writes.push(Write::new(record, mode));
            }
        }
        for (user, (places, writes)) in users {
            for (n, written) in places.into_iter().zip(self.records().put(&user, writes).await?) {
                done[n].revision = written.revision;
            }
        }
        Ok(done)
    }
}
