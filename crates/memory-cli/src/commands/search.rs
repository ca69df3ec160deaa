//! `memory search`.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::Args;
use memory_engine::{Field, Filter, MemoryEngine, Recall, RecallQuery, Scope, Timestamp, recall::Degraded};

use crate::{
    args::{ScopeArgs, StoreArgs, ZoneArgs},
    engine_options::EngineOptions,
    graph::GraphArgs,
    output, records,
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
    graph: GraphArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Maximum number of hits
    #[arg(long, short = 'n', default_value_t = 10)]
    limit: usize,
    /// Only records from this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only records before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only records from the time that the query names, such as "last week", 去年夏天 or "in May 2023"
    #[arg(long)]
    only_then: bool,
    #[command(flatten)]
    timezone: ZoneArgs,
    /// Only records of this kind, such as turn, summary, fact or note
    #[arg(long)]
    kind: Option<String>,
    /// Only records of this scene
    #[arg(long)]
    scene: Option<String>,
    /// Scene to search from: only records that are visible from it
    #[arg(long, value_name = "SCENE")]
    from_scene: Option<String>,
    /// Time limit in milliseconds
    #[arg(long, value_name = "MS")]
    deadline: Option<u64>,
    /// Id of a record; explain why it is a hit or not
    #[arg(long, value_name = "ID")]
    why: Option<String>,
    /// Show the retrievers and scores of each hit, and the time of each stage
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl SearchCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let query = self.query()?;
        let options = EngineOptions { graph: self.graph.reader(), ..EngineOptions::default() };
        let engine = self.store.open_with(options).await?;
        let query = match self.deadline {
            Some(ms) => query.with_options(engine.admin().recall_options().with_deadline(Duration::from_millis(ms))),
            None => query,
        };
        if let Some(id) = &self.why {
            return self.explain_record(&engine, &scope, query, id).await;
        }
        let recall = engine.recall(&scope, query).await?;
        self.report.print(&recall, || self.describe(&recall, &scope))?;
        self.warn_degraded(&recall.degraded);
        Ok(ExitCode::SUCCESS)
    }

    fn describe(&self, recall: &Recall, scope: &Scope) -> String {
        let mut lines = Vec::new();
        if recall.hits.is_empty() {
            lines.push(format!("nothing found within {scope}"));
        } else {
            lines.push(output::recall_table(recall, &self.timezone.zone()));
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
        let explanation = engine.explain(scope, query, id).await?;
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

    fn query(&self) -> Result<RecallQuery> {
        let zone = self.timezone.zone();
        let mut query = RecallQuery::new(&self.text).with_limit(self.limit);
        if let Some(since) = &self.since {
            query = query.since(Timestamp::parse_in(since, &zone)?);
        }
        if let Some(until) = &self.until {
            query = query.until(Timestamp::parse_in(until, &zone)?);
        }
        if let Some(kind) = &self.kind {
            query = query.with_filter(Filter::eq(Field::Kind, kind.as_str()));
        }
        if let Some(scene) = &self.from_scene {
            query = query.in_scene(scene);
        }
        if self.only_then {
            query = query.only_then();
        }
        query.zone = Some(zone);
        if let Some(scene) = &self.scene {
            query = query.with_filter(Filter::eq(Field::Scene, scene.as_str()));
        }
        Ok(query)
    }
}
