//! `memory facts`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;
use memory_engine::{
    Clock, Field, Filter, Kind, MemoryEngine, Record, Scope, SystemClock, Timestamp, enrichment::render,
};

use crate::{args::ZoneArgs, as_of::AsOfArgs, output, records, target_args::TargetArgs};

/// List the facts about a user that are valid now.
#[derive(Debug, Args)]
pub(crate) struct FactsCommand {
    /// Include former facts, with the day on which they ended
    #[arg(long, conflicts_with = "as_of")]
    history: bool,
    #[command(flatten)]
    as_of: AsOfArgs,
    /// List the facts that were valid at this time, as known today
    #[arg(long, value_name = "TIME", conflicts_with_all = ["history", "as_of"])]
    valid_at: Option<String>,
    #[command(flatten)]
    timezone: ZoneArgs,
    #[command(flatten)]
    target: TargetArgs,
}

impl FactsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let zone = self.timezone.zone();
        let engine = self.target.open().await?;
        let facts = self.facts(&engine, &scope, &zone).await?;
        let now = self.as_of.time(&zone)?.unwrap_or_else(|| SystemClock.now());
        let sentence = |fact: &Record| render(fact, now, &zone);
        let lines = facts.iter().map(|fact| {
            let mut line = serde_json::to_value(fact)?;
            line["shown"] = sentence(fact).into();
            Ok(line)
        });
        let lines = lines.collect::<Result<Vec<_>>>()?;
        let code = self.target.report.print(&lines, || {
            if facts.is_empty() {
                return format!("no facts stored within {scope}; `memory digest --digest rules` extracts them");
            }
            let mut table = output::table(["date", "fact", "id"]);
            for fact in &facts {
                let stated_on = fact.occurred_at.in_zone(&zone).strftime("%Y-%m-%d").to_string();
                table.add_row([stated_on, sentence(fact), fact.id.to_string()]);
            }
            table.to_string()
        })?;
        if facts.is_empty() && !self.target.report.json {
            records::report_missing_user(&engine, &self.target.database, &scope).await?;
        }
        Ok(code)
    }

    async fn facts(&self, engine: &MemoryEngine, scope: &Scope, zone: &TimeZone) -> Result<Vec<Record>> {
        let as_of = self.as_of.time(zone)?;
        if let Some(time) = as_of {
            let facts = Filter::eq(Field::Kind, Kind::FACT.as_str());
            return Ok(engine.records(scope).filter(facts).as_of(time).collect().await?);
        }
        let query = engine.facts(scope);
        let query = match &self.valid_at {
            Some(time) => query.as_of(Timestamp::parse_in(time, zone)?),
            None if self.history => query.history(),
            None => query,
        };
        Ok(query.records().await?)
    }
}
