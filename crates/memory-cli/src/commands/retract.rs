//! `memory retract`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Scope, history::Retraction};

use crate::{
    args::{ScopeArgs, StoreArgs},
    output, records,
    report::ReportArgs,
    work::WorkArgs,
};

/// Take back records that are wrong, with everything that was made from them; `restore` brings them back.
///
/// They stay stored and are no longer recalled. To be rid of them for ever, `forget` them.
#[derive(Debug, Args)]
pub(crate) struct RetractCommand {
    /// The records' ids, or the ids they had in an imported file
    #[arg(required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Reason, stored with the retraction
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    report: ReportArgs,
}

impl RetractCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.address()?;
        let engine = self.store.open_with(self.work.work()?).await?;
        let ids = records::resolve(&engine, &scope, &self.ids, "nothing was retracted").await?;
        let retraction = engine.retract(&scope, &ids, &self.reason).await?;
        if retraction.records.is_empty() {
            bail!("{} was retracted before; `memory retractions` lists what can be restored", self.ids.join(", "));
        }
        output::settle(&engine, &scope.namespace()).await?;
        print(&retraction, &scope, self.report)
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
