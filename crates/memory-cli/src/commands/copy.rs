//! `memory copy`.

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::{
    Database, Scope,
    transfer::{Copier, CopyReport},
};

use crate::{
    args::{self, StoreArgs},
    database::{self, DatabaseArg},
    embedder::EmbedderArgs,
    namespace_args::NamespaceArgs,
    output,
};

/// Copy a store to another database, of the same or another kind.
///
/// Can be repeated and resumed. By default every tenant and user is copied: records in every state, tombstones,
/// synonyms, and decisions about
/// suggested synonyms. Existing records are left as they are. The target builds its indexes with its own embedder, and
/// the command waits for that. Revisions start at 1.
#[derive(Debug, Args)]
pub(crate) struct CopyCommand {
    /// Database to read: a file, or the address of a Postgres database
    ///
    /// A SQLite file, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or `postgres` for the address in the variable
    /// DATABASE_URL.
    #[arg(long, value_name = "FILE|URL")]
    from: DatabaseArg,
    /// Database to write, in the same notation
    ///
    /// It is created if it does not exist.
    #[arg(long, value_name = "FILE|URL")]
    to: DatabaseArg,
    #[command(flatten)]
    embedder: EmbedderArgs,
    #[command(flatten)]
    namespaces: NamespaceArgs,
    /// Replace records of the target that differ
    #[arg(long)]
    update: bool,
    /// Print the report as JSON, with a line after every commit
    #[arg(long)]
    json: bool,
}

impl CopyCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let from = self.from.database()?;
        let to = self.to.database()?;
        if is_same_store(&from, &to) {
            bail!("{from} cannot be copied onto itself; name another store with --to");
        }
        database::require_database(&from).await?;
        let scopes = self.namespaces.namespaces(&from).await?;
        let source = args::open_database_without_indexes(&from).await?;
        let target = StoreArgs::new(self.to.clone(), self.embedder.clone()).create().await?;

        let tenants: BTreeSet<&str> = scopes.iter().map(Scope::tenant).collect();
        let mut total = 0;
        for tenant in &tenants {
            let scope = self.namespaces.scope_within(tenant)?;
            let stats = source.stats(&scope).await?;
            total += stats.records + stats.tombstones;
        }
        let bar = output::progress(total, "copying {wide_bar} {pos}/{len} records {per_sec} {eta}");
        let mut copier = Copier::new(&source, &target).update(self.update).on_commit(|report| {
            bar.set_position(report.seen());
            if self.json {
                output::print_json_line(&serde_json::json!({ "committed": report.seen() }));
            }
        });
        let mut result = Ok(());
        for scope in &scopes {
            // Before the first record: an interrupted copy is an export as well.
            source.audit().log_export(scope, "memory copy").await?;
            result = copier.copy(scope).await;
            if result.is_err() {
                break;
            }
        }
        let mut report = copier.into_report();
        bar.finish_and_clear();
        result.context("the copy is incomplete; run the same command again to continue")?;
        for tenant in &tenants {
            report.waiting += output::finish_indexing(&target, &self.namespaces.scope_within(tenant)?).await?;
        }
        self.print_report(&from, &to, &report)?;
        Ok(if report.refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn print_report(&self, from: &Database, to: &Database, report: &CopyReport) -> Result<()> {
        for error in &report.errors {
            report_line!("{error}");
        }
        if self.json {
            print_line!("{}", serde_json::to_string(report)?);
            return Ok(());
        }
        let records = output::counted(report.added, "record", "records");
        let tombstones = output::counted(report.tombstones, "tombstone", "tombstones");
        print_line!("{records} and {tombstones} copied from {from} to {to}");
        let rows = [
            (report.updated, "record replaced", "records replaced"),
            (report.unchanged, "record was stored already", "records were stored already"),
            (
                report.different,
                "of these differs in the target, which was not changed (--update replaces it)",
                "of these differ in the target, which was not changed (--update replaces them)",
            ),
            (
                report.forgotten,
                "record was forgotten in the target earlier and is not copied",
                "records were forgotten in the target earlier and are not copied",
            ),
            (report.refused, "record refused, see above", "records refused, see above"),
            (
                report.tombstones_there,
                "tombstone was stored already, or is for a record that the target has in another scope",
                "tombstones were stored already, or are for records that the target has in another scope",
            ),
            (report.synonyms, "group of synonyms copied", "groups of synonyms copied"),
            (
                report.synonyms_different,
                "group of synonyms differs in the target, which was not changed (--update replaces it)",
                "groups of synonyms differ in the target, which was not changed (--update replaces them)",
            ),
            (report.verdicts, "decision about suggested synonyms copied", "decisions about suggested synonyms copied"),
        ];
        for (count, singular, plural) in rows.into_iter().filter(|(count, ..)| *count > 0) {
            print_line!("{}", output::counted(count, singular, plural));
        }
        Ok(())
    }
}

/// Returns true if both are the same store, as far as the addresses show.
pub(crate) fn is_same_store(from: &Database, to: &Database) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    match (from.path(), to.path()) {
        (Some(from), Some(to)) => from == to || (canonical(from).is_some() && canonical(from) == canonical(to)),
        _ => from == to,
    }
}
