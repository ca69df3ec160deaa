//! Measures how the engine grows: one SQLite file that is filled further and further, and at each size, in a fresh
//! process, what a question takes and what memory is resident. Writes a plot and its numbers.

mod asked;
mod plot;

use std::{fs, path::PathBuf, process::Command, time::Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use memory_engine_benches::{
    filled::{FilledStore, Took},
    process,
    times::rounded,
};
use serde_json::{Value, json};

/// Fills a store further and further, and plots what questions and inserts take at each size.
#[derive(Debug, Parser)]
struct Arguments {
    /// The sizes, in records, the smallest first
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
    sizes: Vec<usize>,
    /// Folder of the store; default: a temporary one
    #[arg(long)]
    store: Option<PathBuf>,
    /// The plot
    #[arg(long, default_value = "docs/design/growth.svg")]
    svg: PathBuf,
    /// Its numbers
    #[arg(long, default_value = "docs/design/growth.json")]
    json: PathBuf,
    /// Only queries a store of this many records, in this process, and prints the results
    #[arg(long, hide = true)]
    asked: Option<usize>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let (Some(records), Some(store)) = (arguments.asked, &arguments.store) {
        println!("{}", asked::run(store, records).await?);
        return Ok(());
    }
    ensure!(arguments.sizes.is_sorted(), "name the sizes in ascending order");
    let folder = tempfile::tempdir().context("there is no room for a store")?;
    let directory = arguments.store.clone().unwrap_or_else(|| folder.path().to_owned());
    std::fs::create_dir_all(&directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    let store = directory.join("memory.db");
    ensure!(!store.exists(), "{} is there already", store.display());
    let (mut took, mut points, mut from) = (Vec::new(), Vec::new(), 0);
    for size in &arguments.sizes {
        let added = fill(&store, from..*size).await?;
        let output = Command::new(std::env::current_exe()?)
            .args(["--asked", &size.to_string(), "--store"])
            .arg(&store)
            .output()
            .context("it cannot start itself again")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut point: Value = serde_json::from_slice(&output.stdout)?;
        point["records"] = json!(size);
        point["inserts_per_s"] = json!(a_second(&added, |took| took.wall_s));
        point["inserts_per_cpu_s"] = json!(a_second(&added, |took| took.cpu_s));
        point["disk_kb_per_record"] = json!(rounded(process::disk_mb(&directory) * 1e3 / *size as f64));
        eprintln!("{point}");
        points.push(point);
        took.extend(added);
        from = *size;
    }
    let report = json!({ "points": points, "last_tenth_against_first": ends(&took) });
    fs::write(&arguments.json, format!("{report:#}\n"))
        .with_context(|| format!("{} cannot be written", arguments.json.display()))?;
    fs::write(&arguments.svg, plot::svg(&points))
        .with_context(|| format!("{} cannot be written", arguments.svg.display()))?;
    println!("{}", report["last_tenth_against_first"]);
    Ok(())
}

/// Adds the records of these numbers, with the time that closing the store takes.
async fn fill(store: &std::path::Path, numbers: std::ops::Range<usize>) -> Result<Vec<Took>> {
    let filled = FilledStore::open(store).await?;
    let mut took = filled.import(numbers).await?;
    let (started, computed) = (Instant::now(), process::cpu_s());
    drop(filled);
    if let Some(last) = took.last_mut() {
        last.wall_s += started.elapsed().as_secs_f64();
        last.cpu_s += process::cpu_s() - computed;
    }
    Ok(took)
}

fn a_second(took: &[Took], of: impl Fn(&Took) -> f64) -> f64 {
    let records: usize = took.iter().map(|took| took.records).sum();
    rounded(records as f64 / took.iter().map(of).sum::<f64>())
}

/// Compares the write speed of the last tenth of the records with that of the first, by wall time and by CPU time; of
/// the first 10 000 and the last, if a tenth is less.
fn ends(took: &[Took]) -> Value {
    let records: usize = took.iter().map(|took| took.records).sum();
    let tenth = (records / 10).max(10_000);
    let first = stretch(took.iter(), tenth);
    let last = stretch(took.iter().rev(), tenth);
    let ratio = |of: fn(&Took) -> f64| rounded(a_second(&last, of) / a_second(&first, of));
    json!({ "by_the_clock": ratio(|took| took.wall_s), "by_cpu": ratio(|took| took.cpu_s) })
}

fn stretch<'t>(took: impl Iterator<Item = &'t Took>, records: usize) -> Vec<Took> {
    let mut left = records;
    let within = |took: &&Took| {
        let is_within = left > 0;
        left = left.saturating_sub(took.records);
        is_within
    };
    took.take_while(within).copied().collect()
}
