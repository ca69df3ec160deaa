//! `memory models`.

mod fetch;

use std::{process::ExitCode, time::Instant};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use fetch::Fetch;
use memory_engine::embed::{Embedder, LocalModel, Purpose};

use crate::{
    embedder::{EmbedderArgs, EmbedderChoice},
    output,
};

/// List, check or download local models.
#[derive(Debug, Args)]
pub(crate) struct ModelsCommand {
    #[command(subcommand)]
    action: ModelsAction,
}

#[derive(Debug, Subcommand)]
enum ModelsAction {
    /// List the local models with their folders
    List(EmbedderArgs),
    /// Download models from a hub (HF_ENDPOINT, or huggingface.co); resumable, with checksums
    Fetch(Fetch),
    /// Open the model, embed a sentence, and print the times of both
    Check(EmbedderArgs),
}

impl ModelsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.action {
            ModelsAction::List(choice) => list(&choice)?,
            ModelsAction::Fetch(fetch) => fetch.run().await?,
            ModelsAction::Check(choice) => check(&choice).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(choice: &EmbedderArgs) -> Result<()> {
    let mut table = output::table(["model", "dimensions", "languages", "location"]);
    let location = choice.find().map_or_else(
        || format!("not in {}; `memory models fetch` or `scripts/get-models DIR` downloads it", choice.folder_names()),
        |path| path.display().to_string(),
    );
    table.add_row(["local:e5-small", "384", "about 100", &location]);
    table.add_row(["words", "384", "English; others by spelling", "built in"]);
    table.add_row(["hash", "384", "any, by spelling only", "built in"]);
    print_line!("{table}");
    Ok(())
}

async fn check(choice: &EmbedderArgs) -> Result<()> {
    let path = match &choice.embedder {
        EmbedderChoice::At(path) => path.clone(),
        EmbedderChoice::Words | EmbedderChoice::Hash => {
            bail!("the hash embedder is built in; there is nothing to check")
        }
        EmbedderChoice::Remote(_) => bail!("only local models can be checked, and --embedder names a service"),
        EmbedderChoice::Auto | EmbedderChoice::E5 => choice.require_model()?,
    };
    let started = Instant::now();
    let model = LocalModel::open(&path).await?;
    let open_time = started.elapsed();
    let started = Instant::now();
    let embedder = model.embedder();
    embedder.embed(&["我对什么食物过敏？ What am I allergic to?"], Purpose::Query).await?;
    let embed_time = started.elapsed();
    print_line!("{} from {}", embedder.space(), path.display());
    print_line!(
        "opened in {:.0} ms, one query embedded in {:.1} ms",
        open_time.as_secs_f64() * 1e3,
        embed_time.as_secs_f64() * 1e3
    );
    Ok(())
}
