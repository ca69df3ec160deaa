//! `memory stats`.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::Result;
use clap::Args;
use memory_engine::{Clock, SystemClock};

use crate::{
    args::{ScopeArgs, StoreArgs},
    given_up, output,
};

/// Count what is stored.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Give the numbers as JSON
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let engine = self.store.open().await?;
        let stats = engine.stats(&scope).await?;
        let (reasons, now) = (given_up::reasons(&engine, &scope).await?, SystemClock.now());
        let generations = engine.generations().await?;
        if self.json {
            let mut report = serde_json::to_value(&stats)?;
            report["generations"] = serde_json::to_value(&generations)?;
            report["given_up_because"] = serde_json::to_value(&reasons)?;
            let waited = stats.waiting_since.iter().map(|(job, since)| (job, now.since(*since).as_secs_f64()));
            report["waited_seconds"] = serde_json::to_value(waited.collect::<BTreeMap<_, _>>())?;
            say!("{}", serde_json::to_string_pretty(&report)?);
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = output::table(["what", "how many"]);
        table.add_row(["records".to_owned(), stats.records.to_string()]);
        for (kind, count) in &stats.kinds {
            table.add_row([format!("  of kind {kind}"), count.to_string()]);
        }
        for (state, count) in stats.states.iter().filter(|(state, _)| *state != "active") {
            table.add_row([format!("  {state}"), count.to_string()]);
        }
        table.add_row(["addresses".to_owned(), stats.addresses.to_string()]);
        table.add_row(["tombstones".to_owned(), stats.tombstones.to_string()]);
        for (job, count) in &stats.backlog {
            let first = stats.waiting_since.get(job).map(|since| output::first_waits(now.since(*since)));
            table.add_row([format!("waiting for {job}"), format!("{count}{}", first.unwrap_or_default())]);
        }
        for (job, count) in &stats.given_up {
            table.add_row([format!("given up for {job}"), count.to_string()]);
        }
        for (name, time) in [("oldest", stats.oldest), ("newest", stats.newest)] {
            if let Some(time) = time {
                table.add_row([name.to_owned(), time.to_string()]);
            }
        }
        say!("{table}\nwithin {scope}");
        if let Some((generations, second)) = generations.and_then(|all| Some((all.clone(), all.second?))) {
            let (of, serving) = (generations.records, generations.serving);
            say!(
                "of everybody's {of} records {} have vectors of {}, by which searches go,",
                serving.vectors,
                serving.space
            );
            say!("and {} have vectors of {}, which lie beside them", second.vectors, second.space);
        }
        for (job, count) in &stats.given_up {
            say!("{}", given_up::told(*job, *count, reasons.get(job)));
        }
        Ok(ExitCode::SUCCESS)
    }
}
