//! What the background has given up, why, and what has it tried again.

use std::collections::BTreeMap;

use anyhow::Result;
use memory_engine::{Job, MemoryEngine, Scope};

/// How many failures are looked through for the reasons.
const LOOKED_AT: usize = 1000;

/// The last reason why each job was given up within a scope.
pub(crate) async fn reasons(engine: &MemoryEngine, scope: &Scope) -> Result<BTreeMap<Job, String>> {
    let failures = engine.failures(scope, LOOKED_AT).await?;
    let given_up = failures.into_iter().filter(|failure| failure.retry_at.is_none());
    Ok(given_up.map(|failure| (failure.job, failure.reason)).collect())
}

/// What was given up for a job, as a line that says why and what puts it right.
pub(crate) fn told(job: Job, count: u64, reason: Option<&String>) -> String {
    let reason = reason.map(|reason| format!("; the last reason: {reason}")).unwrap_or_default();
    let records = if count == 1 { "record was" } else { "records were" };
    format!("{count} {records} given up for {job}{reason}; {}", cure(job))
}

fn cure(job: Job) -> &'static str {
    match job {
        Job::Keywords | Job::Embedding => "`memory reindex` has it tried again",
        Job::Reembedding => {
            "`memory reindex` with the embedder that was changed to has it tried again, and `--lacking N` does without"
        }
        Job::Chunks | Job::Metadata | Job::Facts | Job::Summary | Job::Profile => {
            "`memory digest --digest rules` (or by the service that is to do it) has it tried again"
        }
        Job::Graph => "`memory digest --graph rules` (or by the service that is to do it) has it tried again",
    }
}

/// Tells what is given up within a scope, on standard error, and how much it is.
pub(crate) async fn tell(engine: &MemoryEngine, scope: &Scope) -> Result<u64> {
    let given_up = engine.stats(scope).await?.given_up;
    let reasons = if given_up.is_empty() { BTreeMap::new() } else { reasons(engine, scope).await? };
    for (job, count) in &given_up {
        eprintln!("{}", told(*job, *count, reasons.get(job)));
    }
    Ok(given_up.values().sum())
}
