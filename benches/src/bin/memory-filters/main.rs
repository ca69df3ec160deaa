//! Measures what filters cost: the same questions without a filter, by role and day, by metadata, with a filter that
//! nothing passes, and in one session, over the turns of one user.
//!
//! Prints a table to the standard output: milliseconds of the first question with a filter, the median of the others,
//! and the median with a write before each question. The last column is a checksum of all hits. It is the same for
//! every version that finds the same.

mod turns;

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use memory_engine::{
    Field, Filter, MemoryEngine, Op, PutMode, RecallOptions, RecallQuery, Scope,
    embed::{Embedder, HashEmbedder, Purpose},
};
use memory_engine_benches::times::percentile;

/// Measures recalls with filters on a store of made-up turns.
#[derive(Debug, Parser)]
struct Arguments {
    /// Number of turns
    #[arg(long, default_value_t = 200_000)]
    n: usize,
    /// Number of questions for each median
    #[arg(long, default_value_t = 15)]
    questions: usize,
    /// A SQLite file to fill, or to measure if it is filled already; a temporary one if not set
    #[arg(long)]
    file: Option<PathBuf>,
    /// The address of a Postgres database to fill, instead of a file
    #[cfg(feature = "postgres")]
    #[arg(long, conflicts_with = "file")]
    postgres: Option<String>,
}

/// Number of turns in one write.
const BATCH: usize = 1000;

/// A way to ask.
struct Case {
    name: &'static str,
    scope: Scope,
    filter: Option<Filter>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir().context("there is no room for a store")?;
    let path = arguments.file.clone().unwrap_or_else(|| folder.path().join("memory.db"));
    let lin = Scope::user("lin")?;
    let mut memory = open(&arguments, &path).await?;
    if memory.stats(&lin).await?.records == 0 {
        fill(&memory, &lin, arguments.n).await?;
        drop(memory);
        memory = open(&arguments, &path).await?;
    }
    let started = Instant::now();
    memory.recall(&lin, patient("the first question after opening")).await?;
    println!("{} turns; first recall after opening: {:.0} ms", arguments.n, millis(started));
    println!("| case | match | first ms | median ms | after a write ms | hits | checksum |");
    println!("|---|---|---|---|---|---|---|");
    for case in cases(&lin)? {
        measure(&memory, &case, &arguments, &lin).await?;
    }
    Ok(())
}

async fn open(arguments: &Arguments, path: &Path) -> Result<MemoryEngine> {
    let builder = MemoryEngine::builder().background(false);
    #[cfg(feature = "postgres")]
    if let Some(url) = &arguments.postgres {
        return Ok(builder.postgres(url).build().await?);
    }
    let _ = arguments;
    Ok(builder.sqlite(path).build().await?)
}

async fn fill(memory: &MemoryEngine, lin: &Scope, n: usize) -> Result<()> {
    let started = Instant::now();
    let embedder = HashEmbedder::default();
    for start in (0..n).step_by(BATCH) {
        let records: Vec<_> = (start..n.min(start + BATCH)).map(turns::turn).collect::<Result<_>>()?;
        let texts: Vec<&str> = records.iter().map(|record| record.text.as_str()).collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for part in texts.chunks(embedder.max_batch()) {
            vectors.extend(embedder.embed(part, Purpose::Document).await?);
        }
        let pairs = records.into_iter().zip(vectors).collect();
        memory.admin().store_embedded(lin, pairs, PutMode::Create).await?;
    }
    println!("filled in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn cases(lin: &Scope) -> Result<Vec<Case>> {
    let day = Filter::compare(Field::OccurredAt, Op::Ge, turns::day(30)?).and(Filter::compare(
        Field::OccurredAt,
        Op::Lt,
        turns::day(31)?,
    ));
    let role = || Filter::eq(Field::Role, "user");
    let room = |room: f64| Filter::eq(Field::Metadata("room".into()), room);
    let case = |name, filter| Case { name, scope: lin.clone(), filter };
    Ok(vec![
        case("plain", None),
        case("role", Some(role())),
        case("day", Some(day.clone())),
        case("role and day", Some(role().and(day.clone()))),
        case("metadata", Some(room(3.0))),
        case("metadata, rare", Some(Filter::eq(Field::Metadata("seat".into()), "window 7"))),
        case("not the metadata", Some(Filter::Not(Box::new(room(3.0))))),
        case("role and metadata", Some(role().and(room(3.0)))),
        case("nothing passes (metadata)", Some(room(99.0))),
        case("nothing passes (role)", Some(Filter::eq(Field::Role, "tool"))),
        case("nothing passes (tag)", Some(Filter::eq(Field::Tags, "none"))),
        Case { name: "one session", scope: lin.clone().with_session("session 77")?, filter: None },
        Case { name: "one session, role", scope: lin.clone().with_session("session 77")?, filter: Some(role()) },
    ])
}

/// A question with more time than it needs.
fn patient(text: &str) -> RecallQuery {
    RecallQuery::new(text).with_options(RecallOptions::default().with_deadline(Duration::from_secs(120)))
}

async fn measure(memory: &MemoryEngine, case: &Case, arguments: &Arguments, lin: &Scope) -> Result<()> {
    let mut checksum = DefaultHasher::new();
    let mut hits = 0;
    let mut times = Vec::new();
    for number in 0..=arguments.questions {
        let mut query = patient(&turns::question(number));
        if let Some(filter) = &case.filter {
            query = query.with_filter(filter.clone());
        }
        let started = Instant::now();
        let found = memory.recall(&case.scope, query).await?;
        times.push(millis(started));
        ensure!(!found.is_partial(), "an answer is incomplete: {:?}", found.degraded);
        for hit in &found.hits {
            (&hit.record.text, hit.score.value().to_bits()).hash(&mut checksum);
        }
        hits += found.hits.len();
    }
    let first = times.remove(0);
    let mut after_write = Vec::new();
    for number in 0..arguments.questions {
        // Deleted again, so that every case is asked of the same turns.
        let id = memory.remember(lin, turns::question(number).as_str()).await?;
        let mut query = patient(&turns::question(number + 1));
        if let Some(filter) = &case.filter {
            query = query.with_filter(filter.clone());
        }
        let started = Instant::now();
        memory.recall(&case.scope, query).await?;
        after_write.push(millis(started));
        memory.forget(lin, id).await?;
    }
    let matching = match &case.filter {
        Some(filter) => count(memory, case, filter).await?,
        None => memory.stats(&case.scope).await?.records,
    };
    println!(
        "| {} | {matching} | {first:.1} | {:.1} | {:.1} | {hits} | {:016x} |",
        case.name,
        percentile(&times, 0.5),
        percentile(&after_write, 0.5),
        checksum.finish()
    );
    Ok(())
}

async fn count(memory: &MemoryEngine, case: &Case, filter: &Filter) -> Result<u64> {
    let query = memory_engine::ScanQuery::oldest(1).with_filter(filter.clone()).counted();
    Ok(memory.scan(&case.scope, &query).await?.total.unwrap_or_default())
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
