//! `memory rewind`.

use std::{num::NonZeroUsize, process::ExitCode};

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::Rewind as How;

use super::retract;
use crate::{
    args::{self, ScopeArgs, StoreArgs},
    output,
    work::WorkArgs,
};

/// Take a conversation back, with everything that was made from it; `restore` brings it back.
#[derive(Debug, Args)]
pub(crate) struct Rewind {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    how: HowArgs,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct HowArgs {
    /// Take back the last so many turns
    #[arg(long, value_name = "N")]
    last: Option<NonZeroUsize>,
    /// Take back whatever comes after this sequence number
    #[arg(long, value_name = "SEQUENCE", allow_negative_numbers = true)]
    to: Option<i64>,
}

impl Rewind {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.conversation()?;
        let how = match (self.how.last, self.how.to) {
            (Some(last), _) => How::Last(last.get()),
            (None, Some(sequence)) => How::To(sequence),
            (None, None) => bail!("how far? --last N turns, or --to SEQUENCE"),
        };
        let engine = self.store.open_with(self.work.work()?).await?;
        let retraction = engine.rewind(&scope, how).await?;
        if retraction.records.is_empty() {
            args::must_be_whole(&engine, &scope).await?;
            bail!("there is nothing to take back at {scope}; --to takes back what has a greater sequence number");
        }
        output::settle(&engine, &scope.namespace()).await?;
        retract::tell(&retraction, &scope, self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}
