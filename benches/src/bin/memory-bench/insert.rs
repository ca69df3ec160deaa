//! Measures inserting one record after the other.

use std::{sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use memory_engine::{MemoryEngine, PutMode, RecallQuery, embed::Embedding, recall::Retrievers};
use memory_engine_benches::given::GivenEmbedder;

use crate::{Arguments, data::Data, report::Report, store};

const INSERTED_RECORDS: usize = 200;
/// Minimum number of inserts, even if they are slow.
const MIN_INSERTS: usize = 3;

pub(crate) async fn run(
    arguments: &Arguments,
    data: &Data,
    engine: &MemoryEngine,
    embedder: &Arc<GivenEmbedder>,
    report: &mut Report,
) -> Result<()> {
    let mut vectors = data.vectors()?;
    vectors.skip(data.held_out)?;
    let rows: Vec<_> = data.rows()?.skip(data.held_out).take(INSERTED_RECORDS).collect::<Result<_>>()?;
    let vectors = vectors.take(rows.len())?;
    let scope = store::everything()?;
    let phase_start = Instant::now();
    let mut times = Vec::new();
    let mut last = None;
    for (row, vector) in rows.into_iter().zip(vectors) {
        last = Some((row.clone(), vector.clone()));
        let started = Instant::now();
        let pair = (store::record(row)?, Embedding::new(vector)?);
        engine.admin().store_embedded(&scope, vec![pair], PutMode::Create).await?;
        times.push(started.elapsed().as_secs_f64());
        if phase_start.elapsed().as_secs_f64() > arguments.metric_cap_s && times.len() >= MIN_INSERTS {
            break;
        }
    }
    report.times("insert_one", &times);
    report.number("insert_one_rps", times.len() as f64 / times.iter().sum::<f64>());
    // The last record must be found by keywords and by its vector.
    if let Some((row, vector)) = last {
        embedder.learn(&row.text, vector)?;
        for retrievers in [Retrievers::KeywordOnly, Retrievers::VectorOnly] {
            let query = RecallQuery::new(row.text.as_str()).with_retrievers(retrievers);
            let recall = engine.recall(&scope, query).await?;
            let id = Some(row.id.to_string());
            let is_found = recall.hits.iter().any(|hit| hit.record.source.message_id == id);
            ensure!(is_found, "{retrievers:?} does not find record {}, which was inserted before", row.id);
        }
    }
    Ok(())
}
