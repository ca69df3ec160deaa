//! `memory show`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use crate::{
    args::{DatabaseArgs, ScopeArgs, ZoneArgs},
    as_of::AsOfArgs,
    records, report,
};

/// Show a record with everything that is stored about it, as JSON.
#[derive(Debug, Args)]
pub(crate) struct ShowCommand {
    /// Id of the record, as printed by `search --explain` and `export`, or its id in an imported file
    id: String,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    as_of: AsOfArgs,
    #[command(flatten)]
    timezone: ZoneArgs,
}

impl ShowCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let as_of = self.as_of.time(&self.timezone.zone())?;
        let engine = self.database.open_without_indexes().await?;
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
        let Some(time) = as_of else { return report::print_text(serde_json::to_string_pretty(record)?) };
        match engine.history().as_of(time).get_all(&scope, &[record.id]).await?.pop().flatten() {
            Some(record) => report::print_text(serde_json::to_string_pretty(&record)?),
            None => {
                let recorded_at = record.recorded_at;
                bail!("record {} was not a current memory at {time}; it was recorded at {recorded_at}", self.id)
            }
        }
    }
}
