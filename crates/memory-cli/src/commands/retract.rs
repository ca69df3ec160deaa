//! `memory retract`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Scope, history::Retraction};

use crate::{output, records, report::ReportArgs, target_args::StoreTargetArgs};

/// Retract wrong records and everything derived from them.
///
/// Retracted records stay stored but are not recalled; `restore` restores them. To delete records for good, use
/// `forget`.
#[derive(Debug, Args)]
pub(crate) struct RetractCommand {
    /// Ids of the records, or their ids in an imported file
    #[arg(required = true)]
    ids: Vec<String>,
    /// Reason, stored with the retraction
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    target: StoreTargetArgs,
}

impl RetractCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let engine = self.target.open().await?;
        let ids = records::resolve(&engine, &scope, &self.ids, "nothing was retracted").await?;
        let retraction = engine.history().retract(&scope, &ids, &self.reason).await?;
        if retraction.records.is_empty() {
            bail!(
                "already retracted: {}; `memory retractions` lists the retractions that can be restored",
                self.ids.join(", ")
            );
        }
        output::finish_indexing(&engine, &scope.namespace()).await?;
        print(&retraction, &scope, self.target.report)
    }
}

/// Prints a retraction with the command that restores it.
pub(super) fn print(retraction: &Retraction, scope: &Scope, report: ReportArgs) -> Result<ExitCode> {
    let user = scope.user_name().unwrap_or_default();
    report.print(retraction, || {
        let count = retraction.records.len();
        let records = output::counted(count as u64, "record", "records");
        format!("{records} retracted\n`memory restore {} --user {user}` restores them", retraction.id)
    })
}
