//! Loading what the first recall would load.

use memory_engine_core::Result;
use memory_engine_embedder::Purpose;
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    hit::{Degraded, StageTime},
    parts::RecallParts,
};

/// A text to try a model with.
const SAMPLE: &str = "warm up";

/// The indexes and models that a warm-up has loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WarmUp {
    /// The time of each part: `analyzer`, `keyword`, `vector`, `embedder`, and `reranker` if there is one. They load
    /// side by side.
    pub parts: Vec<StageTime>,
    /// Models that failed. Recalls go on without them as far as they can.
    pub degraded: Vec<Degraded>,
}

/// Loads dictionaries and indexes, and tries the models.
pub(crate) async fn warm_up(parts: &RecallParts) -> Result<WarmUp> {
    let store = &parts.store;
    let backend = store.embedding().serving();
    let embed = async { backend.embedder.embed(&[SAMPLE], Purpose::Query).await.map(drop) };
    let rerank = async {
        match &parts.reranker {
            Some(reranker) => reranker.rerank(SAMPLE, &[SAMPLE]).await.map(drop),
            None => Ok(()),
        }
    };
    let (analyzer, keyword, vector, embedder, reranker) = tokio::join!(
        timed("analyzer", store.analysis().load_dictionary()),
        timed("keyword", store.keywords().warm_up()),
        timed("vector", store.vectors().warm_up()),
        timed("embedder", embed),
        timed("reranker", rerank),
    );
    let mut warm_up = WarmUp { parts: Vec::new(), degraded: Vec::new() };
    for (part, outcome) in [analyzer, keyword, vector] {
        outcome?;
        warm_up.parts.push(part);
    }
    let models = [embedder, reranker].into_iter().take(if parts.reranker.is_some() { 2 } else { 1 });
    for (part, outcome) in models {
        match outcome {
            Ok(()) => warm_up.parts.push(part),
            Err(error) => warm_up.degraded.push(Degraded { stage: part.stage, reason: error.to_string() }),
        }
    }
    Ok(warm_up)
}

async fn timed(stage: &'static str, work: impl Future<Output = Result<()>>) -> (StageTime, Result<()>) {
    let started = Instant::now();
    let outcome = work.await;
    (StageTime { stage, took: started.elapsed() }, outcome)
}
