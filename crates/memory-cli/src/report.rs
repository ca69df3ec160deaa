//! Prints the result of a command: text for people, JSON for programs.

use std::{fmt::Display, process::ExitCode};

use anyhow::Result;
use clap::Args;
use memory_engine::admin::Progress;
use serde::Serialize;
use serde_json::Value;

use crate::{output, warnings};

/// The option `--json`.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ReportArgs {
    /// Print the report as JSON
    ///
    /// Long commands also print a line after every batch.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ReportArgs {
    /// Prints `data` as indented JSON, or else the text.
    pub(crate) fn print(self, data: &impl Serialize, text: impl FnOnce() -> String) -> Result<ExitCode> {
        if self.json { print_text(serde_json::to_string_pretty(&with_damage(data)?)?) } else { print_text(text()) }
    }

    /// Prints `data` as one line of JSON, or else the text.
    pub(crate) fn print_line(self, data: &impl Serialize, text: impl FnOnce() -> String) -> Result<ExitCode> {
        if self.json { print_text(serde_json::to_string(&with_damage(data)?)?) } else { print_text(text()) }
    }

    /// Prints the progress of a long command as a line of JSON.
    pub(crate) fn print_progress(self, progress: Progress) {
        if self.json {
            output::print_json_line(&serde_json::json!({ "done": progress.done, "total": progress.total }));
        }
    }
}

/// Returns a report as JSON. If the command has met records that cannot be read, `damaged` lists them.
fn with_damage(data: &impl Serialize) -> Result<Value> {
    let mut report = serde_json::to_value(data)?;
    let damaged = warnings::damaged_records();
    if let (false, Value::Object(report)) = (damaged.is_empty(), &mut report) {
        report.insert("damaged".to_owned(), damaged.into());
    }
    Ok(report)
}

/// Prints a text as the result of a command.
pub(crate) fn print_text(text: impl Display) -> Result<ExitCode> {
    print_line!("{text}");
    Ok(ExitCode::SUCCESS)
}
