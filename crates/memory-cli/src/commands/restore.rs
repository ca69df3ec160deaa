//! `memory restore`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::RecordId;

use crate::{
    args::{ScopeArgs, StoreArgs},
    engine_options::EnrichmentArgs,
    output,
    report::ReportArgs,
};

/// Restore the records of a `rewind` or `retract`.
///
/// Records that were changed since stay as they are.
#[derive(Debug, Args)]
pub(crate) struct RestoreCommand {
    /// Id of the retraction, as printed by `rewind`, `retract` and `retractions`
    retraction: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    enrichment: EnrichmentArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl RestoreCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.address()?;
        let Ok(retraction) = self.retraction.parse::<RecordId>() else {
            bail!("'{}' is not the id of a retraction; `memory retractions` lists the ids", self.retraction);
        };
        let engine = self.store.open_with_any_embedder(self.enrichment.engine_options()?).await?;
        let count = engine.history().restore(&scope, retraction).await?;
        output::finish_indexing(&engine, &scope.namespace()).await?;
        let report = serde_json::json!({ "restored": count });
        self.report.print_line(&report, || format!("{} restored", output::counted(count, "record", "records")))
    }
}
