//! `memory synonyms`.

mod suggest;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use memory_engine::{
    MemoryEngine, Scope, SynonymGroup, SynonymStoreExt,
    synonyms::{SEED, groups_from_toml},
};
use suggest::Suggest;

use crate::{
    args::{ScopeArgs, StoreArgs},
    output,
};

/// See and change which words mean the same: what is asked for by one of them is found by all.
///
/// Groups belong to the tenant, where all its users go by them, or with --user to one user.
#[derive(Debug, Args)]
pub(crate) struct Synonyms {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the groups that apply: the tenant's, and with --user that user's too
    List(Owner),
    /// Add words to a group; a new group, when there is none of that term
    Add {
        /// The word that the group goes by
        term: String,
        /// The other words for it, each an argument of its own
        #[arg(required = true)]
        words: Vec<String>,
        /// What sort of thing it is, such as person; `general` for a new group that is told nothing
        #[arg(long)]
        category: Option<String>,
        #[command(flatten)]
        owner: Owner,
    },
    /// Remove groups by their terms
    Remove {
        /// The terms that the groups go by
        #[arg(required = true)]
        terms: Vec<String>,
        #[command(flatten)]
        owner: Owner,
    },
    /// Take in groups from a TOML file: `[[groups]]` with term, members and perhaps category
    Import {
        /// The file
        #[arg(conflicts_with = "seed")]
        file: Option<PathBuf>,
        /// The ten groups that come with the program
        #[arg(long)]
        seed: bool,
        #[command(flatten)]
        owner: Owner,
    },
    /// Propose pairs of words from what is stored, with the evidence; nothing is changed
    Suggest(Suggest),
    /// Take a suggested pair on: the two words become synonyms
    Accept {
        /// One word
        a: String,
        /// The other
        b: String,
        #[command(flatten)]
        owner: Owner,
    },
    /// Turn a suggested pair down, for good
    Reject {
        /// One word
        a: String,
        /// The other
        b: String,
        #[command(flatten)]
        owner: Owner,
    },
}

/// Where the groups are, and whose they are.
#[derive(Debug, Args)]
struct Owner {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

impl Owner {
    fn scope(&self) -> Result<Scope> {
        Ok(self.scope.scope()?.namespace())
    }

    fn tell(&self, json: &serde_json::Value, text: &str) -> Result<()> {
        match self.json {
            true => say!("{}", serde_json::to_string_pretty(json)?),
            false => say!("{text}"),
        }
        Ok(())
    }
}

impl Synonyms {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.what {
            What::List(owner) => list(&owner).await?,
            What::Add { term, words, category, owner } => add(&owner, term, words, category).await?,
            What::Remove { terms, owner } => remove(&owner, &terms).await?,
            What::Import { file, seed, owner } => import(&owner, file, seed).await?,
            What::Suggest(suggest) => suggest.run().await?,
            What::Accept { a, b, owner } => {
                let engine = owner.store.open_as_it_is().await?;
                let group = engine.synonyms().store().accept(&owner.scope()?, &a, &b).await?;
                owner.tell(&serde_json::to_value(&group)?, &format!("synonyms from now on: {}", in_words(&group)))?;
            }
            What::Reject { a, b, owner } => {
                let engine = owner.store.open_as_it_is().await?;
                engine.synonyms().store().reject(&owner.scope()?, &a, &b).await?;
                let text = format!("'{a}' and '{b}' will not be suggested again");
                owner.tell(&serde_json::json!({ "rejected": [a, b] }), &text)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn in_words(group: &SynonymGroup) -> String {
    group.words().collect::<Vec<_>>().join(", ")
}

async fn list(owner: &Owner) -> Result<()> {
    let (scope, engine) = (owner.scope()?, owner.store.open_as_it_is().await?);
    let tenant = Scope::tenant_wide(scope.tenant())?;
    let mut groups = of(&engine, &tenant, "the tenant").await?;
    if let Some(user) = scope.user_name() {
        groups.extend(of(&engine, &scope, user).await?);
    }
    if owner.json {
        let line = |(whose, group): &(String, SynonymGroup)| {
            let mut line = serde_json::to_value(group)?;
            line["user"] = if whose == "the tenant" { serde_json::Value::Null } else { whose.as_str().into() };
            Ok(line)
        };
        let all = groups.iter().map(line).collect::<Result<Vec<_>, serde_json::Error>>()?;
        say!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    if groups.is_empty() {
        say!(
            "no synonyms within {scope}; `memory synonyms add TERM WORD` or `memory synonyms import --seed` makes some"
        );
        return Ok(());
    }
    let mut table = output::table(["term", "other words", "category", "whose"]);
    for (whose, group) in groups {
        table.add_row([group.term, group.members.join(", "), group.category, whose]);
    }
    say!("{table}");
    Ok(())
}

async fn of(engine: &MemoryEngine, scope: &Scope, whose: &str) -> Result<Vec<(String, SynonymGroup)>> {
    let groups = engine.synonyms().store().list(scope).await?;
    Ok(groups.into_iter().map(|group| (whose.to_owned(), group)).collect())
}

async fn add(owner: &Owner, term: String, words: Vec<String>, category: Option<String>) -> Result<()> {
    let scope = owner.scope()?;
    let mut group = SynonymGroup::new(term, Vec::<String>::new());
    // Before a database is made for words that none would keep.
    SynonymGroup::new(&group.term, &words).with_category(category.as_deref().unwrap_or("general")).validate()?;
    let engine = owner.store.create_as_it_is().await?;
    let store = engine.synonyms().store();
    if let Some(known) = store.list(&scope).await?.into_iter().find(|known| known.key() == group.key()) {
        group = known;
    }
    group.members.extend(words);
    // Each word once, however it is spelled.
    group.members = group.words().skip(1).map(str::to_owned).collect();
    if let Some(category) = category {
        group.category = category;
    }
    store.put(&scope, std::slice::from_ref(&group)).await?;
    owner.tell(&serde_json::to_value(&group)?, &format!("synonyms from now on: {}", in_words(&group)))
}

async fn remove(owner: &Owner, terms: &[String]) -> Result<()> {
    let (scope, engine) = (owner.scope()?, owner.store.open_as_it_is().await?);
    let store = engine.synonyms().store();
    let known: Vec<String> = store.list(&scope).await?.iter().map(SynonymGroup::key).collect();
    let unknown: Vec<&str> = terms
        .iter()
        .map(String::as_str)
        .filter(|term| !known.contains(&SynonymGroup::new(*term, Vec::<String>::new()).key()))
        .collect();
    if !unknown.is_empty() {
        bail!(
            "no group within {scope} goes by {}; nothing was removed. `memory synonyms list` shows the terms",
            unknown.join(", ")
        );
    }
    let gone = store.remove(&scope, terms).await?;
    owner.tell(&serde_json::json!({ "removed": gone }), &format!("{gone} removed"))
}

async fn import(owner: &Owner, file: Option<PathBuf>, seed: bool) -> Result<()> {
    let scope = owner.scope()?;
    let groups = match file {
        None if seed => groups_from_toml(SEED)?,
        None => bail!("which groups? Name a TOML file, or take the built-in ones with --seed"),
        Some(path) => {
            let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            groups_from_toml(&text).with_context(|| path.display().to_string())?
        }
    };
    let engine = owner.store.create_as_it_is().await?;
    engine.synonyms().store().put(&scope, &groups).await?;
    let text = format!("{} groups taken in, each in place of the one that went by its term", groups.len());
    owner.tell(&serde_json::json!({ "imported": groups.len() }), &text)
}
