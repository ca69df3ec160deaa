//! `memory show`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::RecordId;

use crate::args::{ScopeArgs, StoreArgs};

/// Show a record with everything that is stored of it, as JSON.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The record's id, as `search --explain` and `export` give it; or, with --user, the id it had in an imported file
    id: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Show {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let id = match scope.user_name() {
            Some(_) => RecordId::named(&scope, &self.id),
            None => self.id.parse()?,
        };
        let engine = self.store.open().await?;
        let Some(record) = engine.get(&scope, id).await? else {
            bail!("there is no record {} within {scope}", self.id);
        };
        say!("{}", serde_json::to_string_pretty(&record)?);
        Ok(ExitCode::SUCCESS)
    }
}
