//! `memory import`.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use memory_engine::{
    ContentHash, Job, Lag, MemoryEngine, Outcome, PutMode, Record, RecordId, Scope, SystemClock, Tombstone, Written,
};
use serde::Serialize;

use crate::{
    args::{self, ScopeArgs, StoreArgs},
    line::{self, Defaults, Line},
    output,
    reader::Lines,
    work::WorkArgs,
};

/// How many turns are committed together.
const BATCH: usize = 500;
/// How many bad lines are told one by one.
const TOLD: u64 = 20;

/// Import turns from a JSON Lines file; can be repeated and resumed.
///
/// One JSON object on each line: "text" is needed; "id", "user" (or "scope"), "agent", "session", "branch", "role",
/// "speaker", "time", "scene", "kind", "tags", "confidence" and "metadata" are understood; other keys are kept as
/// metadata. A line that is there already is left as it is.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file; `-` reads standard input
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// The form of the file
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// The zone of times that name none: Asia/Shanghai, +08:00 or UTC
    #[arg(long, default_value = "UTC", value_name = "ZONE", allow_hyphen_values = true)]
    timezone: String,
    /// Stop at the first bad line
    #[arg(long)]
    strict: bool,
    /// Put lines of a known id in the place of what is stored
    #[arg(long)]
    update: bool,
    /// Report as JSON, a line for every commit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One JSON object on each line
    Jsonl,
}

/// What an import did.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct Report {
    /// New records.
    pub(crate) added: u64,
    /// Records that were replaced.
    pub(crate) updated: u64,
    /// Lines whose record was there already.
    pub(crate) unchanged: u64,
    /// Of these, lines that say something else than what is stored under their id.
    pub(crate) different: u64,
    /// Lines that were forgotten earlier and stay away.
    pub(crate) forgotten: u64,
    /// Tombstones taken in.
    pub(crate) tombstones: u64,
    /// Records that still wait for their vectors.
    pub(crate) waiting: u64,
    /// How long it took from a record's write to its vector, where there were any.
    pub(crate) vector_lag: Option<Lag>,
    /// Lines that could not be read.
    pub(crate) bad_lines: u64,
    /// The first of them.
    pub(crate) errors: Vec<String>,
}

impl Import {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let Format::Jsonl = self.format;
        let scope = self.scope.scope()?;
        let zone = args::zone(&self.timezone)?;
        let (input, size) = open(&self.file)?;
        let engine = self.store.create_with(self.work.work()?).await?;
        let bar = output::progress(size, "importing {wide_bar} {bytes}/{total_bytes} {eta} {msg}");
        let mode = if self.update { PutMode::Upsert } else { PutMode::IfAbsent };
        let mut importer = Importer::new(&engine, &scope, &zone);
        (importer.mode, importer.strict) = (mode, self.strict);
        let outcome = importer
            .read(input, |report, bytes| {
                bar.inc(bytes);
                bar.set_message(format!("{} added", report.added));
                if self.json && bytes == 0 {
                    let committed = report.added + report.updated + report.unchanged;
                    output::tell_line(&serde_json::json!({ "committed": committed }));
                }
            })
            .await;
        bar.finish_and_clear();
        let mut report = importer.report;
        for error in &report.errors {
            eprintln!("{}: {error}", self.file.display());
        }
        report.waiting = output::settle(&engine, &scope).await?;
        report.vector_lag = engine.lag().get(&Job::Embedding).copied();
        self.tell(&report)?;
        outcome.with_context(|| self.file.display().to_string())?;
        Ok(if report.bad_lines == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn tell(&self, report: &Report) -> Result<()> {
        if self.json {
            say!("{}", serde_json::to_string(report)?);
            return Ok(());
        }
        say!("{} turns added to {}", report.added, self.store.database()?);
        let rows = [
            (report.updated, "replaced"),
            (report.unchanged, "were there already"),
            (report.different, "of these say something else than what is stored under their id (--update replaces it)"),
            (report.forgotten, "were forgotten earlier and stay away"),
            (report.tombstones, "tombstones taken in"),
            (report.bad_lines, "bad lines left out"),
        ];
        for (count, what) in rows.into_iter().filter(|(count, _)| *count > 0) {
            say!("{count} {what}");
        }
        if let Some(lag) = report.vector_lag {
            let (p50, p95) = (output::duration(lag.p50), output::duration(lag.p95));
            say!("found by their words at once, by meaning after {p50} (half of them) to {p95} (95 %)");
        }
        Ok(())
    }
}

fn open(file: &Path) -> Result<(Box<dyn BufRead + Send>, u64)> {
    if file == Path::new("-") {
        return Ok((Box::new(BufReader::new(io::stdin())), 0));
    }
    let failed = || format!("{} cannot be read", file.display());
    let input = File::open(file).with_context(failed)?;
    let about = input.metadata().with_context(failed)?;
    if about.is_dir() {
        bail!("{} is a directory; name a JSON Lines file", file.display());
    }
    Ok((Box::new(BufReader::with_capacity(1 << 20, input)), about.len()))
}

/// Brings the lines of a file into an engine.
#[derive(Debug)]
pub(crate) struct Importer<'a> {
    engine: &'a MemoryEngine,
    scope: &'a Scope,
    zone: &'a TimeZone,
    mode: PutMode,
    strict: bool,
    /// How often each line without an id has been seen.
    repeated: BTreeMap<[u8; 32], u64>,
    pub(crate) report: Report,
}

