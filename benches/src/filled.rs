//! A SQLite store that is filled with made-up records, and questions about them.

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use memory_engine::{MemoryEngine, PutMode, RecallQuery, Record, Scope, embed::Embedding, recall::Retrievers};

use crate::{
    given::GivenEmbedder,
    process,
    synthetic::{self, DIMENSIONS, Question},
};

/// Number of records in one import call.
pub const BATCH: usize = 1000;
/// Number of concurrent calls: while one is written, the texts of the next are analyzed.
const CONCURRENT_CALLS: usize = 2;

/// A store, and what embeds its questions.
#[derive(Debug)]
pub struct FilledStore {
    /// The engine, with its defaults.
    pub engine: MemoryEngine,
    embedder: Arc<GivenEmbedder>,
}

/// The cost of writing a stretch of records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Took {
    /// Number of records.
    pub records: usize,
    /// Seconds by the clock.
    pub wall_s: f64,
    /// Seconds that all threads computed, without what made the records up.
    pub cpu_s: f64,
}

/// Everything that is in the store.
///
/// # Errors
/// None: the name is a valid one.
pub fn everything() -> Result<Scope> {
    Ok(Scope::tenant_wide(Scope::DEFAULT_TENANT)?)
}

impl FilledStore {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn open(path: &Path) -> Result<Self> {
        let embedder = GivenEmbedder::new(DIMENSIONS);
        let engine = MemoryEngine::builder().sqlite(path).embedder(Arc::clone(&embedder)).build().await?;
        Ok(Self { engine, embedder })
    }

    /// Imports the records of these numbers, in batches, and says what each ten thousand took.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn import(&self, numbers: std::ops::Range<usize>) -> Result<Vec<Took>> {
        let mut took = Vec::new();
        for from in numbers.clone().step_by(10 * BATCH) {
            let to = numbers.end.min(from + 10 * BATCH);
            let starts = (from..to).step_by(BATCH);
            let batches = starts.map(|start| batch(start..to.min(start + BATCH))).collect::<Result<Vec<_>>>()?;
            let scope = everything()?;
            let (started, computed) = (Instant::now(), process::cpu_s());
            let admin = self.engine.admin();
            let calls = batches.into_iter().map(|batch| admin.store_embedded(&scope, batch, PutMode::Create));
            stream::iter(calls).buffered(CONCURRENT_CALLS).try_for_each(|_| async { Ok(()) }).await?;
            let (wall_s, cpu_s) = (started.elapsed().as_secs_f64(), process::cpu_s() - computed);
            took.push(Took { records: to - from, wall_s, cpu_s });
        }
        Ok(took)
    }

    /// Makes a question known to the embedder.
    ///
    /// # Errors
    /// None: its vector is one.
    pub fn learn(&self, question: &Question) -> Result<()> {
        Ok(self.embedder.learn(&question.text, question.vector.clone())?)
    }

    /// Asks, and says whether the answer was whole.
    ///
    /// # Errors
    /// Those of a recall.
    pub async fn ask(&self, question: &Question, arms: Retrievers, of_one_user: bool) -> Result<bool> {
        let scope = if of_one_user { Scope::user(&question.user)? } else { everything()? };
        let query = RecallQuery::new(question.text.as_str()).with_retrievers(arms).with_limit(10);
        Ok(!self.engine.recall(&scope, query).await?.is_partial())
    }
}

/// The records of these numbers with their vectors.
///
/// # Errors
/// None: they are valid.
pub fn batch(numbers: std::ops::Range<usize>) -> Result<Vec<(Record, Embedding)>> {
    let made = numbers.map(synthetic::record);
    made.map(|made| Ok((made.record()?, Embedding::new(made.vector)?))).collect()
}
