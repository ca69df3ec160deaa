//! `memory retract`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Retraction, Scope};

use crate::{
    args::{self, ScopeArgs, StoreArgs},
    output,
    work::WorkArgs,
};

/// Take back records that are wrong, with everything that was made from them; `restore` brings them back.
///
/// They stay stored and are no longer recalled. To be rid of them for ever, `forget` them.
#[derive(Debug, Args)]
pub(crate) struct Retract {
    /// The records' ids, or the ids they had in an imported file
    #[arg(required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Why; it is kept with the retraction
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

impl Retract {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.address()?;
        let engine = self.store.open_with(self.work.work()?).await?;
        let (mut ids, mut unknown) = (Vec::new(), Vec::new());
        for name in &self.ids {
            let found = args::named(&engine, &scope, name).await?;
            if found.is_empty() {
                unknown.push(name.as_str());
            }
            ids.extend(found.iter().map(|record| record.id));
        }
        if !unknown.is_empty() {
            bail!("{} not within {scope}; nothing was taken back", unknown.join(", "));
        }
        let retraction = engine.retract(&scope, &ids, &self.reason).await?;
        if retraction.records.is_empty() {
            bail!("{} was taken back before; `memory retractions` lists what can be restored", self.ids.join(", "));
        }
        output::settle(&engine, &scope.namespace()).await?;
        tell(&retraction, &scope, self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Tells what was taken back, and how to have it again.
pub(super) fn tell(retraction: &Retraction, scope: &Scope, json: bool) -> Result<()> {
    if json {
        say!("{}", serde_json::to_string_pretty(retraction)?);
        return Ok(());
    }
    let user = scope.user_name().unwrap_or_default();
    say!("{} records taken back", retraction.records.len());
    say!("`memory restore {} --user {user}` brings them back", retraction.id);
    Ok(())
}
