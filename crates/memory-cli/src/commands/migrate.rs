//! `memory migrate`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use memory_engine::{
    Database,
    admin::{self, ViewSet},
};

use crate::{args::DatabaseArgs, output, report::ReportArgs};

/// Migrate a database up to this version, or down, and install views for SQL.
///
/// Every command that opens a database migrates it up. `up` does only that, and can set the number of partitions of a
/// new Postgres database.
#[derive(Debug, Args)]
pub(crate) struct MigrateCommand {
    #[command(subcommand)]
    action: MigrateAction,
}

#[derive(Debug, Args)]
struct TargetArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    report: ReportArgs,
}

#[derive(Debug, Subcommand)]
enum MigrateAction {
    /// Migrate to the schema of this version
    Up {
        #[command(flatten)]
        at: TargetArgs,
        /// Partitions of each table of a new Postgres database
        #[arg(long, default_value_t = 0, value_name = "NUMBER")]
        partitions: u32,
    },
    /// Migrate down to an earlier schema; the data of later schemas is deleted
    Down {
        #[command(flatten)]
        at: TargetArgs,
        /// Target schema; default: the previous one
        ///
        /// 0 removes all tables and data.
        #[arg(long, value_name = "SCHEMA")]
        to: Option<u32>,
        /// Confirm that the data of later schemas is deleted
        #[arg(long, short)]
        yes: bool,
    },
    /// Install a set of views for programs that read the database by SQL
    ///
    /// companion: conversations, key_moments, user_profiles, affection_logs.
    /// story: memory_items, memory_embeddings, memory_entities, memory_edges.
    /// document (Postgres): conversations, summaries, synonym_map.
    /// evidence (Postgres): memory_events and the functions that search it.
    #[command(verbatim_doc_comment)]
    Views {
        #[command(flatten)]
        at: TargetArgs,
        /// companion, story, document or evidence
        set: ViewSet,
        /// Remove the set instead
        #[arg(long)]
        remove: bool,
    },
    /// List applied and pending migrations, and the installed views; change nothing
    Status {
        #[command(flatten)]
        at: TargetArgs,
    },
}

impl MigrateCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.action {
            MigrateAction::Up { at, partitions } => {
                let db = at.database.database()?;
                let before = admin::migrate_up(&db, partitions).await.with_context(|| db.to_string())?;
                print(&db, Some(before), at.report).await
            }
            MigrateAction::Down { at, to, yes } => {
                let db = at.database.database()?;
                let status = admin::migrations(&db).await.with_context(|| db.to_string())?;
                let to = to.unwrap_or(status.schema.saturating_sub(1));
                if status.schema == 0 {
                    bail!("{db}: nothing to migrate down; its schema is 0");
                }
                if !yes {
                    let lost =
                        if to == 0 { "everything".to_owned() } else { format!("the data of schemas after {to}") };
                    bail!(
                        "migrating down from schema {} to {to} deletes {lost} in {db}; add --yes to confirm",
                        status.schema
                    );
                }
                admin::migrate_down(&db, to).await.with_context(|| db.to_string())?;
                print(&db, Some(status.schema), at.report).await
            }
            MigrateAction::Views { at, set, remove } => {
                let db = at.database.database()?;
                let changed =
                    if remove { admin::remove_views(&db, set).await } else { admin::install_views(&db, set).await };
                changed.with_context(|| db.to_string())?;
                print(&db, None, at.report).await
            }
            MigrateAction::Status { at } => print(&at.database.database()?, None, at.report).await,
        }
    }
}

async fn print(db: &Database, before: Option<u32>, report: ReportArgs) -> Result<ExitCode> {
    let status = admin::migrations(db).await.with_context(|| db.to_string())?;
    let mut data = serde_json::to_value(&status)?;
    if let Some(before) = before {
        data["before"] = before.into();
    }
    report.print(&data, || {
        let schema = match before {
            Some(before) if before != status.schema => format!("from schema {before} to schema {}", status.schema),
            Some(_) | None => format!("schema {}", status.schema),
        };
        let mut table = output::table(["migration", "state"]);
        let applied = status.applied.iter().map(|name| (name, "applied"));
        for (name, state) in applied.chain(status.pending.iter().map(|name| (name, "pending"))) {
            table.add_row([name.as_str(), state]);
        }
        let names: Vec<&str> = status.views.iter().map(|set| set.as_str()).collect();
        let views = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{db}: {schema}\n{table}\ninstalled views: {views}")
    })
}
