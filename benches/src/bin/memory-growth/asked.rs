//! Asking a store of one size, in a process that has not written it.

use std::{path::Path, time::Instant};

use anyhow::Result;
use memory_engine::recall::Retrievers;
use memory_engine_benches::{
    filled::FilledStore,
    process, synthetic,
    times::{percentile, rounded},
};
use serde_json::{Value, json};

/// Number of questions of each kind.
const QUESTIONS: usize = 200;
/// Maximum number of attempts for a question with a partial answer: indexes continue to load after the first
/// question.
const MAX_ATTEMPTS: usize = 60;

/// The kinds of questions: name, retrievers, and true if they are about one user.
pub(crate) const KINDS: [(&str, Retrievers, bool); 6] = [
    ("vectors, everything", Retrievers::VectorOnly, false),
    ("vectors, one user", Retrievers::VectorOnly, true),
    ("words, everything", Retrievers::KeywordOnly, false),
    ("words, one user", Retrievers::KeywordOnly, true),
    ("recall, everything", Retrievers::All, false),
    ("recall, one user", Retrievers::All, true),
];

/// Asks every kind, and gives the median of each, how long the first question took, and the memory that is resident
/// then.
pub(crate) async fn run(store: &Path, records: usize) -> Result<Value> {
    let before = process::resident_mb();
    let started = Instant::now();
    let filled = FilledStore::open(store).await?;
    let questions: Vec<_> = (0..QUESTIONS).map(|number| synthetic::question(number, records)).collect();
    questions.iter().try_for_each(|question| filled.learn(question))?;
    let mut medians = serde_json::Map::new();
    let (mut open_ms, mut cpu) = (None, serde_json::Map::new());
    for (name, arms, of_one_user) in KINDS {
        // What is kept of a user is read with the first question about them.
        for question in &questions {
            let mut tries = 0;
            while !filled.ask(question, arms, of_one_user).await? && tries < MAX_ATTEMPTS {
                tries += 1;
            }
            open_ms.get_or_insert_with(|| rounded(started.elapsed().as_secs_f64() * 1e3));
        }
        let (mut times, computed) = (Vec::new(), process::cpu_s());
        for question in &questions {
            let started = Instant::now();
            filled.ask(question, arms, of_one_user).await?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        cpu.insert(name.to_owned(), json!(rounded((process::cpu_s() - computed) * 1e3 / QUESTIONS as f64)));
        medians.insert(name.to_owned(), json!(rounded(percentile(&times, 0.5))));
    }
    let resident = (process::resident_mb() - before) * 1024.0 / records as f64;
    Ok(json!({
        "open_ms": open_ms, "p50_ms": medians, "cpu_ms": cpu,
        "resident_mb": rounded(process::resident_mb()), "resident_kb_per_record": rounded(resident),
    }))
}
