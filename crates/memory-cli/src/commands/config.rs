//! `memory config`.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::{output, report::ReportArgs, server::ConfigArgs};

/// Show the configuration of the server and the source of each setting.
#[derive(Debug, Args)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    action: ConfigAction,
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// List every setting with its value and source; keys and passwords are not shown
    Show(Show),
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl ConfigCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let ConfigAction::Show(Show { config, report }) = self.action;
        let loaded = config.load()?;
        report.print(&loaded.settings, || {
            let mut table = output::table(["setting", "value", "set by"]);
            for setting in &loaded.settings {
                table.add_row([&setting.name, &setting.value, &setting.source]);
            }
            table.to_string()
        })
    }
}
