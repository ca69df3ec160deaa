//! `memory completions`.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::Result;
use clap::{Args, ValueEnum};
use clap_complete::aot;

/// Print the completion script of a shell.
///
/// For bash: `memory completions bash > ~/.local/share/bash-completion/completions/memory`. For zsh, write the script
/// to a file `_memory` in a folder of $fpath; for fish, to `~/.config/fish/completions/memory.fish`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsCommand {
    /// Shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl CompletionsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let shell = match self.shell {
            Shell::Bash => aot::Shell::Bash,
            Shell::Zsh => aot::Shell::Zsh,
            Shell::Fish => aot::Shell::Fish,
        };
        // Written in one piece, because the generator panics if the output is closed.
        let mut script = Vec::new();
        aot::generate(shell, &mut crate::definition(), "memory", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
