//! `memory digest`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::Kind;
use tokio::time::timeout;

use crate::{background_digest, dead_letters, output, target_args::StoreTargetArgs};

/// Extract topics, facts, summaries and a graph from stored turns.
///
/// Can be repeated and resumed. Processes turns that were stored without `--digest`, and retries jobs that failed for
/// good. Existing facts are not
/// duplicated. After an interruption, `--waiting` processes the remaining jobs.
#[derive(Debug, Args)]
pub(crate) struct DigestCommand {
    /// Only process jobs that are still queued
    ///
    /// For example after an interrupted run.
    #[arg(long)]
    waiting: bool,
    /// Do nothing if such a process runs, and end after two minutes
    #[arg(long, hide = true)]
    background: bool,
    #[command(flatten)]
    target: StoreTargetArgs,
}

impl DigestCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        if !self.background {
            return self.digest().await;
        }
        let Some(_lock) = background_digest::lock(&self.target.store.database.database()?) else {
            return Ok(ExitCode::SUCCESS);
        };
        timeout(background_digest::TIME_LIMIT, self.digest()).await.unwrap_or(Ok(ExitCode::SUCCESS))
    }

    async fn digest(self) -> Result<ExitCode> {
        let scope = self.target.scope.scope()?;
        let options = self.target.enrichment.required_engine_options()?;
        let has_graph = options.graph.is_some();
        let engine = self.target.store.open_with(options).await?;
        let queued = if self.waiting { None } else { Some(engine.admin().requeue_enrichment(&scope).await?) };
        let done =
            output::run_jobs(&engine, &scope, "digesting", |progress| self.target.report.print_progress(progress))
                .await?;
        let dead_letters = dead_letters::report(&engine, &scope).await?;
        let kinds = engine.stats(&scope).await?.kinds;
        let count = |kind: Kind| kinds.get(kind.as_str()).copied().unwrap_or_default();
        let facts = count(Kind::FACT);
        let summaries = count(Kind::SUMMARY);
        let mut report = serde_json::json!({ "facts": facts, "summaries": summaries, "dead_letters": dead_letters });
        let mut text = match queued {
            Some(turns) => format!("{} digested", output::counted(turns, "turn", "turns")),
            None => format!("{} from the queue done", output::counted(done, "job", "jobs")),
        };
        text += &format!(
            "\n{} and {} stored within {scope}; `memory facts --user NAME` shows the facts",
            output::counted(facts, "fact", "facts"),
            output::counted(summaries, "summary", "summaries"),
        );
        if has_graph {
            let stats = engine.graph().store().stats(&scope).await?;
            text += &format!(
                "\n{} and {} extracted from {}; `memory graph --user NAME` shows them",
                output::counted(stats.entities, "entity", "entities"),
                output::counted(stats.edges, "relation", "relations"),
                output::counted(stats.records, "record", "records"),
            );
            report["graph"] = serde_json::to_value(stats)?;
        }
        report[if self.waiting { "waited" } else { "turns" }] = queued.unwrap_or(done).into();
        self.target.report.print_line(&report, || text)
    }
}
