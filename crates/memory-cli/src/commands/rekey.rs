//! `memory rekey`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::admin;
use serde_json::json;

use crate::{
    database::{self, DatabaseArg},
    database_key::{self, NEW_KEY},
    report::ReportArgs,
    settings::Settings,
};

/// Encrypt a SQLite file, change its key, or decrypt it.
///
/// A key is 64 hexadecimal digits; `openssl rand -hex 32` prints one. The present key of an encrypted file is read from
/// MEMORY_DATABASE_KEY, or from the file that MEMORY_DATABASE_KEY_FILE names, as in every command. The new key is read
/// from MEMORY_DATABASE_NEW_KEY, or from a file. No other process may have the database open. It is changed in place,
/// in one transaction, which needs free space for two copies of it. Needs a `memory` with the feature `encryption`.
#[derive(Debug, Args)]
pub(crate) struct RekeyCommand {
    /// Database: a SQLite file
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE")]
    db: DatabaseArg,
    /// File with the new key
    ///
    /// Default: the variable MEMORY_DATABASE_NEW_KEY, or the file that MEMORY_DATABASE_NEW_KEY_FILE names.
    #[arg(long, value_name = "FILE", conflicts_with = "decrypt")]
    new_key_file: Option<PathBuf>,
    /// Remove the encryption
    #[arg(long)]
    decrypt: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl RekeyCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let db = self.db.database()?;
        let new_key = match &self.new_key_file {
            _ if self.decrypt => None,
            Some(path) => Some(database_key::read(path)?),
            None => {
                let key = database_key::load(&Settings::load()?, NEW_KEY)?;
                if key.is_none() {
                    bail!(
                        "no new key given; name a file with --new-key-file, or set {}; --decrypt removes the \
                         encryption",
                        NEW_KEY.value
                    );
                }
                key
            }
        };
        // A mistyped path must not create a database.
        if db.path().is_some() {
            database::require_database(&db).await?;
        }
        let change = match (db.key().is_some(), new_key.is_some()) {
            (false, _) => "encrypted",
            (true, true) => "encrypted with the new key",
            (true, false) => "decrypted",
        };
        admin::rekey(&db, new_key).await.with_context(|| db.to_string())?;
        let Self { decrypt, report, .. } = self;
        report.print_line(&json!({ "database": db.to_string(), "encrypted": !decrypt }), || {
            let next = if decrypt { "unset MEMORY_DATABASE_KEY" } else { "set MEMORY_DATABASE_KEY to the new key" };
            format!("{db} is {change}; {next}")
        })
    }
}