impl<'a> Importer<'a> {
    pub(crate) fn new(engine: &'a MemoryEngine, scope: &'a Scope, zone: &'a TimeZone) -> Self {
        let (repeated, report) = (BTreeMap::new(), Report::default());
        Self { engine, scope, zone, mode: PutMode::IfAbsent, strict: false, repeated, report }
    }

    /// Reads to the end. `progress` is told how many bytes a line took, and 0 after each commit.
    pub(crate) async fn read(&mut self, input: impl BufRead, mut progress: impl FnMut(&Report, u64)) -> Result<()> {
        let (mut records, mut tombstones) = (Vec::with_capacity(BATCH), Vec::new());
        for line in Lines::new(input) {
            let line = line.context("the file cannot be read on")?;
            let parsed = line.text.map_err(anyhow::Error::msg).and_then(|text| self.parse(&text, line.number));
            match parsed {
                Ok(Line::Record(record)) => records.push(*record),
                Ok(Line::Tombstone(tombstone)) => tombstones.push(tombstone),
                Err(e) if self.strict => {
                    self.commit(&mut records, &mut tombstones).await?;
                    bail!("line {}: {e:#}; what stands before it was imported, nothing after it", line.number);
                }
                Err(e) => self.bad(line.number, &e),
            }
            progress(&self.report, line.bytes);
            if records.len() + tombstones.len() >= BATCH {
                self.commit(&mut records, &mut tombstones).await?;
                progress(&self.report, 0);
            }
        }
        self.commit(&mut records, &mut tombstones).await?;
        progress(&self.report, 0);
        Ok(())
    }

    fn bad(&mut self, number: u64, error: &anyhow::Error) {
        self.report.bad_lines += 1;
        if self.report.bad_lines <= TOLD {
            self.report.errors.push(format!("line {number}: {error:#}"));
        }
    }

    fn parse(&mut self, text: &str, number: u64) -> Result<Line> {
        let parsed = line::parse(text, &Defaults { scope: self.scope, zone: self.zone, clock: &SystemClock })?;
        let Line::Record(mut record) = parsed.line else { return Ok(parsed.line) };
        self.engine.check(&record)?;
        // Turns of one time stand in the order of the file, also when a line between them is mended later. What was exported
        // has the place that it had: a number of ours would show it to branches that it does not belong to.
        if !parsed.is_exported {
            record.source.sequence.get_or_insert(i64::try_from(number)?);
        }
        if !parsed.has_id {
            record.id = self.id_of_content(&record, text);
        }
        Ok(Line::Record(record))
    }

    /// The id of a line that names none: the same for the same line of the same file, however often it is imported.
    fn id_of_content(&mut self, record: &Record, text: &str) -> RecordId {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let seen = self.repeated.entry(hash).or_insert(0);
        *seen += 1;
        RecordId::named(&record.scope, &format!("line {} {seen}", blake3::Hash::from_bytes(hash).to_hex()))
    }

    async fn commit(&mut self, records: &mut Vec<Record>, tombstones: &mut Vec<Tombstone>) -> Result<()> {
        let tenant = Scope::tenant_wide(self.scope.tenant())?;
        if !records.is_empty() {
            let records = std::mem::take(records);
            let said: Vec<(Scope, ContentHash)> = records.iter().map(|r| (r.scope.clone(), r.content_hash())).collect();
            let written = self.engine.store(&tenant, records, self.mode).await?;
            for (written, (scope, hash)) in written.iter().zip(said) {
                self.count(written);
                if written.outcome == Outcome::Unchanged {
                    let stored = self.engine.get(&scope, written.id).await?;
                    self.report.different += u64::from(stored.is_none_or(|stored| stored.content_hash() != hash));
                }
            }
        }
        if !tombstones.is_empty() {
            self.report.tombstones += self.engine.bury(&tenant, &std::mem::take(tombstones)).await?;
        }
        Ok(())
    }

    fn count(&mut self, written: &Written) {
        *match written.outcome {
            Outcome::Created => &mut self.report.added,
            Outcome::Updated => &mut self.report.updated,
            Outcome::Unchanged => &mut self.report.unchanged,
            Outcome::Barred(_) => &mut self.report.forgotten,
        } += 1;
    }
}
