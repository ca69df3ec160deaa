//! `memory reindex`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::{
    args::{ScopeArgs, StoreArgs},
    output,
};

/// Make all indexes anew, after a change of embedder or analyzer.
#[derive(Debug, Args)]
pub(crate) struct Reindex {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Only what still waits, as after an embedder that did not work
    #[arg(long)]
    waiting: bool,
}

impl Reindex {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        if self.waiting {
            let engine = self.store.open().await?;
            let count = output::drain(&engine, &scope).await?;
            say!("{count} that waited indexed with {}", engine.embedder().space());
            return Ok(ExitCode::SUCCESS);
        }
        let engine = self.store.open_to_rebuild().await?;
        let count = engine.reindex(&scope).await?;
        output::drain(&engine, &scope).await?;
        say!("{count} records indexed anew with {}", engine.embedder().space());
        Ok(ExitCode::SUCCESS)
    }
}
