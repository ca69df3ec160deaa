//! `memory stats`.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::Result;
use clap::Args;
use memory_engine::{Clock, Job, Scope, SystemClock, Timestamp, admin::EmbeddingVersions};

use crate::{dead_letters, fact_source::LatestFact, output, target_args::TargetArgs};

/// Count records, queued jobs and failed jobs.
#[derive(Debug, Args)]
pub(crate) struct StatsCommand {
    #[command(flatten)]
    target: TargetArgs,
}

impl StatsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.scope()?;
        let engine = self.target.open().await?;
        let stats = engine.stats(&scope).await?;
        let reasons = dead_letters::reasons(&engine, &scope).await?;
        let now = SystemClock.now();
        let versions = engine.admin().embedding_versions().await?;
        let latest_fact = LatestFact::within(&engine, &scope).await?;
        let mut report = serde_json::to_value(&stats)?;
        report["latest_fact"] = serde_json::to_value(&latest_fact)?;
        report["embedding_versions"] = serde_json::to_value(&versions)?;
        report["dead_letter_reasons"] = serde_json::to_value(&reasons)?;
        let waited = stats.waiting_since.iter().map(|(job, since)| (job, now.since(*since).as_secs_f64()));
        report["waited_seconds"] = serde_json::to_value(waited.collect::<BTreeMap<_, _>>())?;
        self.target.report.print(&report, || {
            let latest_fact = latest_fact.as_ref().map(LatestFact::describe);
            describe(&stats, &scope, now, versions.as_ref(), &reasons, latest_fact)
        })
    }
}

fn describe(
    stats: &memory_engine::Stats,
    scope: &Scope,
    now: Timestamp,
    versions: Option<&EmbeddingVersions>,
    reasons: &BTreeMap<Job, String>,
    latest_fact: Option<String>,
) -> String {
    let mut table = output::table(["item", "count"]);
    let mut row = |name: String, value: String| {
        table.add_row([name, value]);
    };
    row("records".into(), stats.records.to_string());
    for (kind, count) in &stats.kinds {
        row(format!("  of kind {kind}"), count.to_string());
    }
    for (state, count) in stats.states.iter().filter(|(state, _)| *state != "active") {
        row(format!("  {state}"), count.to_string());
    }
    row("scopes with records".into(), stats.addresses.to_string());
    row("tombstones".into(), stats.tombstones.to_string());
    for (job, count) in &stats.queued {
        let oldest = stats.waiting_since.get(job).map(|since| output::oldest_wait(now.since(*since)));
        row(format!("queued for {job}"), format!("{count}{}", oldest.unwrap_or_default()));
    }
    for (job, count) in &stats.dead_letters {
        row(format!("failed for {job}"), count.to_string());
    }
    for (name, time) in [("oldest record", stats.oldest), ("newest record", stats.newest)] {
        if let Some(time) = time {
            row(name.into(), time.to_string());
        }
    }
    if let Some(latest_fact) = latest_fact {
        row("latest fact".into(), latest_fact);
    }
    let mut text = format!("{table}\nwithin {scope}");
    if let Some((EmbeddingVersions { records, serving, .. }, second)) =
        versions.and_then(|all| Some((all, all.second.as_ref()?)))
    {
        text += &format!(
            "\nof {records} records of all users, {} have vectors of {}, which searches use,\n\
             and {} have vectors of {}, which searches do not use",
            serving.vectors, serving.space, second.vectors, second.space
        );
    }
    if !stats.queued.is_empty() {
        text += "\nqueued jobs are done by `memory digest --waiting --digest rules`, by a running `memory serve`, and \
                 after the next reply of an agent with hooks";
    }
    for (job, count) in &stats.dead_letters {
        text += &format!("\n{}", dead_letters::describe(*job, *count, reasons.get(job)));
    }
    text
}
