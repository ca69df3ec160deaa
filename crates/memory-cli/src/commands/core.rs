//! `memory core`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::context::{Core, CoreRule};

use crate::{output, target_args::TargetArgs};

/// List the memories that the prompt of every message has.
///
/// These are pinned memories, and facts about health, wishes, name, language, home and close people. `memory set ID
/// --pin` adds a memory, and puts it first; `memory set ID --unpin` takes it out again. `memory
/// forget ID` deletes a wrong fact, and `memory retract ID` takes it back.
#[derive(Debug, Args)]
pub(crate) struct CoreCommand {
    /// Show the core as it is visible from a scene; default: of all scenes
    #[arg(long, value_name = "SCENE")]
    from_scene: Option<String>,
    /// Maximum number of tokens
    #[arg(long, default_value_t = CoreRule::default().max_tokens)]
    max_tokens: usize,
    #[command(flatten)]
    target: TargetArgs,
}

impl CoreCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let engine = self.target.open().await?;
        let core = Core::load(&engine, &scope, self.from_scene.as_deref(), self.max_tokens).await?;
        self.target.report.print(&core.entries, || {
            if core.entries.is_empty() {
                return format!("nothing in {scope} belongs to the core; `memory set ID --pin` adds a memory");
            }
            let mut table = output::table(["in the prompt", "class", "tokens", "memory", "id"]);
            for entry in &core.entries {
                table.add_row([
                    if entry.included { "yes" } else { "no room" }.to_owned(),
                    entry.class.to_string(),
                    entry.tokens.to_string(),
                    output::shorten(&entry.record.text, 80),
                    entry.record.id.to_string(),
                ]);
            }
            table.to_string()
        })
    }
}
