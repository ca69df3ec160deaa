//! `memory synonyms`.

mod suggest;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use memory_engine::{
    MemoryEngine, Scope,
    synonyms::{SEED, SynonymGroup, SynonymStoreExt, groups_from_toml},
};
use serde_json::json;
use suggest::Suggest;

use crate::{args::StoreArgs, embedder::EmbedderArgs, engine_options::EngineOptions, output, target_args::TargetArgs};

/// Manage synonyms: words with the same meaning.
///
/// A group contains words with the same meaning. A query with one of them finds all of them. Groups belong to the
/// tenant and apply to all its users, or with --user to one user.
#[derive(Debug, Args)]
pub(crate) struct SynonymsCommand {
    #[command(subcommand)]
    action: SynonymsAction,
}

#[derive(Debug, Subcommand)]
enum SynonymsAction {
    /// List the groups of the tenant, and with --user also those of this user
    List(TargetArgs),
    /// Add words to a group, which is created if it does not exist
    Add {
        /// Main term of the group
        term: String,
        /// Other words with the same meaning, one per argument
        #[arg(required = true)]
        words: Vec<String>,
        /// Category, such as person; default for a new group: general
        #[arg(long)]
        category: Option<String>,
        #[command(flatten)]
        groups: TargetArgs,
        #[command(flatten)]
        embedder: EmbedderArgs,
    },
    /// Remove groups by their terms
    Remove {
        /// Main terms of the groups
        #[arg(required = true)]
        terms: Vec<String>,
        #[command(flatten)]
        groups: TargetArgs,
    },
    /// Import groups from a TOML file
    ///
    /// Its entries `[[groups]]` have term, members and optionally category.
    Import {
        /// TOML file
        #[arg(conflicts_with = "seed")]
        file: Option<PathBuf>,
        /// Import the ten bundled groups
        #[arg(long)]
        seed: bool,
        #[command(flatten)]
        groups: TargetArgs,
        #[command(flatten)]
        embedder: EmbedderArgs,
    },
    /// Suggest pairs of words from stored texts, with evidence; changes nothing
    Suggest(Suggest),
    /// Accept a suggested pair: the two words become synonyms
    Accept {
        /// First word
        a: String,
        /// Second word
        b: String,
        #[command(flatten)]
        groups: TargetArgs,
    },
    /// Reject a suggested pair for good
    Reject {
        /// First word
        a: String,
        /// Second word
        b: String,
        #[command(flatten)]
        groups: TargetArgs,
    },
}

impl SynonymsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.action {
            SynonymsAction::List(args) => list(&args).await,
            SynonymsAction::Add { term, words, category, groups, embedder } => {
                add(&groups, embedder, term, words, category).await
            }
            SynonymsAction::Remove { terms, groups } => remove(&groups, &terms).await,
            SynonymsAction::Import { file, seed, groups, embedder } => import(&groups, embedder, file, seed).await,
            SynonymsAction::Suggest(suggest) => suggest.run().await,
            SynonymsAction::Accept { a, b, groups } => {
                let engine = groups.open().await?;
                let group = engine.settings().synonyms().store().accept(&owner(&groups)?, &a, &b).await?;
                groups.report.print(&group, || format!("synonyms from now on: {}", joined_words(&group)))
            }
            SynonymsAction::Reject { a, b, groups } => {
                let engine = groups.open().await?;
                engine.settings().synonyms().store().reject(&owner(&groups)?, &a, &b).await?;
                let text = format!("'{a}' and '{b}' will not be suggested again");
                groups.report.print(&json!({ "rejected": [a, b] }), || text)
            }
        }
    }
}

/// Returns the owner of the groups: the tenant, or one user.
fn owner(args: &TargetArgs) -> Result<Scope> {
    Ok(args.scope.scope()?.namespace())
}

fn joined_words(group: &SynonymGroup) -> String {
    group.words().collect::<Vec<_>>().join(", ")
}

