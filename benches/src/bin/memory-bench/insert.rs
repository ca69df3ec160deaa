//! Inserting one record after the other.

use std::{sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use memory_engine::{MemoryEngine, PutMode, embed::Embedding};
use memory_engine_benches::given::GivenEmbedder;

use crate::{Arguments, data::Data, report::Report, store};

const COUNT: usize = 200;

pub(crate) async fn run(
    arguments: &Arguments,
    data: &Data,
    engine: &MemoryEngine,
    embedder: &Arc<GivenEmbedder>,
    report: &mut Report,
) -> Result<()> {
    let mut vectors = data.vectors()?;
    vectors.skip(data.held_out)?;
    let rows: Vec<_> = data.rows()?.skip(data.held_out).take(COUNT).collect::<Result<_>>()?;
    let vectors = vectors.take(rows.len())?;
    let scope = store::everything()?;
    let begun = Instant::now();
    let mut times = Vec::new();
    let mut last = None;
    for (row, vector) in rows.into_iter().zip(vectors) {
        last = Some((row.clone(), vector.clone()));
        let started = Instant::now();
        let pair = (store::record(row)?, Embedding::new(vector)?);
        engine.admin().store_embedded(&scope, vec![pair], PutMode::Create).await?;
        times.push(started.elapsed().as_secs_f64());
        if begun.elapsed().as_secs_f64() > arguments.metric_cap_s && times.len() >= 3 {
            break;
        }
    }
    report.times("insert_one", &times);
    report.number("insert_one_rps", times.len() as f64 / times.iter().sum::<f64>());
    // What was written last is there for the next question: by its words and by its vector.
    if let Some((row, vector)) = last {
        embedder.learn(&row.text, vector)?;
        for arms in [memory_engine::recall::Retrievers::KeywordOnly, memory_engine::recall::Retrievers::VectorOnly] {
            let asked = memory_engine::RecallQuery::new(row.text.as_str()).with_retrievers(arms);
            let found = engine.recall(&scope, asked).await?;
            let id = Some(row.id.to_string());
            ensure!(found.hits.iter().any(|hit| hit.record.source.message_id == id), "what was inserted is not found");
        }
    }
    Ok(())
}
