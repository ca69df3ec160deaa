//! Jobs that failed for good (dead letters): the reasons, and the command that retries them.

use std::collections::BTreeMap;

use anyhow::Result;
use memory_engine::{Job, MemoryEngine, Scope};

use crate::output;

/// Maximum number of failures that are read for their reasons.
const MAX_FAILURES: usize = 1000;

/// Returns the last reason of each job that failed for good within a scope.
pub(crate) async fn reasons(engine: &MemoryEngine, scope: &Scope) -> Result<BTreeMap<Job, String>> {
    let failures = engine.admin().failures(scope, MAX_FAILURES).await?;
    let dead_letters = failures.into_iter().filter(|failure| failure.retry_at.is_none());
    Ok(dead_letters.map(|failure| (failure.job, failure.reason)).collect())
}

/// Describes in one line the records for which a job failed for good, with the reason and the command that retries it.
pub(crate) fn describe(job: Job, count: u64, reason: Option<&String>) -> String {
    let reason = reason.map(|reason| format!("; the last reason: {reason}")).unwrap_or_default();
    let records = output::counted(count, "record", "records");
    format!("the job '{job}' failed for {records}{reason}; {}", retry_hint(job))
}

fn retry_hint(job: Job) -> &'static str {
    match job {
        Job::Keywords | Job::Embedding => "`memory reindex --waiting --failed` retries it",
        Job::Reembedding => {
            "`memory reindex` with the new embedder retries it, and `--max-missing N` switches over without it"
        }
        Job::Chunks | Job::Metadata | Job::Facts | Job::Summary | Job::Profile => {
            "`memory digest --digest rules` (or with a service) retries it"
        }
        Job::Graph => "`memory digest --graph rules` (or with a service) retries it",
        _ => "no command of this version retries it",
    }
}

/// Prints the jobs that failed for good within a scope on standard error, and returns the number of records.
pub(crate) async fn report(engine: &MemoryEngine, scope: &Scope) -> Result<u64> {
    let dead_letters = engine.stats(scope).await?.dead_letters;
    let reasons = if dead_letters.is_empty() { BTreeMap::new() } else { reasons(engine, scope).await? };
    for (job, count) in &dead_letters {
        report_line!("{}", describe(*job, *count, reasons.get(job)));
    }
    Ok(dead_letters.values().sum())
}
