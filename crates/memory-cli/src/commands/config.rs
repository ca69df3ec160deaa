//! `memory config`.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::{output, server::ConfigArgs};

/// Show how the server would be set up, and what says so.
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Every setting with its value and what set it; keys and passwords are not shown
    Show(Show),
}

#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    config: ConfigArgs,
    /// Give it as JSON
    #[arg(long)]
    json: bool,
}

impl Config {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let What::Show(Show { config, json }) = self.what;
        let loaded = config.load()?;
        if json {
            say!("{}", serde_json::to_string_pretty(&loaded.settings)?);
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = output::table(["setting", "value", "set by"]);
        for setting in loaded.settings {
            table.add_row([setting.name, setting.value, setting.source]);
        }
        say!("{table}");
        Ok(ExitCode::SUCCESS)
    }
}
