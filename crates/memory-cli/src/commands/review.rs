//! `memory review`.

mod selection;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use comfy_table::ColumnConstraint;
use memory_engine::{
    Cursor, MemoryEngine, Record, Scope,
    review::{PendingMemory, ReviewPage, ReviewReport},
};
use serde_json::json;

use self::selection::{PendingSelection, SelectionArgs};
use crate::{
    output, records,
    target_args::{StoreTargetArgs, TargetArgs},
};

/// Maximum number of characters of a text, and of its evidence, in the table.
const SHOWN_CHARS: usize = 120;

/// List, accept and reject the memories that wait for a review.
///
/// Set by --review or MEMORY_REVIEW, new memories of a source wait until a person accepts them. They are stored, but
/// not recalled. Suggested synonyms are reviewed by `memory synonyms`.
#[derive(Debug, Args)]
pub(crate) struct ReviewCommand {
    #[command(subcommand)]
    action: ReviewAction,
}

#[derive(Debug, Subcommand)]
enum ReviewAction {
    /// List the memories that wait, oldest first, with the texts that they were derived from
    List(ListArgs),
    /// Accept memories, which are recalled from now on
    ///
    /// Accepted facts supersede those that they contradict.
    Accept(AcceptArgs),
    /// Reject memories; `memory restore` makes them wait again
    Reject(RejectArgs),
    /// Accept one memory with another text; for a fact, its value or a sentence that states it
    Edit(EditArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Maximum number of memories
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Position after which the list begins
    ///
    /// It is printed by the command for the page before.
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Args)]
struct AcceptArgs {
    #[command(flatten)]
    pending: PendingSelection,
    #[command(flatten)]
    target: StoreTargetArgs,
}

#[derive(Debug, Args)]
struct RejectArgs {
    #[command(flatten)]
    pending: PendingSelection,
    /// Reason, stored with the rejection
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Args)]
struct EditArgs {
    /// Id of the memory, as printed by `memory review list`
    id: String,
    /// New text
    text: String,
    #[command(flatten)]
    target: StoreTargetArgs,
}

impl ReviewCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.action {
            ReviewAction::List(args) => args.run().await,
            ReviewAction::Accept(args) => args.run().await,
            ReviewAction::Reject(args) => args.run().await,
            ReviewAction::Edit(args) => args.run().await,
        }
    }
}

impl ListArgs {
    async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.scope()?;
        let query = self.selection.query()?.with_limit(self.limit).with_after(self.after);
        let engine = self.target.open().await?;
        let page = engine.review().pending(&scope, &query).await?;
        self.target.report.print(&page, || self.describe(&page, &scope))
    }

    fn describe(&self, page: &ReviewPage, scope: &Scope) -> String {
        if page.pending.is_empty() {
            return format!("no memories wait for a review within {scope}");
        }
        let zone = self.selection.timezone.zone();
        let mut table = output::table(["id", "date", "source", "memory", "from"]);
        // An id on two lines could not be copied.
        if let Some(ids) = table.column_mut(0) {
            ids.set_constraint(ColumnConstraint::ContentWidth);
        }
        for pending in &page.pending {
            let PendingMemory { record, source, rule, .. } = pending;
            let source = source.map_or_else(|| record.kind.to_string(), |source| source.to_string());
            table.add_row([
                record.id.to_string(),
                record.occurred_at.in_zone(&zone).strftime("%Y-%m-%d").to_string(),
                rule.as_ref().map_or_else(|| source.clone(), |rule| format!("{source}\n{rule}")),
                output::shorten(&record.text, SHOWN_CHARS),
                evidence(pending),
            ]);
        }
        let shown = page.pending.len() as u64;
        match page.next {
            Some(next) => format!("{table}\n{shown} of {} shown; --after {next} shows the next ones", page.total),
            None => table.to_string(),
        }
    }
}

/// Returns the texts that a memory was derived from, each on a line.
fn evidence(pending: &PendingMemory) -> String {
    const MAX_TEXTS: usize = 3;
    let mut lines: Vec<String> =
        pending.evidence.iter().take(MAX_TEXTS).map(|source| output::shorten(&source.text, SHOWN_CHARS)).collect();
    if pending.evidence.len() > MAX_TEXTS {
        lines.push(format!("… {} more", pending.evidence.len() - MAX_TEXTS));
    }
    lines.join("\n")
}

impl AcceptArgs {
    async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let engine = self.target.open().await?;
        let ids = self.pending.ids(&engine, &scope, "nothing was accepted").await?;
        let report = engine.review().accept(&scope, &ids).await?;
        if let [id, ..] = report.skipped.as_slice()
            && report.accepted.is_empty()
            && report.blocked.is_empty()
        {
            bail!("{id} is not pending; `memory review list` lists the memories that wait");
        }
        output::finish_indexing(&engine, &scope.namespace()).await?;
        self.target.report.print(&report, || describe_accepted(&report))
    }
}

fn describe_accepted(report: &ReviewReport) -> String {
    let count = |ids: &[_]| output::counted(ids.len() as u64, "memory", "memories");
    let mut lines = vec![format!("{} accepted", count(&report.accepted))];
    if !report.skipped.is_empty() {
        lines.push(format!("{} skipped: not pending", count(&report.skipped)));
    }
    if !report.blocked.is_empty() {
        lines.push(format!("{} not accepted: the same text was forgotten before", count(&report.blocked)));
    }
    lines.join("\n")
}

impl RejectArgs {
    async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let engine = self.target.open().await?;
        let ids = self.pending.ids(&engine, &scope, "nothing was rejected").await?;
        let rejection = engine.review().reject(&scope, &ids, &self.reason).await?;
        if rejection.records.is_empty() && !ids.is_empty() {
            bail!("{} is not pending; `memory review list` lists the memories that wait", ids[0]);
        }
        let user = scope.user_name().unwrap_or_default();
        self.target.report.print(&rejection, || {
            let count = output::counted(rejection.records.len() as u64, "memory", "memories");
            if rejection.records.is_empty() {
                return format!("{count} rejected");
            }
            format!("{count} rejected\n`memory restore {} --user {user}` makes them wait again", rejection.id)
        })
    }
}

impl EditArgs {
    async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.address()?;
        let engine = self.target.open().await?;
        let record = find_one(&engine, &scope, &self.id).await?;
        let id = engine.review().accept_edited(&scope, record.id, self.text).await?;
        output::finish_indexing(&engine, &scope.namespace()).await?;
        let text = engine.get(&scope, id).await?.map(|record| record.text).unwrap_or_default();
        self.target.report.print_line(&json!({ "id": id, "text": text }), || format!("accepted as {id}: {text}"))
    }
}

async fn find_one(engine: &MemoryEngine, scope: &Scope, id: &str) -> Result<Record> {
    let mut records = records::find(engine, scope, id).await?;
    match (records.pop(), records.is_empty()) {
        (Some(record), true) => Ok(record),
        (Some(_), false) => bail!("{id} is the id of several records; give the id that `memory review list` prints"),
        (None, _) => bail!("{id} not within {scope}; `memory review list` lists the memories that wait"),
    }
}
