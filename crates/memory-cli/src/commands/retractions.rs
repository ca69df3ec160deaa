//! `memory retractions`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::{output, target_args::TargetArgs};

/// List the retractions that can be restored, newest first.
#[derive(Debug, Args)]
pub(crate) struct RetractionsCommand {
    /// Maximum number of retractions
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    target: TargetArgs,
}

impl RetractionsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.scope()?;
        let engine = self.target.open().await?;
        let retractions = engine.history().retractions(&scope, self.limit).await?;
        self.target.report.print(&retractions, || {
            if retractions.is_empty() {
                return format!("no retractions within {scope}");
            }
            let zone = memory_engine_server::local_zone();
            let mut table = output::table(["retraction", "time", "records", "reason"]);
            for retraction in &retractions {
                table.add_row([
                    retraction.id.to_string(),
                    retraction.at.in_zone(&zone).strftime("%Y-%m-%d %H:%M").to_string(),
                    retraction.records.len().to_string(),
                    output::shorten(&retraction.reason, 80),
                ]);
            }
            table.to_string()
        })
    }
}
