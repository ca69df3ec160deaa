//! The background: whatever the write path left to be indexed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use memory_core::{Job, Pending, Record, Result, Scope};
use memory_embedder::Purpose;
use memory_keyword_store::KeywordEntry;
use memory_vector_store::VectorEntry;

use crate::{MemoryEngine, engine};

/// How long a claimed item is hidden from other workers. Whoever dies holding one delays it by so much.
const LEASE: Duration = Duration::from_secs(30);
const BATCH: usize = 256;
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(60);

/// How far indexing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// How many items have been indexed by this call.
    pub done: u64,
    /// How many were there to be indexed when it began.
    pub total: u64,
}

/// Indexes what is waiting, for as long as the engine lives. Woken by every write.
pub(crate) async fn run(engine: engine::Weak, wake: Arc<tokio::sync::Notify>) {
    let mut retry = FIRST_RETRY;
    loop {
        let Some(engine) = engine.upgrade() else { return };
        let outcome = engine.index_all(|_| {}).await;
        drop(engine);
        match outcome {
            Ok(_) => {
                retry = FIRST_RETRY;
                // Items that another process claimed and never finished come back after their lease.
                let _ = tokio::time::timeout(LEASE, wake.notified()).await;
            }
            Err(_) => {
                tokio::time::sleep(retry).await;
                retry = (retry * 2).min(LAST_RETRY);
            }
        }
    }
}

impl MemoryEngine {
    /// Indexes everything that waits and is free, batch by batch, and counts it. One at a time in this process.
    pub(crate) async fn index_all(&self, mut progress: impl FnMut(u64)) -> Result<u64> {
        let _one_at_a_time = self.indexing().lock().await;
        let mut done = 0;
        for job in Job::ALL {
            loop {
                let limit = match job {
                    Job::Keywords => BATCH,
                    Job::Embedding => BATCH.min(self.embedder().max_batch().max(1)),
                };
                let pending = self.records().backlog(job, limit, LEASE).await?;
                if pending.is_empty() {
                    break;
                }
                self.index(job, &pending).await?;
                done += pending.len() as u64;
                progress(done);
            }
        }
        Ok(done)
    }

    async fn index(&self, job: Job, pending: &[Pending]) -> Result<()> {
        let records: Vec<Arc<Record>> = pending.iter().map(|p| Arc::new(p.record.clone())).collect();
        match job {
            Job::Keywords => {
                let terms = self.analyze_records(records.clone()).await?;
                let entries = records.iter().cloned().zip(terms).map(|(record, terms)| KeywordEntry { record, terms });
                for (scope, entries) in by_tenant(entries, |entry| &entry.record)? {
                    self.keywords().upsert(&scope, &entries).await?;
                }
            }
            Job::Embedding => {
                let texts: Vec<String> = records.iter().map(|r| indexed_text(r)).collect();
                let vectors = self.embed(texts, Purpose::Document).await?;
                let entries =
                    records.iter().cloned().zip(vectors).map(|(record, embedding)| VectorEntry { record, embedding });
                for (scope, entries) in by_tenant(entries, |entry| &entry.record)? {
                    self.vectors().upsert(&scope, &entries).await?;
                }
            }
        }
        let done: Vec<_> = pending.iter().map(Pending::done).collect();
        self.finish(&done).await
    }
}

/// What is indexed of a record: its text, after the name of whoever says it.
pub(crate) fn indexed_text(record: &Record) -> String {
    match record.named_speaker() {
        Some(speaker) => format!("{speaker}: {}", record.text),
        None => record.text.clone(),
    }
}

fn by_tenant<T>(entries: impl Iterator<Item = T>, record: impl Fn(&T) -> &Record) -> Result<Vec<(Scope, Vec<T>)>> {
    let mut groups: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for entry in entries {
        groups.entry(record(&entry).scope.tenant().to_owned()).or_default().push(entry);
    }
    groups.into_iter().map(|(tenant, entries)| Ok((Scope::tenant_wide(tenant)?, entries))).collect()
}
