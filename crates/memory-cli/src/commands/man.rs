//! `memory man`: prints or writes the manual pages.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Args;
use clap_mangen::Man;

use crate::output;

/// Print the manual page, or write the pages of all commands into a folder.
#[derive(Debug, Args)]
pub(crate) struct ManCommand {
    /// Folder for the pages; default: print memory.1
    ///
    /// For memory.1 and a page for each command (memory-search.1, …). It is created if it is missing.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl ManCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let Some(folder) = self.folder else {
            io::stdout().write_all(&render(command())?)?;
            return Ok(ExitCode::SUCCESS);
        };
        fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let mut command = command();
        // Sets the display names of the subcommands, such as memory-search.
        command.build();
        let mut unwritten = vec![command];
        let mut count = 0;
        while let Some(command) = unwritten.pop() {
            unwritten.extend(command.get_subcommands().filter(|part| !part.is_hide_set()).cloned());
            let path = folder.join(format!("{}.1", command.get_display_name().unwrap_or(command.get_name())));
            fs::write(&path, render(command)?).with_context(|| format!("cannot write {}", path.display()))?;
            count += 1;
        }
        report_line!("{} written to {}", output::counted(count, "page", "pages"), folder.display());
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the definition of `memory`, without `memory help`.
fn command() -> clap::Command {
    crate::definition().disable_help_subcommand(true)
}

/// Returns the page of a command. It has no date, so that packages are reproducible.
fn render(command: clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let source = concat!("memory-engine ", env!("CARGO_PKG_VERSION"));
    Man::new(command).source(source).manual("memory-engine").render(&mut page)?;
    Ok(page)
}
