//! `memory restore`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::RecordId;

use crate::{output, target_args::StoreTargetArgs};

/// Restore the records of a `rewind` or `retract`.
///
/// Records that were changed since stay as they are.
#[derive(Debug, Args)]
pub(crate) struct RestoreCommand {
    /// Id of the retraction, as printed by `rewind`, `retract` and `retractions`
    retraction: String,
    #[command(flatten)]
    target: StoreTargetArgs,
}

impl RestoreCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let Ok(retraction) = self.retraction.parse::<RecordId>() else {
            bail!("'{}' is not the id of a retraction; `memory retractions` lists the ids", self.retraction);
        };
        let engine = self.target.open().await?;
        let count = engine.history().restore(&scope, retraction).await?;
        output::finish_indexing(&engine, &scope.namespace()).await?;
        let report = serde_json::json!({ "restored": count });
        self.target.report.print_line(&report, || format!("{} restored", output::counted(count, "record", "records")))
    }
}
