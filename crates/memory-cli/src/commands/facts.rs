//! `memory facts`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::{Clock, Record, SystemClock, enrichment::render};

use crate::{
    args::{ScopeArgs, StoreArgs, ZoneArgs},
    output,
    report::ReportArgs,
};

/// List the facts about a user that are valid now.
#[derive(Debug, Args)]
pub(crate) struct FactsCommand {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Include former facts, with the day on which they ended
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    timezone: ZoneArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl FactsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.address()?;
        let zone = self.timezone.zone();
        let engine = self.store.open_without_indexes().await?;
        let query = engine.facts(&scope);
        let query = if self.history { query.history() } else { query };
        let facts = query.records().await?;
        let now = SystemClock.now();
        let sentence = |fact: &Record| render(fact, now, &zone);
        let lines = facts.iter().map(|fact| {
            let mut line = serde_json::to_value(fact)?;
            line["shown"] = sentence(fact).into();
            Ok(line)
        });
        let lines = lines.collect::<Result<Vec<_>>>()?;
        self.report.print(&lines, || {
            if facts.is_empty() {
                return format!("no facts stored within {scope}; `memory digest --digest rules` extracts them");
            }
            let mut table = output::table(["date", "fact", "id"]);
            for fact in &facts {
                let stated_on = fact.occurred_at.in_zone(&zone).strftime("%Y-%m-%d").to_string();
                table.add_row([stated_on, sentence(fact), fact.id.to_string()]);
            }
            table.to_string()
        })
    }
}
