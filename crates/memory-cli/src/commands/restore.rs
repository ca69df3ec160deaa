//! `memory restore`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::RecordId;

use crate::{
    args::{ScopeArgs, StoreArgs},
    output,
    work::WorkArgs,
};

/// Bring back what `rewind` or `retract` took back, as far as nobody has changed it since.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The retraction's id, as `rewind`, `retract` and `retractions` give it
    retraction: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.address()?;
        let Ok(retraction) = self.retraction.parse::<RecordId>() else {
            bail!("'{}' is no id of a retraction; `memory retractions` lists them", self.retraction);
        };
        let engine = self.store.open_with(self.work.work()?).await?;
        let count = engine.restore(&scope, retraction).await?;
        output::settle(&engine, &scope.namespace()).await?;
        if self.json {
            say!("{}", serde_json::json!({ "restored": count }));
        } else {
            say!("{count} records brought back");
        }
        Ok(ExitCode::SUCCESS)
    }
}
