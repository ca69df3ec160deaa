//! Measures many readers beside one writer: how many questions a second they get answered, and how long one waits.
//!
//! Each reader asks one question after the other, a recall with default options, alternately of one user and of all.
//! The writer imports thousands of records, one transaction each. To separate waiting for the writer from sharing the
//! processors, the same is measured with a thread that only computes. Prints a table and, on request, writes JSON.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use clap::Parser;
use memory_engine::{PutMode, recall::Retrievers};
use memory_engine_benches::{
    filled::{self, BATCH, FilledStore},
    synthetic,
    times::{percentile, rounded},
};
use serde_json::{Value, json};

/// Runs readers and a writer on a SQLite file, and prints the measurements.
#[derive(Debug, Parser)]
struct Arguments {
    /// Number of records at the beginning
    #[arg(long, default_value_t = 10_000)]
    n: usize,
    /// Numbers of concurrent readers, measured one after the other
    #[arg(long, value_delimiter = ',', default_value = "1,2,8,32")]
    readers: Vec<usize>,
    /// Time of each measurement, in seconds
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// File for the results
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The load in addition to the readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BackgroundLoad {
    Nothing,
    Computing,
    Imports,
}

impl BackgroundLoad {
    fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Computing => "computing",
            Self::Imports => "imports",
        }
    }
}

/// Number of different questions.
const QUESTIONS: usize = 500;

/// The measurements of one period.
#[derive(Debug, Default)]
struct Measured {
    /// Seconds by the clock.
    lasted: f64,
    /// Seconds each question took.
    asked: Vec<f64>,
    /// Number of answers that were partial at the deadline.
    partial: usize,
    /// Seconds each import took until it was durable.
    imports: Vec<f64>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir().context("there is no room for a store")?;
    let filled = Arc::new(FilledStore::open(&folder.path().join("memory.db")).await?);
    filled.import(0..arguments.n).await?;
    for number in 0..QUESTIONS {
        let question = synthetic::question(number, arguments.n);
        filled.learn(&question)?;
        for of_one_user in [true, false] {
            filled.ask(&question, Retrievers::All, of_one_user).await?;
        }
    }
    println!(
        "| readers | background load | questions/s | p50 ms | p99 ms | longest ms | not whole | imports | import p50 ms | longest ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let (mut rows, mut next) = (Vec::new(), arguments.n);
    for readers in &arguments.readers {
        for beside in [BackgroundLoad::Nothing, BackgroundLoad::Computing, BackgroundLoad::Imports] {
            let measured = measure(&filled, &arguments, *readers, beside, &mut next).await?;
            rows.push(row(*readers, beside, &measured));
        }
    }
    if let Some(path) = &arguments.json {
        let report = json!({ "records": arguments.n, "batch": BATCH, "seconds": arguments.seconds, "rows": rows });
        fs::write(path, format!("{report:#}\n")).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

/// Runs this many readers and the writer, if there is one, which imports records from this number on.
async fn measure(
    filled: &Arc<FilledStore>,
    arguments: &Arguments,
    readers: usize,
    beside: BackgroundLoad,
    next: &mut usize,
) -> Result<Measured> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = tokio::task::JoinSet::new();
    for reader in 0..readers {
        tasks.spawn(read(Arc::clone(filled), reader, arguments.n, Arc::clone(&stop)));
    }
    let mut measured = Measured::default();
    let (begun, seconds) = (Instant::now(), Duration::from_secs_f64(arguments.seconds));
    match beside {
        BackgroundLoad::Nothing => tokio::time::sleep(seconds).await,
        BackgroundLoad::Computing => tokio::task::spawn_blocking(move || compute(seconds)).await?,
        BackgroundLoad::Imports => {
            let scope = filled::everything()?;
            while begun.elapsed() < seconds {
                let from = *next;
                let batch = tokio::task::spawn_blocking(move || filled::batch(from..from + BATCH)).await??;
                let started = Instant::now();
                filled.engine.admin().store_embedded(&scope, batch, PutMode::Create).await?;
                measured.imports.push(started.elapsed().as_secs_f64());
                *next += BATCH;
            }
        }
    }
    measured.lasted = begun.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    while let Some(done) = tasks.join_next().await {
        let (asked, partial) = done??;
        measured.asked.extend(asked);
        measured.partial += partial;
    }
    Ok(measured)
}

/// Computes for so long.
fn compute(seconds: Duration) {
    let begun = Instant::now();
    let mut number = 0;
    while begun.elapsed() < seconds {
        std::hint::black_box(synthetic::record(number));
        number += 1;
    }
}

/// Asks until it is told to stop: how long each question took, and how many answers lacked something.
async fn read(
    filled: Arc<FilledStore>,
    reader: usize,
    records: usize,
    stop: Arc<AtomicBool>,
) -> Result<(Vec<f64>, usize)> {
    let (mut asked, mut partial) = (Vec::new(), 0);
    let mut number = reader * 37;
    while !stop.load(Ordering::Relaxed) {
        let question = synthetic::question(number % QUESTIONS, records);
        let started = Instant::now();
        let whole = filled.ask(&question, Retrievers::All, number.is_multiple_of(2)).await?;
        asked.push(started.elapsed().as_secs_f64());
        partial += usize::from(!whole);
        number += 1;
    }
    Ok((asked, partial))
}

fn row(readers: usize, beside: BackgroundLoad, measured: &Measured) -> Value {
    let ms = |times: &[f64], part| if times.is_empty() { None } else { Some(rounded(percentile(times, part) * 1e3)) };
    let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
    let a_second = measured.asked.len() as f64 / measured.lasted;
    let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|part| ms(&measured.asked, part));
    let [import, longest_import] = [0.5, 1.0].map(|part| ms(&measured.imports, part));
    println!(
        "| {readers} | {} | {a_second:.0} | {} | {} | {} | {} | {} | {} | {} |",
        beside.as_str(),
        shown(p50),
        shown(p99),
        shown(longest),
        measured.partial,
        measured.imports.len(),
        shown(import),
        shown(longest_import),
    );
    json!({
        "readers": readers, "beside": beside.as_str(), "questions_per_s": rounded(a_second), "p50_ms": p50, "p99_ms": p99,
        "longest_ms": longest, "partial": measured.partial, "imports": measured.imports.len(),
        "import_p50_ms": import, "import_longest_ms": longest_import,
    })
}
