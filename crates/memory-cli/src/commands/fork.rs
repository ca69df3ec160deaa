//! `memory fork`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Fork as Parting, MemoryEngine, ScanQuery, Scope};

use crate::args::{ScopeArgs, StoreArgs};

const PAGE: usize = 1000;

/// Begin a branch of a conversation: it sees what came before the fork, and nothing of what comes after it elsewhere.
#[derive(Debug, Args)]
pub(crate) struct Fork {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// The branch that it leaves; the one without a name, when not set
    #[arg(long, value_name = "BRANCH")]
    from: Option<String>,
    /// The last sequence number that both have in common
    #[arg(long, value_name = "SEQUENCE", allow_negative_numbers = true)]
    at: i64,
    /// See nothing of the branch that it leaves
    #[arg(long)]
    alone: bool,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

impl Fork {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.conversation()?;
        let Some(branch) = scope.branch() else {
            bail!("which branch begins? Name the new one: --branch NAME");
        };
        let mut fork = Parting::at(self.at);
        if let Some(parent) = &self.from {
            fork = fork.from_branch(parent);
        }
        if self.alone {
            fork = fork.alone();
        }
        let engine = self.store.open().await?;
        engine.fork(&scope, fork.clone()).await?;
        let seen = count(&engine, &scope).await?;
        if self.json {
            let mut report = serde_json::to_value(&fork)?;
            report["branch"] = branch.into();
            report["sees"] = seen.into();
            say!("{report}");
            return Ok(ExitCode::SUCCESS);
        }
        let parent = self.from.as_deref().map_or_else(|| "the branch without a name".to_owned(), |b| format!("'{b}'"));
        say!("'{branch}' begins after {} of {parent}, and sees {seen} records", self.at);
        if seen == 0 && !self.alone {
            say!("nothing there has a sequence number up to {}; `memory show ID` tells a record's", self.at);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How many records a branch sees.
async fn count(engine: &MemoryEngine, scope: &Scope) -> Result<usize> {
    let (mut count, mut after) = (0, None);
    loop {
        let page = engine.timeline(scope, &ScanQuery::oldest(PAGE).with_after(after)).await?;
        count += page.records.iter().filter(|record| !record.kind.is_ledger()).count();
        after = page.next;
        if after.is_none() {
            return Ok(count);
        }
    }
}
