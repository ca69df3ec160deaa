//! `memory models`.

mod fetch;

use std::{process::ExitCode, time::Instant};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use fetch::Fetch;
use memory_engine::embed::{Embedder, LocalModel, Purpose};

use crate::{
    embedder::{EmbedderArgs, EmbedderChoice, MODEL_HINT, ModelFolderArgs},
    output,
};

/// List, check or download local models.
///
/// Without a subcommand, they are listed.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModelsCommand {
    #[command(subcommand)]
    action: Option<ModelsAction>,
    #[command(flatten)]
    models: ModelFolderArgs,
}

#[derive(Debug, Subcommand)]
enum ModelsAction {
    /// List the local models with their folders
    List(ModelFolderArgs),
    /// Download models from a hub (HF_ENDPOINT, or huggingface.co); resumable, with checksums
    Fetch(Fetch),
    /// Open the model, embed a sentence, and print the times of both
    Check(EmbedderArgs),
}

impl ModelsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.action {
            None => list(&self.models)?,
            Some(ModelsAction::List(models)) => list(&models)?,
            Some(ModelsAction::Fetch(fetch)) => fetch.run().await?,
            Some(ModelsAction::Check(choice)) => check(&choice).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(models: &ModelFolderArgs) -> Result<()> {
    let mut table = output::table(["model", "dimensions", "languages", "location"]);
    let found = models.find();
    let location = match &found {
        Some(path) => path.display().to_string(),
        None => format!("not in {}", models.folder_names()),
    };
    table.add_row(["local:e5-small", "384", "about 100", &location]);
    table.add_row(["words", "384", "English, Chinese; others by spelling", "built in"]);
    table.add_row(["hash", "384", "any, by spelling only", "built in"]);
    print_line!("{table}");
    if found.is_none() {
        print_line!("\n{MODEL_HINT}");
    }
    Ok(())
}

async fn check(choice: &EmbedderArgs) -> Result<()> {
    let path = match &choice.embedder {
        EmbedderChoice::At(path) => path.clone(),
        EmbedderChoice::Words | EmbedderChoice::Hash => {
            bail!("the hash embedder is built in; there is nothing to check")
        }
        EmbedderChoice::Remote(_) => bail!("only local models can be checked, and --embedder names a service"),
        EmbedderChoice::Auto | EmbedderChoice::E5 => choice.models.require_model()?,
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
