//! `memory search`.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::Args;
use memory_engine::{MemoryEngine, Recall, RecallQuery, Scope, recall::Degraded};

use crate::{
    args::{ScopeArgs, StoreArgs},
    as_of::AsOfArgs,
    engine_options::RecallArgs,
    output,
    query_args::QueryArgs,
    records,
    report::ReportArgs,
};

/// Find the memories most relevant to a query.
#[derive(Debug, Args)]
pub(crate) struct SearchCommand {
    /// Query: a question, a sentence or keywords
    #[arg(value_name = "QUERY")]
    text: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    recall: RecallArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    as_of: AsOfArgs,
    /// Time limit in milliseconds
    #[arg(long, value_name = "MS")]
    deadline: Option<u64>,
    /// Id of a record; explain why it is a hit or not
    #[arg(long, value_name = "ID")]
    why: Option<String>,
    /// Show retrievers and scores of each hit, and times of the stages
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl SearchCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let mut query = self.query.query(&self.text)?;
        query.as_of = self.as_of.time(&self.query.timezone.zone())?;
        let engine = self.store.open_with(self.recall.engine_options()).await?;
        let query = match self.deadline {
            Some(ms) => query.with_options(engine.settings().recall_options().with_deadline(Duration::from_millis(ms))),
            None => query,
        };
        if let Some(id) = &self.why {
            return self.explain_record(&engine, &scope, query, id).await;
        }
        let recall = engine.recall(&scope, query).await?;
        self.report.print(&recall, || self.describe(&recall, &scope))?;
        if recall.hits.is_empty() && !self.report.json {
            records::report_missing_user(&engine, &self.store.database, &scope).await?;
        }
        self.warn_degraded(&recall.degraded);
        Ok(ExitCode::SUCCESS)
    }

    fn describe(&self, recall: &Recall, scope: &Scope) -> String {
        let mut lines = Vec::new();
        if recall.hits.is_empty() {
            lines.push(format!("nothing found within {scope}"));
        } else {
            lines.push(output::recall_table(recall, &self.query.timezone.zone()));
        }
        if self.explain {
            let hits = recall.hits.iter().zip(1..);
            lines.extend(hits.map(|(hit, n)| format!("{n:>3}  {}  {}", hit.record.id, hit.score_summary())));
            let stages = recall.stages.iter().map(|s| format!("{} {:.1} ms", s.stage, s.took.as_secs_f64() * 1e3));
            lines.push(format!("stages: {}", stages.collect::<Vec<_>>().join(", ")));
        }
        lines.join("\n")
    }

    async fn explain_record(
        &self,
        engine: &MemoryEngine,
        scope: &Scope,
        query: RecallQuery,
        id: &str,
    ) -> Result<ExitCode> {
        let records = records::find(engine, scope, id).await?;
        let id = records.first().map_or_else(|| id.parse(), |record| Ok(record.id))?;
        let explanation = engine.admin().explain(scope, query, id).await?;
        self.report.print(&explanation, || {
            let score = explanation.hit.as_ref().map(|hit| format!("\n{}", hit.score_summary()));
            format!("{id}: {}{}", explanation.verdict, score.unwrap_or_default())
        })?;
        self.warn_degraded(&explanation.degraded);
        Ok(ExitCode::SUCCESS)
    }

    /// Names the degraded stages on standard error. A JSON report contains them already.
    fn warn_degraded(&self, degraded: &[Degraded]) {
        for part in degraded.iter().filter(|_| !self.report.json) {
            report_line!("{} failed: {}", part.stage, part.reason);
        }
    }
}
