//! `memory forget`.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::Args;
use memory_engine::{
    Forget, ForgetReport, ForgetText, MemoryEngine, Scope, certificate::SearchExtent, deletion::ForgetPreview,
};
use serde_json::json;

use crate::{
    args::{ScopeArgs, StoreArgs},
    certificate::{CertificateArgs, TRACES_REMAIN},
    engine_options::EngineOptions,
    output, records,
    report::ReportArgs,
};

/// Delete records for good, by id, by a text in them, or by scope.
///
/// With --text, the records that contain a text are deleted. A telephone number is found with any separators.
/// --redact replaces it by `[deleted]` in the records and in all indexes instead. --dry-run shows the records.
///
/// With --certificate, the store is searched for traces of the deleted records, and a signed certificate is written.
/// The exit code is 3 if traces remain.
#[derive(Debug, Args)]
pub(crate) struct ForgetCommand {
    /// Ids of the records; default: everything within the scope
    ///
    /// Or their ids in an imported file.
    ids: Vec<String>,
    /// Delete the records that contain this text
    ///
    /// `-` reads it from standard input. Case, full-width and traditional characters, white space, and the separators
    /// of numbers and codes make no difference. 3 to 1000 characters, or at least 2 Chinese ones.
    #[arg(long, conflicts_with = "ids")]
    text: Option<String>,
    /// Replace the text by `[deleted]`, and keep the records
    #[arg(long, requires = "text")]
    redact: bool,
    /// Keep the text out of what is stored afterwards
    ///
    /// `[deleted]` replaces it in new records. Its keyed hash is stored within the scope. `forget ID` with the
    /// id of its entry lets the text be stored again.
    #[arg(long, requires = "text")]
    standing: bool,
    /// List the texts that are kept out, by their hashes
    #[arg(long, conflicts_with_all = ["ids", "text", "dry_run", "certificate"])]
    standing_list: bool,
    /// Show what would be deleted, and change nothing
    #[arg(long, conflicts_with = "certificate")]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
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
        if self.standing_list {
            return self.list_standing(&scope).await;
        }
        let certificate = self.certificate.prepare()?;
        let engine = match self.redact {
            true => self.store.open_with_any_embedder(EngineOptions::default()).await?,
            false => self.store.database.open_without_indexes().await?,
        };
        let target = self.target(&engine, &scope, certificate.is_some()).await?;
        let preview = match self.text.is_some() || self.dry_run {
            true => Some(engine.deletion().preview(&scope, target.clone(), SAMPLE_RECORDS).await?),
            false => None,
        };
        if let (true, Some(preview)) = (self.dry_run, &preview) {
            return self.report.print(preview, || self.preview_text(preview));
        }
        let total = match &preview {
            Some(preview) => preview.records(),
            None if self.ids.is_empty() => engine.stats(&scope).await?.records,
            None => self.ids.len() as u64,
        };
        if !self.yes && !confirm(&self.question(&scope, total, preview.as_ref()))? {
            bail!(NOTHING);
        }
        let bar = output::progress(total, "deleting {wide_bar} {pos}/{len} records {eta}");
        let deletion = engine.deletion().on_progress({
            let (bar, is_json) = (bar.clone(), self.report.json);
            move |done| {
                bar.set_position(done);
                if is_json && total > BATCH_RECORDS && done < total {
                    output::print_json_line(&json!({ "done": done, "total": total }));
                }
            }
        });
        let Some(certificate) = certificate else {
            let forgotten = deletion.forget(&scope, target).await?;
            bar.finish_and_clear();
            self.finish_indexing(&engine, &scope).await?;
            let report = report(&forgotten)?;
            return self.report.print_line(&report, || text(&forgotten));
        };
        // The command has the whole database open, so its caller may know what is in it.
        let extent = SearchExtent::Database;
        let deletion = deletion.forget_with_certificate(&scope, target, &certificate.key, extent).await?;
        bar.finish_and_clear();
        self.finish_indexing(&engine, &scope).await?;
        let summary = certificate.write(&deletion.certificate)?;
        let mut report = report(&deletion.report)?;
        report["certificate"] = summary.json(&deletion.certificate);
        self.report
            .print_line(&report, || format!("{}\n{}", text(&deletion.report), summary.text(&deletion.certificate)))?;
        Ok(if deletion.certificate.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(TRACES_REMAIN) })
    }
}

