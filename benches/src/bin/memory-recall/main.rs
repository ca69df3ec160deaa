//! Times recalls over 10,000 records in a loop, and writes of single turns: to compare two versions of the engine.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use memory_engine::{MemoryEngine, Scope, Turn};

/// The words that records and queries are made of.
const WORDS: [&str; 40] = [
    "river",
    "bridge",
    "violin",
    "sister",
    "Friday",
    "interview",
    "garden",
    "walnut",
    "ferry",
    "dragon",
    "lantern",
    "harbour",
    "winter",
    "kettle",
    "letter",
    "market",
    "mountain",
    "orchard",
    "painter",
    "quarrel",
    "railway",
    "silver",
    "teacher",
    "umbrella",
    "village",
    "window",
    "yellow",
    "zebra",
    "anchor",
    "basket",
    "candle",
    "dinner",
    "engine",
    "forest",
    "guitar",
    "hammer",
    "island",
    "jacket",
    "kitchen",
    "ladder",
];
const BATCH: usize = 1000;

/// The arguments of the command.
#[derive(Debug, Parser)]
struct Arguments {
    /// Number of records.
    #[arg(long, default_value_t = 10_000)]
    records: usize,
    /// Number of rounds. The first one is not counted.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Number of calls per round.
    #[arg(long, default_value_t = 300)]
    calls: usize,
}

/// Makes the text with this number: eight words.
fn text(number: usize) -> String {
    let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let word = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 33) as usize % WORDS.len()]
    };
    format!("{} {number}", (0..8).map(word).collect::<Vec<_>>().join(" "))
}

/// Prints the median and the least mean time of a call over the rounds.
fn report(what: &str, calls: usize, mut rounds: Vec<Duration>) {
    rounds.remove(0);
    rounds.sort();
    let per_call = |round: Duration| round.as_secs_f64() * 1e6 / calls as f64;
    println!("{what}: median round {:.1} µs/call, best {:.1}", per_call(rounds[rounds.len() / 2]), per_call(rounds[0]));
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir()?;
    let memory = MemoryEngine::builder().sqlite(folder.path().join("memory.db")).build().await?;
    let lin = Scope::user("lin")?.with_session("monday")?;
    for first in (0..arguments.records).step_by(BATCH) {
        let turns = (first..arguments.records.min(first + BATCH)).map(|number| Turn::user(text(number)));
        memory.remember_all(&lin, turns).await?;
    }
    memory.drain(&lin, |_| ()).await?;
    let queries: Vec<String> = (0..arguments.calls).map(|number| text(7_000_000 + number)[..24].to_owned()).collect();
    let mut recalls = Vec::new();
    for _ in 0..arguments.rounds.max(2) {
        let started = Instant::now();
        for query in &queries {
            memory.recall(&lin, query.as_str()).await?;
        }
        recalls.push(started.elapsed());
    }
    report("recall", arguments.calls, recalls);
    let record = memory.remember(&lin, "the last one").await?;
    let mut reads = Vec::new();
    for _ in 0..arguments.rounds.max(2) {
        let started = Instant::now();
        for _ in 0..arguments.calls {
            memory.get(&lin, record).await?;
        }
        reads.push(started.elapsed());
    }
    report("get", arguments.calls, reads);
    Ok(())
}
