//! `memory show`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use crate::{
    args::{ScopeArgs, StoreArgs},
    records, report,
};

/// Show a record with everything that is stored about it, as JSON.
#[derive(Debug, Args)]
pub(crate) struct ShowCommand {
    /// Id of the record, as printed by `search --explain` and `export`, or its id in an imported file
    id: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl ShowCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let engine = self.store.open().await?;
        let found = records::find(&engine, &scope, &self.id).await?;
        let record = match found.as_slice() {
            [] => bail!("no record {} within {scope}", self.id),
            [one] => one,
            [first, ..] => bail!(
                "{} records within {scope} have the id {}, the first of them at {}; narrow the scope with --session",
                found.len(),
                self.id,
                first.scope
            ),
        };
        report::print_text(serde_json::to_string_pretty(record)?)
    }
}