async fn list(args: &TargetArgs) -> Result<ExitCode> {
    let scope = owner(args)?;
    let engine = args.open().await?;
    let mut groups = owned_groups(&engine, &Scope::tenant_wide(scope.tenant())?, None).await?;
    if let Some(user) = scope.user_name() {
        groups.extend(owned_groups(&engine, &scope, Some(user)).await?);
    }
    let lines = groups.iter().map(|(user, group)| {
        let mut line = serde_json::to_value(group)?;
        line["user"] = json!(user);
        Ok(line)
    });
    let lines = lines.collect::<Result<Vec<_>>>()?;
    args.report.print(&lines, || {
        if groups.is_empty() {
            return format!(
                "no synonyms within {scope}; add some with `memory synonyms add TERM WORD` or \
                 `memory synonyms import --seed`"
            );
        }
        let mut table = output::table(["term", "other words", "category", "owner"]);
        for (user, group) in groups {
            let owner = user.unwrap_or_else(|| "the tenant".to_owned());
            table.add_row([group.term, group.members.join(", "), group.category, owner]);
        }
        table.to_string()
    })
}

/// Returns the groups of a scope with their user; the tenant's have none.
async fn owned_groups(
    engine: &MemoryEngine,
    scope: &Scope,
    user: Option<&str>,
) -> Result<Vec<(Option<String>, SynonymGroup)>> {
    let groups = engine.settings().synonyms().store().list(scope).await?;
    Ok(groups.into_iter().map(|group| (user.map(str::to_owned), group)).collect())
}

async fn add(
    args: &TargetArgs,
    embedder: EmbedderArgs,
    term: String,
    words: Vec<String>,
    category: Option<String>,
) -> Result<ExitCode> {
    let scope = owner(args)?;
    let mut group = SynonymGroup::new(term, Vec::<String>::new());
    // Validated before a database is created.
    SynonymGroup::new(&group.term, &words).with_category(category.as_deref().unwrap_or("general")).validate()?;
    let engine =
        StoreArgs::new(args.database.clone(), embedder).create_without_indexes(EngineOptions::default()).await?;
    let store = engine.settings().synonyms().store();
    if let Some(known) = store.list(&scope).await?.into_iter().find(|known| known.key() == group.key()) {
        group = known;
    }
    group.members.extend(words);
    // Removes words that differ only in spelling.
    group.members = group.words().skip(1).map(str::to_owned).collect();
    if let Some(category) = category {
        group.category = category;
    }
    store.put(&scope, std::slice::from_ref(&group)).await?;
    args.report.print(&group, || format!("synonyms from now on: {}", joined_words(&group)))
}

async fn remove(args: &TargetArgs, terms: &[String]) -> Result<ExitCode> {
    let scope = owner(args)?;
    let engine = args.open().await?;
    let store = engine.settings().synonyms().store();
    let known: Vec<String> = store.list(&scope).await?.iter().map(SynonymGroup::key).collect();
    let unknown: Vec<&str> = terms
        .iter()
        .map(String::as_str)
        .filter(|term| !known.contains(&SynonymGroup::new(*term, Vec::<String>::new()).key()))
        .collect();
    if !unknown.is_empty() {
        bail!(
            "{scope} has no group with the term {}; nothing was removed; `memory synonyms list` shows the terms",
            unknown.join(", ")
        );
    }
    let removed = store.remove(&scope, terms).await?;
    args.report.print(&json!({ "removed": removed }), || {
        format!("{} removed", output::counted(removed as u64, "group", "groups"))
    })
}

async fn import(args: &TargetArgs, embedder: EmbedderArgs, file: Option<PathBuf>, seed: bool) -> Result<ExitCode> {
    let scope = owner(args)?;
    let groups = match file {
        None if seed => groups_from_toml(SEED)?,
        None => bail!("no groups given; name a TOML file, or add --seed for the bundled groups"),
        Some(path) => {
            let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            groups_from_toml(&text).with_context(|| path.display().to_string())?
        }
    };
    let engine =
        StoreArgs::new(args.database.clone(), embedder).create_without_indexes(EngineOptions::default()).await?;
    engine.settings().synonyms().store().put(&scope, &groups).await?;
    let count = groups.len();
    args.report.print(&json!({ "imported": count }), || {
        format!(
            "{} imported; each replaces the group with the same term",
            output::counted(count as u64, "group", "groups")
        )
    })
}
