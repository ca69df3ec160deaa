//! `memory test record`.

mod entry;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use entry::{CaseEntry, RecordEntry};
use jiff::tz::TimeZone;
use memory_engine::{MemoryEngine, Recall, Scope, Timestamp};

use super::invalid_file::invalid_file;
use crate::{
    args::{ScopeArgs, StoreArgs},
    engine_options::RecallArgs,
    output,
    output_file::OutputFile,
    query_args::QueryArgs,
    records,
    regression::{
        case_file::{self, CaseFile},
        observation::Observation,
        outcome::{CaseOutcome, excerpt},
        runner::{CaseRunner, now_in_seconds},
    },
    report::ReportArgs,
};

/// The first lines of a new file.
const FILE_HEADER: &str = "# Cases of `memory test`: which memories must be found, and which must not.\n";

#[derive(Debug, Args)]
pub(super) struct RecordCommand {
    /// File of cases, which is created if it does not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Query: a question, a sentence or keywords
    #[arg(value_name = "QUERY")]
    text: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    recall: RecallArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    query: QueryArgs,
    /// Expect this hit, by its number in the list or its id; repeatable
    ///
    /// Default: the first hit, which must be relevant.
    #[arg(long, value_name = "N|ID")]
    expect: Vec<String>,
    /// Forbid this record, by its number or its id; repeatable
    #[arg(long, value_name = "N|ID")]
    forbid: Vec<String>,
    /// Expect that no hit is relevant
    #[arg(long)]
    abstain: bool,
    /// Name of the case; default: the query
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    report: ReportArgs,
}

impl RecordCommand {
    pub(super) async fn run(&self) -> Result<ExitCode> {
        let local = self.query.timezone.zone();
        let old_text = match read_text(&self.file) {
            Ok(text) => text,
            Err(e) => return Ok(invalid_file(&e)),
        };
        let described = || format!("{} is not valid, and was not changed", self.file.display());
        let file = match case_file::parse(&old_text, &local).with_context(described) {
            Ok(file) => file,
            Err(e) => return Ok(invalid_file(&e)),
        };
        let zone = self.query.timezone.zone_or(&file.defaults.zone);
        let scope_args = file.defaults.scope_args(self.scope.clone());
        let scope = scope_args.scope()?;
        // Checks the query before the store is opened.
        _ = self.query.query(&self.text)?;
        let now = match &self.query.now {
            Some(now) => Timestamp::parse_in(now, &zone)?,
            None => now_in_seconds(),
        };
        let runner = CaseRunner::open(&self.store, &self.recall, &file.defaults.zone).await?;
        let mut entry = CaseEntry {
            name: self.name.clone().unwrap_or_else(|| unused_name(&self.text, &file)),
            query: &self.text,
            scope: &scope_args,
            options: &self.query,
            now,
            zone: &zone,
            expect: Vec::new(),
            forbid: Vec::new(),
            // A case without expectations is not valid.
            abstain: true,
        };
        let recall = self.search(&runner, &entry).await?;
        let is_default = self.expect.is_empty() && self.forbid.is_empty() && !self.abstain;
        entry.abstain = self.abstain;
        entry.expect = if is_default {
            vec![first_relevant(&recall, &scope)?]
        } else {
            self.entries(&runner, &scope, &recall, "--expect", &self.expect).await?
        };
        entry.forbid = self.entries(&runner, &scope, &recall, "--forbid", &self.forbid).await?;
        for prohibited in &mut entry.forbid {
            // A forbidden record must not be a hit at all.
            prohibited.relevant = true;
        }
        let new_text = appended(&old_text, &entry.to_toml());
        let described = || format!("{} with the new case is not valid, and was not changed", self.file.display());
        let parsed = match case_file::parse(&new_text, &local).with_context(described) {
            Ok(parsed) => parsed,
            Err(e) => return Ok(invalid_file(&e)),
        };
        let case = parsed.cases.last().context("the new case cannot be read back")?;
        let outcome = runner.run(case).await?;
        write_text(&self.file, &new_text)?;
        self.report.print_line(&outcome, || self.describe(&recall, &outcome, &zone))
    }