impl ForgetCommand {
    async fn target(&self, engine: &MemoryEngine, scope: &Scope, is_certified: bool) -> Result<Forget> {
        Ok(match &self.text {
            Some(text) if text == "-" => self.by_text(&io::read_to_string(io::stdin())?),
            Some(text) => self.by_text(text),
            None if self.ids.is_empty() => Forget::Everything,
            // The certificate also covers records that are deleted already.
            None if is_certified => Forget::Ids(records::resolve_or_parse(engine, scope, &self.ids, NOTHING).await?),
            None => Forget::Ids(records::resolve(engine, scope, &self.ids, NOTHING).await?),
        })
    }

    /// Waits until the records that were redacted are indexed again.
    async fn finish_indexing(&self, engine: &MemoryEngine, scope: &Scope) -> Result<()> {
        if self.redact {
            output::finish_indexing(engine, &scope.namespace()).await?;
        }
        Ok(())
    }

    async fn list_standing(&self, scope: &Scope) -> Result<ExitCode> {
        let engine = self.store.database.open_without_indexes().await?;
        let kept_out = engine.deletion().kept_out(scope).await?;
        self.report.print(&json!({ "standing": kept_out }), || {
            if kept_out.is_empty() {
                return format!("no text is kept out of {scope}");
            }
            let mut table = output::table(["entry", "scope", "since", "characters"]);
            for value in &kept_out {
                let cells = [value.id.to_string(), value.scope.to_string(), value.since.to_string()];
                table.add_row(cells.into_iter().chain([value.length.to_string()]));
            }
            format!("{table}\n`memory forget ENTRY` lets a text be stored again")
        })
    }

    fn by_text(&self, text: &str) -> Forget {
        Forget::Text(ForgetText::new(text).with_redact(self.redact).with_keep_out(self.standing))
    }

    /// Returns the verb of this deletion.
    fn verb(&self) -> [&'static str; 2] {
        if self.redact { ["Redact", "redacted"] } else { ["Delete", "deleted"] }
    }

    /// Returns the question before a deletion of `total` records.
    fn question(&self, scope: &Scope, total: u64, preview: Option<&ForgetPreview>) -> String {
        let records = match self.ids.is_empty() {
            true => output::counted(total, "record", "records"),
            false => self.ids.join(", "),
        };
        let preview = preview.map(|preview| format!("{}\n", self.preview_text(preview))).unwrap_or_default();
        format!("{preview}{} {records} within {scope} for good?", self.verb()[0])
    }

    /// Lists the records that a deletion would remove.
    fn preview_text(&self, preview: &ForgetPreview) -> String {
        let selected: u64 = preview.selected.values().sum();
        let derived = preview.records() - selected;
        let mut table = output::table(["record", "kind", "text"]);
        let sample = preview.selected_sample.iter().chain(&preview.derived_sample);
        for record in sample.take(SAMPLE_RECORDS) {
            let text = output::shorten(&record.text, SAMPLE_CHARS);
            table.add_row([record.id.to_string(), record.kind.to_string(), text]);
        }
        let shown = preview.records().min(SAMPLE_RECORDS as u64);
        let rest = match preview.records() - shown {
            0 => String::new(),
            more => format!("\n… and {more} more"),
        };
        let [_, verb] = self.verb();
        let records = output::counted(selected, "record", "records");
        format!("{records} would be {verb}, and {derived} derived from them\n{table}{rest}")
    }
}

/// Number of records that one transaction deletes. A longer deletion prints its progress.
const BATCH_RECORDS: u64 = 500;
/// Maximum number of records that a preview shows.
const SAMPLE_RECORDS: usize = 10;
/// Maximum number of characters of a record that a preview shows.
const SAMPLE_CHARS: usize = 100;

/// The outcome of a command that was not executed.
const NOTHING: &str = "nothing was forgotten";

fn report(forgotten: &ForgetReport) -> Result<serde_json::Value> {
    let mut report = serde_json::to_value(forgotten)?;
    report["forgotten"] = forgotten.records().into();
    Ok(report)
}

fn text(forgotten: &ForgetReport) -> String {
    let records = output::counted(forgotten.records(), "record", "records");
    let kept_out = forgotten.kept_out.map(|id| format!("\nthe text is kept out from now on; its entry is {id}"));
    let kept_out = kept_out.unwrap_or_default();
    if forgotten.redacted > 0 && forgotten.records() == 0 {
        return format!("{} redacted{kept_out}", output::counted(forgotten.redacted, "record", "records"));
    }
    format!("{records} forgotten\n{}{kept_out}", table(forgotten))
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
        ("redacted: records in which the text was replaced", forgotten.redacted),
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

pub(super) fn confirm(question: &str) -> Result<bool> {
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
