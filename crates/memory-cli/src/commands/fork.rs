//! `memory fork`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{MemoryEngine, ScanQuery, Scope};

use crate::{output, records::PAGE_RECORDS, target_args::TargetArgs};

/// Start a branch of a session.
///
/// The branch includes the turns of its parent branch up to the fork.
#[derive(Debug, Args)]
pub(crate) struct ForkCommand {
    /// Parent branch; default: the branch without a name
    #[arg(long, value_name = "BRANCH")]
    from: Option<String>,
    /// Sequence number of the last turn that both branches share
    #[arg(long, value_name = "SEQUENCE", allow_negative_numbers = true)]
    at: i64,
    /// Do not inherit any turn of the parent branch
    #[arg(long)]
    alone: bool,
    #[command(flatten)]
    target: TargetArgs,
}

impl ForkCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.conversation()?;
        let Some(branch) = scope.branch() else {
            bail!("no branch given; name the new one with --branch NAME");
        };
        let mut fork = memory_engine::history::Fork::at(self.at);
        if let Some(parent) = &self.from {
            fork = fork.from_branch(parent);
        }
        if self.alone {
            fork = fork.alone();
        }
        let engine = self.target.open().await?;
        engine.history().fork(&scope, fork.clone()).await?;
        let visible = count_visible(&engine, &scope).await?;
        let mut report = serde_json::to_value(&fork)?;
        report["branch"] = branch.into();
        report["sees"] = visible.into();
        self.target.report.print_line(&report, || {
            let at = self.at;
            let parent = self.from.as_ref().map_or("the branch without a name".into(), |parent| format!("'{parent}'"));
            let text = format!(
                "'{branch}' starts after {at} of {parent}, and includes {}",
                output::counted(visible as u64, "record", "records")
            );
            // A branch that should see earlier records and sees none has mostly a wrong number.
            if visible > 0 || self.alone {
                return text;
            }
            format!(
                "{text}\nno record has a sequence number of at most {at}; `memory show ID` prints the number of a \
                 record"
            )
        })
    }
}

/// Counts the records that are visible from a branch.
async fn count_visible(engine: &MemoryEngine, scope: &Scope) -> Result<usize> {
    let mut count = 0;
    let mut after = None;
    loop {
        let page = engine.history().timeline(scope, &ScanQuery::oldest(PAGE_RECORDS).with_after(after)).await?;
        count += page.records.iter().filter(|record| !record.kind.is_ledger()).count();
        after = page.next;
        if after.is_none() {
            return Ok(count);
        }
    }
}
