//! `memory forget`.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Forget as What, RecordId};

use crate::args::{ScopeArgs, StoreArgs};

/// Forget records, by id or by scope; they do not come back.
#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The records' ids; without any, everything within the scope is forgotten
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
        let name = |id: &String| match scope.user_name() {
            Some(_) => Ok(RecordId::named(&scope, id)),
            None => id.parse(),
        };
        let ids: Vec<RecordId> = self.ids.iter().map(name).collect::<memory_engine::Result<_>>()?;
        let engine = self.store.open().await?;
        let whole = ids.is_empty();
        let question = match whole {
            true => format!("forget all {} records within {scope}?", engine.stats(&scope).await?.records),
            false => format!("forget {} within {scope}?", self.ids.join(", ")),
        };
        if !self.yes && !confirm(&question)? {
            bail!("nothing was forgotten");
        }
        let wanted = ids.len() as u64;
        let count = engine.forget(&scope, if whole { What::Everything } else { What::Ids(ids) }).await?;
        if self.json {
            say!("{}", serde_json::json!({ "forgotten": count }));
        } else {
            say!("{count} forgotten");
        }
        if !whole && count < wanted {
            bail!("{} of the ids are not within {scope}", wanted - count);
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
