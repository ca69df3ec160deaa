//! `memory forget`.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{Forget as What, Forgotten};

use crate::{
    args::{self, ScopeArgs, StoreArgs},
    output,
};

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
        let forgotten = engine.forget(&scope, if whole { What::Everything } else { What::Ids(ids) }).await?;
        if self.json {
            let mut report = serde_json::to_value(&forgotten)?;
            report["forgotten"] = forgotten.records().into();
            say!("{report}");
        } else {
            say!("{} forgotten\n{}", forgotten.records(), table(&forgotten));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What was removed where; what was not there is left out.
fn table(forgotten: &Forgotten) -> String {
    let removed = &forgotten.removed;
    let kinds = removed.records.iter().map(|(kind, count)| (format!("records of kind {kind}"), *count));
    let rest = [
        ("  of these, made from others that went", removed.withdrawn),
        ("records in the word index", removed.keywords),
        ("vectors", removed.vectors),
        ("mentions of entities in the graph", removed.mentions),
        ("other names of entities in the graph", removed.aliases),
        ("relations in the graph", removed.relations),
        ("places in the queue", removed.queued),
        ("groups of synonyms and verdicts", forgotten.synonyms),
    ];
    let mut table = output::table(["what was removed", "how many"]);
    let rest = rest.into_iter().map(|(what, count)| (what.to_owned(), count)).filter(|(_, count)| *count > 0);
    for (what, count) in kinds.chain(rest) {
        table.add_row([what, count.to_string()]);
    }
    table.add_row(["tombstones left, which keep it away".to_owned(), removed.tombstones.to_string()]);
    table.to_string()
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
