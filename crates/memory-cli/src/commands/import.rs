//! `memory import`.

mod dry_run;
mod importer;
mod report;

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use memory_engine::{Job, MemoryEngine, PutMode, Scope};
use memory_engine_import::{ImportRows, chroma, json_lines, mem0, silly_tavern, tables};

use self::{dry_run::DryRun, report::ImportReport};
use crate::{
    args::{ScopeArgs, StoreArgs, ZoneArgs},
    output,
    work::WorkArgs,
};

pub(crate) use importer::Importer;

/// Import turns from a JSON Lines file or from what another program has kept; can be repeated and resumed.
///
/// One JSON object on each line: "text" is needed; "id", "user" (or "scope"), "agent", "session", "branch", "role",
/// "speaker", "time", "scene", "kind", "tags", "confidence" and "metadata" are understood; other keys are kept as
/// metadata. A line that is there already is left as it is.
#[derive(Debug, Args)]
pub(crate) struct ImportCommand {
    /// The file, or the directory of a Chroma client or of SillyTavern's chats; `-` reads standard input
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
    /// Of a Chroma directory only this collection
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Take the vectors over that the file has, in place of making them: for those of the very model of --embedder
    #[arg(long)]
    keep_vectors: bool,
    #[command(flatten)]
    timezone: ZoneArgs,
    /// Stop at the first bad line
    #[arg(long)]
    strict: bool,
    /// Put lines of a known id in the place of what is stored
    #[arg(long)]
    update: bool,
    /// Only say what would be imported and what would be refused; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Report as JSON, a line for every commit
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object on each line
    Jsonl,
    /// Rows of the tables `conversations` or `summaries`, as CSV with a header or as JSON Lines
    Csv,
    /// The directory of a persistent Chroma client, or its chroma.sqlite3
    Chroma,
    /// A chat of SillyTavern, or a folder of them
    #[value(name = "sillytavern")]
    SillyTavern,
    /// The result of mem0's get_all, from a server or the platform
    Mem0,
}

impl ImportCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        ensure!(
            self.collection.is_none() || self.format == Format::Chroma,
            "--collection is for --format chroma; the other forms have none"
        );
        ensure!(
            !self.keep_vectors || matches!(self.format, Format::Chroma | Format::Csv),
            "--keep-vectors is for --format chroma and csv; the other forms have none"
        );
        let scope = self.scope.scope()?;
        let zone = self.timezone.zone();
        let (rows, size) = self.rows(&scope)?;
        let engine = self.engine().await?;
        let units = if self.format == Format::Chroma { "{pos}/{len}" } else { "{bytes}/{total_bytes}" };
        let bar = output::progress(size, &format!("importing {{wide_bar}} {units} {{eta}} {{msg}}"));
        let mut importer = Importer::new(&engine, &scope, &zone);
        importer.mode = if self.update { PutMode::Upsert } else { PutMode::IfAbsent };
        (importer.strict, importer.keep_vectors) = (self.strict, self.keep_vectors);
        if self.dry_run {
            importer.dry_run = Some(DryRun::new(&engine, &scope, zone.clone()).await?);
        }
        let outcome = importer
            .take(rows, |report, bytes| {
                bar.inc(bytes);
                bar.set_message(format!("{} added", report.added));
                if self.json && bytes == 0 && !self.dry_run {
                    let committed = report.added + report.updated + report.unchanged;
                    output::tell_line(&serde_json::json!({ "committed": committed }));
                }
            })
            .await;
        bar.finish_and_clear();
        let Importer { mut report, dry_run, .. } = importer;
        for error in &report.errors {
            eprintln!("{}: {error}", self.file.display());
        }
        if dry_run.is_none() {
            report.waiting = output::settle(&engine, &scope).await?;
            report.vector_lag = engine.admin().latency_stats().get(&Job::Embedding).copied();
        }
        self.tell(&report, dry_run.as_ref())?;
        outcome.with_context(|| self.file.display().to_string())?;
        Ok(if report.bad_lines == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The rows of the source, and how much there is of it.
    fn rows(&self, scope: &Scope) -> Result<(ImportRows, u64)> {
        let is_input = self.file == Path::new("-");
        let of_directory = matches!(self.format, Format::Chroma | Format::SillyTavern);
        ensure!(!(of_directory && is_input), "this form is not read from standard input; name the file or directory");
        let path = || self.file.display().to_string();
        match self.format {
            Format::Chroma => Ok(chroma::rows(&self.file, self.collection.as_deref(), self.keep_vectors)?),
            Format::SillyTavern => Ok(silly_tavern::rows(&self.file, scope)?),
            Format::Jsonl => {
                open(&self.file).map(|(input, size)| (Box::new(json_lines::rows(input)) as ImportRows, size))
            }
            Format::Csv => {
                let (input, size) = open(&self.file)?;
                Ok((tables::rows(input).with_context(path)?, size))
            }
            Format::Mem0 => {
                let (input, size) = open(&self.file)?;
                let export = mem0::read(input).with_context(path)?;
                if export.is_partial {
                    eprintln!("this is one page of several: \"next\" names another, which is not in the file");
                }
                Ok((export.rows, size))
            }
        }
    }

    /// The memory that it goes to. What is only tried out makes none, and leaves one as it is.
    async fn engine(&self) -> Result<MemoryEngine> {
        if !self.dry_run {
            return self.store.create_with(self.work.work()?).await;
        }
        match self.store.open_as_it_is().await {
            Ok(engine) => Ok(engine),
            Err(_) if self.store.database()?.path().is_some_and(|path| !path.exists()) => {
                Ok(MemoryEngine::builder().in_memory().background(false).build().await?)
            }
            Err(e) => Err(e),
        }
    }

    fn tell(&self, report: &ImportReport, dry_run: Option<&DryRun>) -> Result<()> {
        if self.json {
            let mut data = serde_json::to_value(report)?;
            if let Some(dry_run) = dry_run {
                data["dry_run"] = dry_run.data();
            }
            say!("{data}");
            return Ok(());
        }
        let database = self.store.database()?;
        match dry_run {
            None => say!("{} added to {database}", output::counted(report.added, "turn", "turns")),
            Some(dry_run) => {
                say!(
                    "{} would be added to {database}; nothing was written",
                    output::counted(report.added, "turn", "turns")
                );
                for line in dry_run.lines() {
                    say!("{line}");
                }
            }
        }
        let rows = [
            (report.updated, "replaced", "replaced"),
            (report.unchanged, "was stored already", "were stored already"),
            (
                report.different,
                "of these differs from the record stored with its id (--update replaces it)",
                "of these differ from the records stored with their ids (--update replaces them)",
            ),
            (
                report.forgotten,
                "was forgotten earlier and is not imported",
                "were forgotten earlier and are not imported",
            ),
            (report.tombstones, "tombstone imported", "tombstones imported"),
            (report.vectors, "vector imported", "vectors imported"),
            (report.passed_over, "row has nothing to remember", "rows have nothing to remember"),
            (report.bad_lines, "bad line skipped", "bad lines skipped"),
        ];
        for (count, singular, plural) in rows.into_iter().filter(|(count, ..)| *count > 0) {
            say!("{}", output::counted(count, singular, plural));
        }
        if let Some(lag) = report.vector_lag {
            let (p50, p95) = (output::duration(lag.p50), output::duration(lag.p95));
            say!("found by keywords at once, by vectors after {p50} (half of them) to {p95} (95 %)");
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
        bail!("{} is a directory; name a file, or say with --format what it is a directory of", file.display());
    }
    Ok((Box::new(BufReader::with_capacity(1 << 20, input)), about.len()))
}
