//! Topic, entities and emotion of turns.

use memory_core::{Done, Pending, PutMode, Record, Result, Scope, Write};
use memory_summarizer::MetadataExtractor;

use super::told;
use crate::MemoryEngine;

impl MemoryEngine {
    /// Fills in what the records do not say themselves. What it changes is at another revision afterwards.
    pub(super) async fn describe(&self, extractor: &dyn MetadataExtractor, pending: &[Pending]) -> Result<Vec<Done>> {
        let records: Vec<Record> = pending.iter().map(|pending| pending.record.clone()).collect();
        let described = extractor.extract(&records).await?;
        told("metadata", described.degraded.as_ref());
        let mut done: Vec<Done> = pending.iter().map(Pending::done).collect();
        for ((mut record, found), done) in records.into_iter().zip(described.turns).zip(&mut done) {
            if !found.fill(&mut record) {
                continue;
            }
            let scope: Scope = record.scope.clone();
            let mode = PutMode::Update { revision: record.revision };
            let written = self.records().put(&scope, vec![Write::new(record, mode)]).await?;
            done.revision = written.first().map_or(done.revision, |written| written.revision);
        }
        Ok(done)
    }
}
