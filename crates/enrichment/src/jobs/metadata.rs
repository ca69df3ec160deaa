//! Topic, entities and emotion of turns.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use futures_util::future::join_all;
use memory_engine_core::{Done, Job, Pending, PutMode, Record, Result, Scope, Write};
use memory_engine_indexing::IndexedStore;
use memory_engine_summarizer::MetadataExtractor;

use super::MODEL_BATCH_SIZE;
use crate::{handler::JobHandler, log::log_degraded};

/// Fills the empty metadata fields of turns, for each user in a transaction of its own. The turns that it changes get
/// new revisions.
#[derive(Debug)]
pub(crate) struct MetadataJob {
    pub(crate) store: Arc<IndexedStore>,
    pub(crate) extractor: Arc<dyn MetadataExtractor>,
}

#[async_trait]
impl JobHandler for MetadataJob {
    fn job(&self) -> Job {
        Job::Metadata
    }

    async fn batch_size(&self) -> Result<Option<usize>> {
        Ok(Some(MODEL_BATCH_SIZE))
    }

    async fn run(&self, pending: &[Pending]) -> Result<Vec<Done>> {
        let records: Vec<Record> = pending.iter().map(|pending| pending.record.clone()).collect();
        let described = self.extractor.extract(&records).await?;
        log_degraded("metadata", described.degraded.as_ref());
        let mut done: Vec<Done> = pending.iter().map(Pending::done).collect();
        let mut users: BTreeMap<Scope, (Vec<usize>, Vec<Write>)> = BTreeMap::new();
        for (n, (mut record, metadata)) in records.into_iter().zip(described.turns).enumerate() {
            if metadata.fill(&mut record) {
                let (indexes, writes) = users.entry(record.scope.namespace()).or_default();
                let mode = PutMode::Update { revision: record.revision };
                indexes.push(n);
                writes.push(Write::new(record, mode));
            }
        }
        // A store can commit the transactions of several users together.
        let written = join_all(users.into_iter().map(|(user, (indexes, writes))| async move {
            let written = self.store.records().put(&user, writes).await?;
            Ok(indexes.into_iter().zip(written))
        }));
        for written_of_user in written.await.into_iter().collect::<Result<Vec<_>>>()? {
            for (n, written) in written_of_user {
                done[n].revision = written.revision;
            }
        }
        Ok(done)
    }
}
