//! `memory forget`.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{ForgetReport, certificate::SearchExtent};

use crate::{
    args::{DatabaseArgs, ScopeArgs},
    certificate::{CertificateArgs, TRACES_REMAIN},
    output, records,
    report::ReportArgs,
};

/// Delete records for good, by id or by scope.
///
/// With --certificate, the store is searched for traces of the deleted records, and a signed certificate is written.
/// The exit code is 3 if traces remain.
#[derive(Debug, Args)]
pub(crate) struct ForgetCommand {
    /// Ids of the records; default: everything within the scope
    ///
    /// Or their ids in an imported file.
    ids: Vec<String>,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    certificate: CertificateArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl ForgetCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        if self.ids.is_empty() && scope.user_name().is_none() {
            bail!("nothing to forget: name records by id, or a user with --user");
        }
        let certificate = self.certificate.prepare()?;
        let engine = self.database.open_without_indexes().await?;
        let ids = match certificate {
            // The certificate also covers records that are deleted already.
            Some(_) => records::resolve_or_parse(&engine, &scope, &self.ids, NOTHING).await?,
            None => records::resolve(&engine, &scope, &self.ids, NOTHING).await?,
        };
        let (target, records) = if self.ids.is_empty() {
            let count = engine.stats(&scope).await?.records;
            (memory_engine::Forget::Everything, output::counted(count, "record", "records"))
        } else {
            (memory_engine::Forget::Ids(ids), self.ids.join(", "))
        };
        let question = format!("Delete {records} within {scope} for good?");
        if !self.yes && !confirm(&question)? {
            bail!(NOTHING);
        }
        let Some(certificate) = certificate else {
            let forgotten = engine.forget(&scope, target).await?;
            let report = report(&forgotten)?;
            return self.report.print_line(&report, || text(&forgotten));
        };
        // The command has the whole database open, so its caller may know what is in it.
        let extent = SearchExtent::Database;
        let deletion = engine.deletion().forget_with_certificate(&scope, target, &certificate.key, extent).await?;
        let summary = certificate.write(&deletion.certificate)?;
        let mut report = report(&deletion.report)?;
        report["certificate"] = summary.json(&deletion.certificate);
        self.report
            .print_line(&report, || format!("{}\n{}", text(&deletion.report), summary.text(&deletion.certificate)))?;
        Ok(if deletion.certificate.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(TRACES_REMAIN) })
    }
}

/// The outcome of a command that was not executed.
const NOTHING: &str = "nothing was forgotten";

fn report(forgotten: &ForgetReport) -> Result<serde_json::Value> {
    let mut report = serde_json::to_value(forgotten)?;
    report["forgotten"] = forgotten.records().into();
    Ok(report)
}

fn text(forgotten: &ForgetReport) -> String {
    let records = output::counted(forgotten.records(), "record", "records");
    format!("{records} forgotten\n{}", table(forgotten))
}

/// Lists the counts of removed items, without those that are zero.
fn table(forgotten: &ForgetReport) -> String {
    let removed = &forgotten.removed;
    let kinds = removed.records.iter().map(|(kind, count)| (format!("records of kind {kind}"), *count));
    let rest = [
        ("  of these, derived from deleted records", removed.cascade_deleted),
        ("records in the keyword index", removed.keywords),
        ("vectors", removed.vectors),
        ("mentions of entities in the graph", removed.mentions),
        ("aliases of entities in the graph", removed.aliases),
        ("relations in the graph", removed.relations),
        ("queued jobs", removed.queued),
        ("synonym groups and decisions", forgotten.synonyms),
        ("retracted: turns that state a deleted fact", forgotten.retracted),
    ];
    let mut table = output::table(["removed", "count"]);
    let rest = rest.into_iter().map(|(item, count)| (item.to_owned(), count)).filter(|(_, count)| *count > 0);
    for (item, count) in kinds.chain(rest) {
        table.add_row([item, count.to_string()]);
    }
    table.add_row(["tombstones, which block another import".to_owned(), removed.tombstones.to_string()]);
    table.to_string()
}

fn confirm(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("{question} There is no terminal to ask for confirmation; add --yes");
    }
    let mut output = io::stdout();
    write!(output, "{question} [y/N] ")?;
    output.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
