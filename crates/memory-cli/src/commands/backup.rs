//! `memory backup`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::transfer;

use crate::{
    database::{self, DatabaseArg},
    output,
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
    /// Database to back up: a SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or `postgres` for the address in
    /// the variable DATABASE_URL (from the environment or .env)
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE|URL")]
    db: DatabaseArg,
    /// Replace the file if it exists
    #[arg(long, short)]
    force: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl BackupCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let database = self.db.database()?;
        database::require_database(&database).await?;
        if self.file.exists() && !self.force {
            bail!("{} exists already; choose another name, or replace it with --force", self.file.display());
        }
        let file = database::file_argument(&self.file)?;
        let bar = output::progress(0, "copying {wide_bar} {pos}/{len} {eta}");
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
