//! `memory forget`.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::Forget as What;

use crate::args::{self, ScopeArgs, StoreArgs};

/// Forget records, by id or by scope; they do not come back.
#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The records' ids, or the ids they had in an imported file; without any, everything within the scope is forgotten
    ids: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

impl Forget {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        if self.ids.is_empty() && scope.user_name().is_none() {
            bail!("what is to be forgotten? Name records by id, or a user with --user");
        }
        let engine = self.store.open().await?;
        let (mut ids, mut unknown) = (Vec::new(), Vec::new());
        for name in &self.ids {
            let found = args::named(&engine, &scope, name).await?;
            if found.is_empty() {
                unknown.push(name.as_str());
            }
            ids.extend(found.iter().map(|record| record.id));
        }
        if !unknown.is_empty() {
            bail!("{} not within {scope}; nothing was forgotten", unknown.join(", "));
        }
        let whole = self.ids.is_empty();
        let question = match whole {
            true => format!("forget all {} records within {scope}?", engine.stats(&scope).await?.records),
            false => format!("forget {} within {scope}?", self.ids.join(", ")),
        };
        if !self.yes && !confirm(&question)? {
            bail!("nothing was forgotten");
        }
        let count = engine.forget(&scope, if whole { What::Everything } else { What::Ids(ids) }).await?;
        if self.json {
            say!("{}", serde_json::json!({ "forgotten": count }));
        } else {
            say!("{count} forgotten");
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn confirm(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("{question} Nobody is there to confirm it; add --yes");
    }
    print!("{question} [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
