//! Writes the ranking features of the candidates of each question.

use std::path::Path;

use anyhow::Result;
use memory_engine::{MemoryEngine, RecallHit, Scope};
use serde_json::{Map, Value, json};

use crate::{
    modes::EVAL_DEADLINE,
    output_file::OutputFile,
    question::{self, EvalQuestion},
};

/// Asks each question without a reranker and without diversity, and writes a line for it: `question_id`, `shape`, and
/// `candidates` with `id` and `features`.
pub(super) async fn write(
    engine: &MemoryEngine,
    questions: impl Iterator<Item = &EvalQuestion>,
    path: &Path,
) -> Result<()> {
    let mut out = OutputFile::create(path)?;
    let mut options = engine.settings().recall_options().with_deadline(EVAL_DEADLINE);
    options.rerank_candidates = 0;
    options.diversity = 0.0;
    for question in questions {
        let query = question.query()?.with_limit(options.max_candidates).with_options(options);
        let recall = engine.recall(&Scope::user(&question.scope)?, query).await?;
        let candidates: Vec<Value> = recall.hits.iter().map(candidate).collect();
        let line = json!({ "question_id": question.id, "shape": recall.query_shape, "candidates": candidates });
        out.write_line(line)?;
    }
    out.finish()
}

fn candidate(hit: &RecallHit) -> Value {
    let features: Map<String, Value> =
        hit.features.iter().map(|score| (score.feature.to_string(), json!(score.value))).collect();
    json!({ "id": question::data_set_id(&hit.record), "features": features })
}
