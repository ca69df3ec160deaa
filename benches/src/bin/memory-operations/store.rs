//! The store with fixed records, and the engine on it.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, Result, ensure};
use memory_engine::{
    MemoryEngine, PutMode, RecallOptions, Record, RecordId, Role, Scope, Timestamp, embed::Embedding,
    testing::ManualClock,
};
use memory_engine_benches::{
    filled::{BATCH, everything},
    given::GivenEmbedder,
    synthetic::{self, DIMENSIONS},
};

/// Number of records. Large enough for index caches, which a store of at most 8,000 records does not have.
pub(crate) const RECORDS: usize = 24_000;
/// Longer than any recall takes under valgrind, which is about 50 times slower than the processor.
const DEADLINE: Duration = Duration::from_secs(600);
/// The time of the engine: 2023-12-02T00:00:00Z, after the newest record.
const NOW_S: i64 = 1_701_475_200;
const FILE_NAME: &str = "memory.db";

/// An engine on a store, and the embedder that has the vectors of its queries.
#[derive(Debug)]
pub(crate) struct OpenStore {
    pub(crate) engine: MemoryEngine,
    pub(crate) embedder: Arc<GivenEmbedder>,
}

impl OpenStore {
    /// Opens the store in this folder, or creates it. `drain` runs the background jobs.
    pub(crate) async fn open(folder: &Path, embedder: Arc<GivenEmbedder>) -> Result<Self> {
        let engine = MemoryEngine::builder()
            .sqlite(folder.join(FILE_NAME))
            .embedder(Arc::clone(&embedder))
            .recall_options(RecallOptions::default().with_deadline(DEADLINE))
            .clock(ManualClock::new(now()))
            .background(false)
            .build()
            .await?;
        Ok(Self { engine, embedder })
    }
}

/// Returns an embedder that has no vectors yet.
pub(crate) fn embedder() -> Arc<GivenEmbedder> {
    GivenEmbedder::new(DIMENSIONS)
}

/// Returns the time of the engine.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_micros(NOW_S * 1_000_000)
}

/// Returns the id of the record with this number. It is in the order of the numbers, like an id that the engine makes.
pub(crate) fn record_id(scope: &Scope, number: usize) -> RecordId {
    RecordId::named(scope, &format!("018c0000-0000-7000-8000-{number:012x}"))
}

/// Returns the record with this number and its vector. Two of four are from the user, the others from the assistant.
pub(crate) fn record(number: usize) -> Result<(Record, Embedding)> {
    let synthetic = synthetic::record(number);
    let mut record = synthetic.record()?;
    record.id = record_id(&record.scope, number);
    record.recorded_at = now();
    record.role = Some(if number % 4 < 2 { Role::USER } else { Role::ASSISTANT });
    Ok((record, Embedding::new(synthetic.vector)?))
}

/// Fills the store in this folder if there is none.
pub(crate) async fn fill_if_missing(folder: &Path) -> Result<()> {
    if folder.join(FILE_NAME).exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let OpenStore { engine, .. } = OpenStore::open(folder, embedder()).await?;
    let scope = everything()?;
    for start in (0..RECORDS).step_by(BATCH) {
        let records = (start..RECORDS.min(start + BATCH)).map(record).collect::<Result<Vec<_>>>()?;
        engine.admin().store_embedded(&scope, records, PutMode::Create).await?;
    }
    let stored = engine.stats(&scope).await?.records;
    ensure!(stored == RECORDS as u64, "the new store has {stored} records instead of {RECORDS}");
    // Writes the index caches.
    engine.close().await?;
    Ok(())
}

/// Copies the files of a store that is not open.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let copied = fs::copy(entry.path(), to.join(&name));
        copied.with_context(|| format!("cannot copy {} of the store", name.display()))?;
    }
    Ok(())
}