    /// Runs the search of a case.
    async fn search(&self, runner: &CaseRunner, entry: &CaseEntry<'_>) -> Result<Recall> {
        let parsed = case_file::parse(&entry.to_toml(), entry.zone)?;
        let case = parsed.cases.last().context("the case cannot be read back")?;
        match runner.observe(case).await? {
            Observation::Hits(recall) => Ok(recall),
            Observation::Block(_) => bail!("the case is no search"),
        }
    }

    /// Returns the records that the values of an option name.
    async fn entries(
        &self,
        runner: &CaseRunner,
        scope: &Scope,
        recall: &Recall,
        option: &str,
        values: &[String],
    ) -> Result<Vec<RecordEntry>> {
        let mut entries = Vec::with_capacity(values.len());
        for value in values {
            let value = value.trim();
            let number = value.parse::<usize>().ok().filter(|number| *number > 0);
            let entry = match number.and_then(|number| recall.hits.get(number - 1)) {
                Some(hit) => {
                    RecordEntry { id: hit.record.id.to_string(), note: excerpt(&hit.record), relevant: hit.relevant }
                }
                None => stored_record(runner.engine(), scope, recall, option, value).await?,
            };
            entries.push(entry);
        }
        Ok(entries)
    }

    fn describe(&self, recall: &Recall, outcome: &CaseOutcome, zone: &TimeZone) -> String {
        let mut text = String::new();
        if !recall.hits.is_empty() {
            text = format!("{}\n\n", output::recall_table(recall, zone));
        }
        let state = if outcome.passed { "passes now" } else { "fails now" };
        text += &format!("added \"{}\" to {}: it {state}", outcome.name, self.file.display());
        if !outcome.passed {
            text += &format!("\n{}", outcome.failure_lines().trim_end());
        }
        text
    }
}

/// Returns the first hit, if it is relevant.
fn first_relevant(recall: &Recall, scope: &Scope) -> Result<RecordEntry> {
    let Some(hit) = recall.hits.first() else {
        bail!(
            "nothing found within {scope}; add --abstain to expect that, or --expect ID for a record that is missing"
        );
    };
    ensure!(
        hit.relevant,
        "the first hit is not relevant (\"{}\"); add --abstain to expect that nothing is, or --expect N for a hit or \
         --expect ID for a record",
        excerpt(&hit.record)
    );
    Ok(RecordEntry { id: hit.record.id.to_string(), note: excerpt(&hit.record), relevant: true })
}

/// Returns a stored record that an option names by its id.
async fn stored_record(
    engine: &MemoryEngine,
    scope: &Scope,
    recall: &Recall,
    option: &str,
    id: &str,
) -> Result<RecordEntry> {
    let found = records::find(engine, scope, id).await?;
    let hit = |record: &memory_engine::Record| recall.hits.iter().find(|hit| hit.record.id == record.id);
    match found.as_slice() {
        [] => bail!(
            "{option} {id}: neither the number of a hit ({} found) nor the id of a record within {scope}",
            output::counted(recall.hits.len() as u64, "hit", "hits")
        ),
        [record] => Ok(RecordEntry {
            id: record.id.to_string(),
            note: excerpt(record),
            relevant: hit(record).is_none_or(|hit| hit.relevant),
        }),
        // Any of them meets the expectation.
        [first, ..] => Ok(RecordEntry {
            id: id.to_owned(),
            note: excerpt(first),
            relevant: !found.iter().any(|record| hit(record).is_some_and(|hit| !hit.relevant)),
        }),
    }
}

/// Returns the query, with a number if a case has this name already.
fn unused_name(query: &str, file: &CaseFile) -> String {
    let is_used = |name: &str| file.cases.iter().any(|case| case.name == name);
    if !is_used(query) {
        return query.to_owned();
    }
    (2..).map(|n| format!("{query} ({n})")).find(|name| !is_used(name)).unwrap_or_default()
}

/// Reads the text of a file; empty if it does not exist.
fn read_text(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(e).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Appends a case to a text, which stays as it is.
fn appended(text: &str, case: &str) -> String {
    if text.trim().is_empty() {
        return format!("{}\n{case}", if text.is_empty() { FILE_HEADER } else { text });
    }
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{line_end}\n{case}")
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    let mut out = OutputFile::create(path)?;
    // The file ends with a line break, which `write_line` writes.
    out.write_line(text.trim_end_matches('\n'))?;
    out.finish()
}
