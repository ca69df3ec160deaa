//! `memory digest`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::Kind;

use crate::{
    args::{ScopeArgs, StoreArgs},
    given_up, output,
    work::WorkArgs,
};

/// Make topics, facts, summaries and a graph of what is stored; can be repeated and resumed.
///
/// For what was stored without a digest, or when what should have been found was given up. What is known already is not
/// found twice. When the command is interrupted, `--waiting` goes on with what it has not done.
#[derive(Debug, Args)]
pub(crate) struct Digest {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Only what still waits, as after an interrupted run
    #[arg(long)]
    waiting: bool,
    /// Report as JSON, a line for every batch
    #[arg(long)]
    json: bool,
}

impl Digest {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let work = self.work.need()?;
        let graph = work.graph.is_some();
        let engine = self.store.open_with(work).await?;
        let queued = if self.waiting { None } else { Some(engine.redigest(&scope).await?) };
        let done = output::work(&engine, &scope, "digesting", |progress| {
            if self.json {
                output::tell_line(&serde_json::json!({ "done": progress.done, "total": progress.total }));
            }
        });
        let done = done.await?;
        let given_up = given_up::tell(&engine, &scope).await?;
        let kinds = engine.stats(&scope).await?.kinds;
        let of = |kind: Kind| kinds.get(kind.as_str()).copied().unwrap_or_default();
        let (facts, summaries) = (of(Kind::FACT), of(Kind::SUMMARY));
        if self.json {
            let mut report = serde_json::json!({ "facts": facts, "summaries": summaries, "given_up": given_up });
            if graph {
                report["graph"] = serde_json::to_value(engine.graph().store().stats(&scope).await?)?;
            }
            report[if self.waiting { "waited" } else { "turns" }] = queued.unwrap_or(done).into();
            say!("{report}");
            return Ok(ExitCode::SUCCESS);
        }
        match queued {
            Some(turns) => say!("{turns} turns digested"),
            None => say!("{done} jobs that waited done"),
        }
        say!(
            "{facts} facts and {summaries} summaries are stored within {scope}; `memory facts --user NAME` shows the facts"
        );
        if graph {
            let stats = engine.graph().store().stats(&scope).await?;
            say!(
                "{} entities and {} relations are told of by {} records; `memory graph --user NAME` shows them",
                stats.entities,
                stats.edges,
                stats.records
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
