//! `memory restore-backup`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Args;
use memory_engine::transfer;

use crate::{
    database::{self, DatabaseArg},
    output,
};

/// Create a store from a backup.
///
/// The backup is checked first: a file that is damaged, or was changed since, is refused. The store must be new: a file
/// that does not exist, or a Postgres database without data. Either everything is restored, or nothing. Use `memory
/// merge` to add the data of a backup to a store.
#[derive(Debug, Args)]
pub(crate) struct RestoreBackupCommand {
    /// Backup to read
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Database to create
    ///
    /// A SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or `postgres` for the address in the variable
    /// DATABASE_URL (from the environment or .env).
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE|URL")]
    db: DatabaseArg,
    /// Only check the backup; write nothing
    #[arg(long)]
    check: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl RestoreBackupCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let file = database::file_argument(&self.file)?;
        let database = self.db.database()?;
        let bar = output::progress(0, "restoring {wide_bar} {percent}% {eta}");
        let progress = bar.clone();
        let on_progress = move |done, total| {
            progress.set_length(total);
            progress.set_position(done);
        };
        let result = if self.check {
            transfer::check_backup(&file).await
        } else {
            transfer::restore_backup(&file, &database, on_progress).await
        };
        bar.finish_and_clear();
        let report = result.with_context(|| match self.check {
            true => "the check of the backup failed".to_owned(),
            false => format!("nothing was restored into {database}"),
        })?;
        if self.json {
            print_line!("{}", serde_json::to_string(&report)?);
            return Ok(ExitCode::SUCCESS);
        }
        let records = output::counted(report.records, "record", "records");
        let tombstones = output::counted(report.tombstones, "tombstone", "tombstones");
        let made = format!("made {} by memory-engine {}", report.created_at, report.engine);
        if self.check {
            print_line!("{} is intact: {records} and {tombstones}, {made}", self.file.display());
        } else {
            print_line!("{records} and {tombstones} restored from {} into {database} ({made})", self.file.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}
