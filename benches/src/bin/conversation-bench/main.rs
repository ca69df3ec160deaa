//! Measures the engine as its users use it: defaults only, the public interface only.

mod conversation;
mod cpu;
mod texts;

use std::{collections::BTreeMap, path::PathBuf, time::Instant};

use anyhow::{Context, Result};
use clap::Parser;
use memory_engine::{Kind, MemoryEngine, PutMode, RecallQuery, Record, Scope, SystemClock};
use serde_json::{Value, json};

use conversation::Conversation;

/// Imports turns into one SQLite file, then asks questions of single users and of everybody.
///
/// Times are medians of the wall clock; `cpu_ms` is what the whole process computed for one recall, which says more on
/// a machine that has other things to do.
#[derive(Debug, Parser)]
struct Arguments {
    /// Number of turns
    #[arg(long, default_value_t = 100_000)]
    turns: usize,
    /// Number of users that they belong to
    #[arg(long, default_value_t = 100)]
    users: usize,
    /// Number of questions of each kind
    #[arg(long, default_value_t = 200)]
    questions: usize,
    /// Number of turns that are committed together
    #[arg(long, default_value_t = 500)]
    batch: usize,
    /// Take the turns from these JSON Lines ("text") instead of making them up; too few are said again
    #[arg(long, value_name = "FILE", requires = "ask")]
    tell: Vec<PathBuf>,
    /// Take the questions from these JSON Lines ("question")
    #[arg(long, value_name = "FILE")]
    ask: Vec<PathBuf>,
    /// Path of the file; default: a temporary one
    #[arg(long)]
    db: Option<PathBuf>,
    /// Give the numbers as JSON only
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = tempfile::tempdir()?;
    let db = arguments.db.clone().unwrap_or_else(|| folder.path().join("bench.db"));
    anyhow::ensure!(!db.exists(), "{} is there already", db.display());
    let engine = MemoryEngine::builder().sqlite(&db).build().await?;
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT)?;
    let users: Vec<Scope> =
        (0..arguments.users.max(1)).map(|n| Scope::user(format!("user-{n}"))).collect::<Result<_, _>>()?;

    let turns: Vec<String> = match arguments.tell.as_slice() {
        [] => std::iter::repeat_with(made_up(7, Conversation::turn)).take(arguments.turns).collect(),
        files => texts::spread(&texts::read(files, "text")?, arguments.turns),
    };
    let started = Instant::now();
    for (n, texts) in turns.chunks(arguments.batch.max(1)).enumerate() {
        let first = n * arguments.batch.max(1);
        let record = |(i, text): (usize, &String)| {
            Record::new(users[(first + i) % users.len()].clone(), Kind::TURN, text.as_str(), &SystemClock)
        };
        engine.store(&tenant, texts.iter().enumerate().map(record).collect(), PutMode::Create).await?;
    }
    let stored = started.elapsed().as_secs_f64();
    engine.drain(&tenant, |_| {}).await?;
    let indexed = started.elapsed().as_secs_f64();

    let questions: Vec<String> = match arguments.ask.as_slice() {
        [] => std::iter::repeat_with(made_up(11, Conversation::question)).take(arguments.questions.max(1)).collect(),
        files => texts::spread(&texts::read(files, "question")?, arguments.questions.max(1)),
    };
    let scoped = ask(&engine, &questions, |n| &users[n % users.len()]).await?;
    let everybody = ask(&engine, &texts::spread(&questions, 20.min(questions.len())), |_| &tenant).await?;
    let size = std::fs::metadata(&db).with_context(|| format!("{} is gone", db.display()))?.len();

    let report = json!({
        "turns": arguments.turns,
        "users": arguments.users,
        "store_turns_per_s": arguments.turns as f64 / stored,
        "store_and_index_turns_per_s": arguments.turns as f64 / indexed,
        "recall_one_user": scoped,
        "recall_everybody": everybody,
        "file_mb": size as f64 / 1e6,
    });
    if arguments.json {
        println!("{report}");
    } else {
        println!("{report:#}");
    }
    Ok(())
}

fn made_up(seed: u64, say: fn(&mut Conversation) -> String) -> impl FnMut() -> String {
    let mut talk = Conversation::new(seed);
    move || say(&mut talk)
}

/// Measures a hybrid recall, after two rounds of all questions that are not counted and load the indexes.
async fn ask<'a>(engine: &MemoryEngine, questions: &[String], scope: impl Fn(usize) -> &'a Scope) -> Result<Value> {
    for _ in 0..2 {
        for (n, question) in questions.iter().enumerate() {
            engine.recall(scope(n), RecallQuery::new(question)).await?;
        }
    }
    let mut times = Vec::with_capacity(questions.len());
    let mut stages: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let computed = cpu::spent();
    for (n, question) in questions.iter().enumerate() {
        let started = Instant::now();
        let recall = engine.recall(scope(n), RecallQuery::new(question)).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        for stage in &recall.stages {
            stages.entry(stage.stage).or_default().push(stage.took.as_secs_f64() * 1e3);
        }
        anyhow::ensure!(recall.degraded.is_empty(), "a recall was degraded: {:?}", recall.degraded);
    }
    let computed = cpu::spent().zip(computed).map(|(after, before)| (after - before) * 1e3 / questions.len() as f64);
    let stages: BTreeMap<&str, f64> = stages.into_iter().map(|(stage, times)| (stage, median(times))).collect();
    Ok(json!({ "p50_ms": median(times), "cpu_ms": computed, "stages_p50_ms": stages }))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
