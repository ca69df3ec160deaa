//! `memory retractions`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::{
    args::{ScopeArgs, StoreArgs},
    output,
};

/// List what was taken back and can be restored, the latest first.
#[derive(Debug, Args)]
pub(crate) struct Retractions {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// How many at the most
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Give everything as JSON
    #[arg(long)]
    json: bool,
}

impl Retractions {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let engine = self.store.open_as_it_is().await?;
        let found = engine.retractions(&scope, self.limit).await?;
        if self.json {
            say!("{}", serde_json::to_string_pretty(&found)?);
            return Ok(ExitCode::SUCCESS);
        }
        if found.is_empty() {
            say!("nothing within {scope} was taken back");
            return Ok(ExitCode::SUCCESS);
        }
        let zone = output::display_zone();
        let mut table = output::table(["retraction", "when", "records", "why"]);
        for retraction in found {
            table.add_row([
                retraction.id.to_string(),
                retraction.at.in_zone(&zone).strftime("%Y-%m-%d %H:%M").to_string(),
                retraction.records.len().to_string(),
                output::shorten(&retraction.reason, 80),
            ]);
        }
        say!("{table}");
        Ok(ExitCode::SUCCESS)
    }
}
