//! `memory search`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::{Field, Filter, RecallQuery, Timestamp};

use crate::{
    args::{self, ScopeArgs, StoreArgs},
    output,
};

/// Find what is worth knowing about a question.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The question
    question: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// How many turns at the most
    #[arg(long, short = 'n', default_value_t = 10)]
    limit: usize,
    /// Only what occurred at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only what occurred before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The zone of times that name none
    #[arg(long, default_value = "UTC", value_name = "ZONE", allow_hyphen_values = true)]
    timezone: String,
    /// Only records of this kind: turn, summary, fact, note …
    #[arg(long)]
    kind: Option<String>,
    /// Only records of this scene
    #[arg(long)]
    scene: Option<String>,
    /// Say for each turn which arm found it and with which score, and how long each stage took
    #[arg(long)]
    explain: bool,
    /// Give everything as JSON
    #[arg(long)]
    json: bool,
}

impl Search {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let query = self.query()?;
        let engine = self.store.open().await?;
        let recall = engine.recall(&scope, query).await?;
        if self.json {
            say!("{}", serde_json::to_string_pretty(&recall)?);
            return Ok(ExitCode::SUCCESS);
        }
        if recall.hits.is_empty() {
            say!("nothing found within {scope}");
        } else {
            say!("{}", output::recall_table(&recall));
        }
        if self.explain {
            for (hit, n) in recall.hits.iter().zip(1..) {
                let ways = hit.found_by.iter().map(|f| format!("{} #{} at {}", f.arm.as_str(), f.rank, f.score));
                let repeats = hit.repeats.map(|id| format!(", repeats {id}")).unwrap_or_default();
                say!(
                    "{n:>3}  {}  fused {:.6}: {}{repeats}",
                    hit.record.id,
                    hit.score.value(),
                    ways.collect::<Vec<_>>().join(", ")
                );
            }
            let stages = recall.stages.iter().map(|s| format!("{} {:.1} ms", s.stage, s.took.as_secs_f64() * 1e3));
            say!("stages: {}", stages.collect::<Vec<_>>().join(", "));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn query(&self) -> Result<RecallQuery> {
        let zone = args::zone(&self.timezone)?;
        let mut query = RecallQuery::new(&self.question).with_limit(self.limit);
        if let Some(since) = &self.since {
            query = query.since(Timestamp::parse_in(since, &zone)?);
        }
        if let Some(until) = &self.until {
            query = query.until(Timestamp::parse_in(until, &zone)?);
        }
        if let Some(kind) = &self.kind {
            query = query.with_filter(Filter::eq(Field::Kind, kind.as_str()));
        }
        if let Some(scene) = &self.scene {
            query = query.with_filter(Filter::eq(Field::Scene, scene.as_str()));
        }
        Ok(query)
    }
}
