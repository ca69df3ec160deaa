//! `memory backup`.

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::{Database, Scope, admin, transfer};

use crate::{
    args::{self, DatabaseArgs},
    database, output,
};

/// Write everything in a store into one file, while the store is in use.
///
/// The file contains records in every state with their revisions, tombstones, synonyms, ledgers, the audit log, the
/// queue and the indexes, and no bytes of deleted records. It gets its name only when it is complete and was checked.
/// A backup of a Postgres database has the same form, a SQLite file, and can be restored into either.
#[derive(Debug, Args)]
pub(crate) struct BackupCommand {
    /// File to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Replace the file if it exists
    #[arg(long, short)]
    force: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl BackupCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let database = self.database.database()?;
        database::require_database(&database).await?;
        if self.file.exists() && !self.force {
            bail!("{} exists already; choose another name, or replace it with --force", self.file.display());
        }
        let file = database::file_argument(&self.file)?;
        log_export(&database).await.with_context(|| database.to_string())?;
        let bar = output::progress(0, "copying {wide_bar} {percent}% {eta}");
        let progress = bar.clone();
        let backup = transfer::backup(&database, &file, self.force, move |done, total| {
            progress.set_length(total);
            progress.set_position(done);
        });
        let result = backup.await;
        bar.finish_and_clear();
        let report = result.with_context(|| format!("no backup of {database} was written"))?;
        if self.json {
            print_line!("{}", serde_json::to_string(&report)?);
            return Ok(ExitCode::SUCCESS);
        }
        let records = output::counted(report.records, "record", "records");
        let tombstones = output::counted(report.tombstones, "tombstone", "tombstones");
        print_line!("{records} and {tombstones} of {database} are in {} ({} bytes)", self.file.display(), report.bytes);
        Ok(ExitCode::SUCCESS)
    }
}

/// Logs the export of each tenant, if the store has an audit log. A store of an earlier schema has none, and is not
/// migrated by its backup.
async fn log_export(database: &Database) -> Result<()> {
    if !admin::migrations(database).await?.pending.is_empty() {
        return Ok(());
    }
    let namespaces = admin::namespaces(database).await?;
    let engine = args::open_database_without_indexes(database).await?;
    for tenant in namespaces.iter().map(Scope::tenant).collect::<BTreeSet<_>>() {
        engine.audit().log_export(&Scope::tenant_wide(tenant)?, "memory backup").await?;
    }
    engine.close().await?;
    Ok(())
}
