//! `memory merge`.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::{
    Database, Scope,
    transfer::{Merge, MergeConflict, MergeReason, MergeReport, MergeSide},
};

use crate::{
    args::{self, StoreArgs},
    commands::copy::is_same_store,
    database::{self, DatabaseArg},
    embedder::EmbedderArgs,
    namespace_args::NamespaceArgs,
    output,
};

/// Maximum number of conflicts that are printed. `--json` prints up to 1000.
const MAX_PRINTED_CONFLICTS: usize = 20;

/// Merge another store into a store, after both were changed separately.
///
/// Afterwards the store has what either of them had. What was forgotten in one of them is forgotten, with everything
/// derived from it. Of a record that both have changed, one version is kept and the conflict is listed: an undone
/// retraction and then a retraction that the other store never had go first, then the higher revision. The other store
/// is not changed. The result does not depend on the direction, and a second merge changes nothing.
#[derive(Debug, Args)]
pub(crate) struct MergeCommand {
    /// Database to read: a file, or the address of a Postgres database
    ///
    /// A SQLite file, also a backup, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or `postgres` for the address in the
    /// variable DATABASE_URL.
    #[arg(value_name = "FILE|URL")]
    other: DatabaseArg,
    /// Database to write, which must exist
    ///
    /// In the same notation.
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE|URL")]
    into: DatabaseArg,
    #[command(flatten)]
    embedder: EmbedderArgs,
    #[command(flatten)]
    namespaces: NamespaceArgs,
    /// List what would change; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl MergeCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let other = self.other.database()?;
        let into = self.into.database()?;
        if is_same_store(&other, &into) {
            bail!("{other} cannot be merged into itself; name another store with --into");
        }
        database::require_database(&other).await?;
        database::require_database(&into).await?;
        // A tenant or user that only the target has is not affected.
        let scopes = self.namespaces.namespaces(&other).await?;
        let source = args::open_database_without_indexes(&other).await?;
        let target = match self.dry_run {
            true => args::open_database_without_indexes(&into).await?,
            false => StoreArgs::new(self.into.clone(), self.embedder.clone()).open().await?,
        };
        let bar = output::progress(0, "merging {spinner} {pos} records {per_sec}");
        let mut merge = Merge::new(&source, &target).dry_run(self.dry_run).on_progress(|records| bar.inc(records));
        let mut result = Ok(());
        for scope in &scopes {
            source.audit().log_export(scope, "memory merge").await?;
            result = merge.merge(scope).await;
            if result.is_err() {
                break;
            }
        }
        let report = merge.into_report();
        bar.finish_and_clear();
        result.context("the merge is incomplete; run the same command again to continue")?;
        if !self.dry_run {
            for tenant in scopes.iter().map(Scope::tenant).collect::<BTreeSet<_>>() {
                output::finish_indexing(&target, &self.namespaces.scope_within(tenant)?).await?;
            }
        }
        self.print_report(&other, &into, &report)?;
        Ok(if report.refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn print_report(&self, other: &Database, into: &Database, report: &MergeReport) -> Result<()> {
        for error in &report.errors {
            report_line!("{error}");
        }
        if self.json {
            print_line!("{}", serde_json::to_string(report)?);
            return Ok(());
        }
        for conflict in report.conflicts.iter().take(MAX_PRINTED_CONFLICTS) {
            print_line!("{}", conflict_line(conflict, other, into));
        }
        let hidden = report.conflict_count.saturating_sub(MAX_PRINTED_CONFLICTS as u64);
        if hidden > 0 {
            print_line!("{} more; --json lists them", output::counted(hidden, "conflict", "conflicts"));
        }
        let outcome = if self.dry_run { "would be merged" } else { "merged" };
        let records = output::counted(report.added, "record", "records");
        let tombstones = output::counted(report.tombstones, "tombstone", "tombstones");
        print_line!("{records} and {tombstones} of {other} {outcome} into {into}");
        let rows = [
            (report.replaced, "record replaced by the other version", "records replaced by the other version"),
            (report.kept, "record kept in a conflict", "records kept in conflicts"),
            (report.unchanged, "record is the same in both", "records are the same in both"),
            (report.refused, "record refused, see above", "records refused, see above"),
            (report.synonyms, "group of synonyms merged", "groups of synonyms merged"),
            (report.verdicts, "decision about suggested synonyms merged", "decisions about suggested synonyms merged"),
        ];
        for (count, singular, plural) in rows.into_iter().filter(|(count, ..)| *count > 0) {
            print_line!("{}", output::counted(count, singular, plural));
        }
        for (count, what, store) in [(report.deleted, "deleted", other), (report.forgotten, "not taken", into)] {
            if count > 0 {
                let records = output::counted(count, "record", "records");
                let they = if count == 1 { "it or its source was" } else { "they or their sources were" };
                print_line!("{records} {what}, because {they} forgotten or replaced in {store}");
            }
        }
        Ok(())
    }
}

fn conflict_line(conflict: &MergeConflict, other: &Database, into: &Database) -> String {
    let winner = match conflict.winner {
        MergeSide::Source => other,
        MergeSide::Target | _ => into,
    };
    let reason = match conflict.reason {
        MergeReason::RetractionUndone => "the retraction of the other version was undone",
        MergeReason::Retracted => "it was retracted, and the other store never had that retraction",
        MergeReason::HigherRevision => "it has the higher revision",
        MergeReason::State => "the revisions are equal, and its state comes first",
        MergeReason::Hash | _ => "the revisions are equal, and its hash is greater",
    };
    let MergeConflict { id, scope, kind, differs, .. } = conflict;
    format!(
        "conflict: {kind} {id} at {scope} differs in {}; the version of {winner} wins: {reason}",
        differs.join(", ")
    )
}
