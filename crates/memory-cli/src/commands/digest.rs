//! `memory digest`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::Kind;

use crate::{
    args::{ScopeArgs, StoreArgs},
    digester::DigestArgs,
    given_up, output,
};

/// Make topics, facts and summaries of what is stored; can be repeated and resumed.
///
/// For what was stored without a digest, or when what should have been found was given up. What is known already is not
/// found twice. When the command is interrupted, `--waiting` goes on with what it has not done.
#[derive(Debug, Args)]
pub(crate) struct Digest {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    digest: DigestArgs,
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
        let digest = self.digest.need()?;
        let engine = self.store.open_with(digest).await?;
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
        Ok(ExitCode::SUCCESS)
    }
}
