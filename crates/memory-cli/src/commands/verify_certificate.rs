//! `memory verify-certificate`.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Args;
use memory_engine::certificate::{self, DeletionCertificate, PublicKey};
use serde_json::json;

use crate::{
    certificate::TRACES_REMAIN,
    database::{self, DatabaseArg},
    output,
    report::ReportArgs,
};

/// Verify a deletion certificate, and compare it with a store.
///
/// The signature is verified. The store can also be a copy or a backup.
///
/// The exit code is 0 if every check has passed, and 3 if one has failed. Nothing is changed.
#[derive(Debug, Args)]
pub(crate) struct VerifyCertificateCommand {
    /// Certificate, from `memory forget --certificate`
    file: PathBuf,
    /// Database to search
    ///
    /// Default: only the signature is verified. A SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or
    /// `postgres` for the address in the variable
    /// DATABASE_URL.
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, value_name = "FILE|URL")]
    db: Option<DatabaseArg>,
    /// File with the public key that must have signed the certificate
    ///
    /// Default: the key in the certificate, which anyone can have made.
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

impl VerifyCertificateCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let name = self.file.display().to_string();
        let text = fs::read_to_string(&self.file).with_context(|| format!("{name} cannot be read"))?;
        let certificate = DeletionCertificate::parse(&text).with_context(|| name.clone())?;
        let pinned = self.public_key.as_deref().map(|file| {
            let name = file.display().to_string();
            let text = fs::read_to_string(file).with_context(|| format!("{name} cannot be read"))?;
            PublicKey::from_text(&text).context(name)
        });
        let pinned = pinned.transpose()?;
        let verification = match &self.db {
            Some(db) => {
                let database = db.database()?;
                database::require_database(&database).await?;
                let verified = certificate::verify(&certificate, &database, pinned.as_ref()).await;
                verified.with_context(|| database.to_string())?
            }
            None => certificate::verify_signature(&certificate, pinned.as_ref())?,
        };
        let data = json!({
            "passed": verification.has_passed(),
            "scope": certificate.scope,
            "records": certificate.records.len(),
            "deleted_at": certificate.begun_at,
            "checks": verification.checks,
        });
        self.report.print_line(&data, || {
            let mut table = output::table(["check", "result", "detail"]);
            for check in &verification.checks {
                table.add_row([check.name, if check.passed { "passed" } else { "FAILED" }, &check.detail]);
            }
            let records = output::counted(certificate.records.len() as u64, "record", "records");
            let mut text =
                format!("{records} within {}, deleted at {}\n{table}", certificate.scope, certificate.begun_at);
            if self.db.is_none() {
                text.push_str("\nno store was searched; name one with --db");
            }
            text
        })?;
        Ok(if verification.has_passed() { ExitCode::SUCCESS } else { ExitCode::from(TRACES_REMAIN) })
    }
}
