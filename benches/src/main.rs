//! Measures the engine as its users use it: defaults only, the public interface only.

mod conversation;

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, Result};
use clap::Parser;
use memory_engine::{Kind, MemoryEngine, PutMode, RecallQuery, Record, Scope, SystemClock};

use conversation::Conversation;

/// Imports made-up turns into one SQLite file, then asks questions of single users and of everybody.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many turns
    #[arg(long, default_value_t = 100_000)]
    turns: usize,
    /// How many users they belong to
    #[arg(long, default_value_t = 100)]
    users: usize,
    /// How many questions of each sort
    #[arg(long, default_value_t = 200)]
    questions: usize,
    /// How many turns are committed together
    #[arg(long, default_value_t = 500)]
    batch: usize,
    /// Where to make the file; a temporary one, when not set
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

    let mut talk = Conversation::new(7);
    let turns: Vec<String> = (0..arguments.turns).map(|_| talk.turn()).collect();
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

    let mut questions = Conversation::new(11);
    let questions: Vec<String> = (0..arguments.questions.max(1)).map(|_| questions.question()).collect();
    let scoped = p50(&engine, &questions, |n| &users[n % users.len()]).await?;
    let everybody = p50(&engine, &questions[..questions.len().min(20)], |_| &tenant).await?;
    let size = std::fs::metadata(&db).with_context(|| format!("{} is gone", db.display()))?.len();

    let report = serde_json::json!({
        "turns": arguments.turns,
        "users": arguments.users,
        "store_turns_per_s": arguments.turns as f64 / stored,
        "store_and_index_turns_per_s": arguments.turns as f64 / indexed,
        "recall_one_user_p50_ms": scoped,
        "recall_everybody_p50_ms": everybody,
        "file_mb": size as f64 / 1e6,
    });
    if arguments.json {
        println!("{report}");
    } else {
        println!("{report:#}");
    }
    Ok(())
}

/// The median time of a hybrid recall, in milliseconds, after three that are not counted.
async fn p50<'a>(engine: &MemoryEngine, questions: &[String], scope: impl Fn(usize) -> &'a Scope) -> Result<f64> {
    for (n, question) in questions.iter().rev().take(3).enumerate() {
        engine.recall(scope(n), RecallQuery::new(question)).await?;
    }
    let mut times = Vec::with_capacity(questions.len());
    for (n, question) in questions.iter().enumerate() {
        let started = Instant::now();
        let recall = engine.recall(scope(n), RecallQuery::new(question)).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(recall.degraded.is_empty(), "a recall was degraded: {:?}", recall.degraded);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
