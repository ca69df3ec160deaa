//! Filling a store.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use memory_engine::{MemoryEngine, PutMode, Record, Scope, embed::Embedding};

use memory_engine_benches::{given::GivenEmbedder, process};

use crate::{Arguments, Backend, data::Data, report::Report, store};

/// Number of records in one call.
const BATCH: usize = 1000;
/// Number of concurrent calls: while one is written, the texts of the next are analyzed.
const CONCURRENT_CALLS: usize = 2;
/// Number of records that are read from the data while the clock is stopped.
const READ: usize = 10 * BATCH;

pub(crate) async fn run(arguments: &Arguments, data: &Data, report: &mut Report) -> Result<()> {
    let embedder = GivenEmbedder::new(arguments.dim);
    let scope = store::everything()?;
    let engine = store::open(arguments, &embedder).await?;
    ensure!(engine.stats(&scope).await?.records == 0, "the store must be empty");
    let (mut rows, mut vectors) = (data.rows()?, data.vectors()?);
    let (mut wall, mut cpu, mut done) = (0.0, 0.0, 0);
    while done < data.records {
        let count = READ.min(data.records - done);
        let rows: Vec<_> = rows.by_ref().take(count).collect::<Result<_>>()?;
        ensure!(rows.len() == count, "there are too few records");
        let mut batches: Vec<Vec<_>> = Vec::new();
        for (n, pair) in rows.into_iter().zip(vectors.take(count)?).enumerate() {
            if n % BATCH == 0 {
                batches.push(Vec::with_capacity(BATCH));
            }
            batches.last_mut().context("there is a batch")?.push(pair);
        }
        let (started, computed) = (Instant::now(), process::cpu_s());
        let calls = batches.into_iter().map(|batch| put(&engine, &scope, batch));
        stream::iter(calls).buffered(CONCURRENT_CALLS).try_collect::<()>().await?;
        wall += started.elapsed().as_secs_f64();
        cpu += process::cpu_s() - computed;
        done += count;
    }
    report.number("ingest_load_s", wall);
    let (started, computed) = (Instant::now(), process::cpu_s());
    engine.drain(&scope, |_| {}).await?;
    ensure!(engine.stats(&scope).await?.records == data.records as u64, "some records are missing");
    report.number("rss_ingest_mb", process::peak_mb());
    // Waits for everything that the store does in the background, such as the build of an index.
    engine.close().await?;
    drop(engine);
    let finish = started.elapsed().as_secs_f64();
    cpu += process::cpu_s() - computed;
    report.number("ingest_finish_s", finish);
    report.number("ingest_batch_rps", done as f64 / (wall + finish));
    if arguments.backend == Backend::Sqlite {
        report.number("ingest_cpu_s", cpu);
        report.number("ingest_cpu_rps", done as f64 / cpu);
        let directory = arguments.store.parent().context("the store must be a file in a directory")?;
        report.number("disk_mb", process::disk_mb(directory));
    }
    Ok(())
}

async fn put(engine: &MemoryEngine, scope: &Scope, rows: Vec<(crate::data::Row, Vec<f32>)>) -> Result<()> {
    let pair = |(row, vector)| Ok((store::record(row)?, Embedding::new(vector)?));
    let records: Vec<(Record, Embedding)> = rows.into_iter().map(pair).collect::<Result<_>>()?;
    engine.admin().store_embedded(scope, records, PutMode::Create).await?;
    Ok(())
}
