//! `memory scan-secrets`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use memory_engine::{
    MemoryEngine,
    screening::{Category, SecretReport},
};
use serde_json::json;

use crate::{output, target_args::StoreTargetArgs};

/// Find secrets in stored records, and mask them.
///
/// Lists records with keys, passwords, private keys and connection strings by rule, never their values. With --redact,
/// the values are replaced by `[redacted: RULE]` in the records and in all indexes. Records that were derived from a
/// changed text are removed, and derived again if --digest or --graph is set.
#[derive(Debug, Args)]
pub(crate) struct ScanSecretsCommand {
    /// Category to look for; repeatable
    ///
    /// key, password, private_key, connection_string, card, bank_account, identity, email or phone. Default: those that
    /// --screening masks or refuses.
    #[arg(long, value_name = "CATEGORY")]
    category: Vec<Category>,
    /// Mask the findings in the stored records. This cannot be undone
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    target: StoreTargetArgs,
}

impl ScanSecretsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.scope()?;
        let engine = match self.redact {
            true => self.target.store.open_with(self.target.enrichment.engine_options()?).await?,
            false => self.target.store.database.open_without_indexes().await?,
        };
        let report = self.scan(&engine).await?;
        if self.redact {
            output::finish_indexing(&engine, &scope).await?;
        }
        self.target.report.print_line(&report, || text_of(&report))
    }

    async fn scan(&self, engine: &MemoryEngine) -> Result<SecretReport> {
        let scope = self.target.scope.scope()?;
        let total = engine.stats(&scope).await?.records;
        let bar = output::progress(total, "scanning {wide_bar} {pos}/{len} records {eta}");
        let mut scan = engine.screening().scan(&scope).redact(self.redact);
        let categories = match self.category.is_empty() {
            true => self.target.enrichment.screening.policy()?.screened_categories(),
            false => self.category.clone(),
        };
        // With the screening off, the scan looks for credentials.
        if !categories.is_empty() {
            scan = scan.categories(categories);
        }
        let is_json = self.target.report.json;
        let scan = scan.on_progress({
            let bar = bar.clone();
            move |report| {
                bar.set_position(report.scanned);
                if is_json {
                    output::print_json_line(&json!({ "done": report.scanned, "total": total }));
                }
            }
        });
        let report = scan.run().await?;
        bar.finish_and_clear();
        Ok(report)
    }
}

fn text_of(report: &SecretReport) -> String {
    let scanned = output::counted(report.scanned, "record", "records");
    let found = output::counted(report.found, "record", "records");
    let end = match (report.found, report.redacted) {
        (0, _) => return format!("{scanned} scanned; no secrets found"),
        (_, 0) => "; `--redact` masks the findings".to_owned(),
        (_, redacted) => format!("; {} redacted", output::counted(redacted, "record", "records")),
    };
    let mut rules = output::table(["rule", "findings"]);
    for (rule, count) in &report.rules {
        rules.add_row([rule.to_string(), count.to_string()]);
    }
    let mut records = output::table(["record", "kind", "fields", "rules"]);
    for record in &report.records {
        let fields: Vec<&str> = record.fields.iter().map(|field| field.as_str()).collect();
        let counts: Vec<String> = record.rules.iter().map(|(rule, count)| format!("{rule} ({count})")).collect();
        records.add_row([record.id.to_string(), record.kind.to_string(), fields.join(", "), counts.join(", ")]);
    }
    let listed = report.records.len() as u64;
    let rest = if listed < report.found { format!("\n… and {} more", report.found - listed) } else { String::new() };
    format!("{scanned} scanned; secrets in {found}{end}\n\n{rules}\n\n{records}{rest}")
}
