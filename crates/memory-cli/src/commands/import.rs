//! `memory import`.

mod dry_run;
mod importer;
mod report;

use std::{
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use memory_engine::{Job, MemoryEngine, PutMode, Scope};
use memory_engine_import::{
    ImportRows, SourceFormat, chatgpt, chroma, claude, claude_code, codex, detect, json_lines, letta, markdown, mem0,
    mif, silly_tavern, tables, whatsapp, zep,
};

use self::{dry_run::DryRun, report::FileImportReport};
use crate::{
    args::{ScopeArgs, StoreArgs, ZoneArgs},
    dead_letters,
    engine_options::{EngineOptions, EnrichmentArgs},
    output,
};

pub(crate) use importer::Importer;

/// Import turns from JSON Lines or from the data of another program.
///
/// Can be repeated and resumed. Each line is one JSON object. "text" is required. "id", "user" (or "scope"), "agent",
/// "session", "branch", "role",
/// "speaker", "time", "scene", "kind", "tags", "confidence" and "metadata" are optional. Other keys are stored as
/// metadata. Existing records are not changed.
#[derive(Debug, Args)]
pub(crate) struct ImportCommand {
    /// File or folder to import; `-` reads standard input
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    enrichment: EnrichmentArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Format of the file; default: recognised
    ///
    /// chatgpt, claude, letta, mif, whatsapp and zep are recognised by the beginning of the file. Any other file is
    /// read as jsonl.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Name of the user in a WhatsApp chat
    ///
    /// The others are other participants.
    #[arg(long, value_name = "NAME")]
    me: Option<String>,
    /// Import only this collection of a Chroma directory
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Use the vectors in the file instead of computing new ones
    ///
    /// They must be from the model of --embedder.
    #[arg(long)]
    keep_vectors: bool,
    #[command(flatten)]
    timezone: ZoneArgs,
    /// Stop at the first bad line
    #[arg(long)]
    strict: bool,
    /// Replace existing records that have the same id
    #[arg(long)]
    update: bool,
    /// Only report what would be imported and refused; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON, with a line after every commit
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
    /// An agent file of Letta (.af), or a list of archival passages of its server
    Letta,
    /// Messages, episodes or edges of Zep or Graphiti, as their interfaces return them
    #[value(alias = "graphiti")]
    Zep,
    /// A corpus of the Modeled Information Format, or memories of it as JSON-LD
    Mif,
    /// The file conversations.json of a data export of ChatGPT
    #[value(name = "chatgpt")]
    ChatGpt,
    /// The file conversations.json of a data export of Claude
    Claude,
    /// A transcript of Claude Code, or a folder of them, such as ~/.claude/projects
    ClaudeCode,
    /// A transcript of Codex, or a folder of them, such as ~/.codex/sessions
    Codex,
    /// A chat that WhatsApp has exported as text
    #[value(name = "whatsapp")]
    WhatsApp,
    /// A Markdown file, or a folder of them; each file is a note
    Markdown,
}

impl Format {
    /// Returns true if the format can be read from standard input.
    fn reads_stream(self) -> bool {
        match self {
            Self::Jsonl
            | Self::Csv
            | Self::Mem0
            | Self::Letta
            | Self::Zep
            | Self::Mif
            | Self::ChatGpt
            | Self::Claude => true,
            Self::Chroma | Self::SillyTavern | Self::ClaudeCode | Self::Codex | Self::WhatsApp | Self::Markdown => {
                false
            }
        }
    }
}

/// Number of bytes of a file that its format is recognised by.
const DETECTION_BYTES: usize = 16 << 10;

impl ImportCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let format = self.format()?;
        ensure!(self.collection.is_none() || format == Format::Chroma, "--collection needs --format chroma");
        ensure!(
            !self.keep_vectors || matches!(format, Format::Chroma | Format::Csv),
            "--keep-vectors needs --format chroma or --format csv"
        );
        ensure!(self.me.is_none() || format == Format::WhatsApp, "--me needs --format whatsapp");
        let scope = self.scope.scope()?;
        let zone = self.timezone.zone();
        let (rows, size) = self.rows(format, &scope)?;
        let engine = self.engine().await?;
        let units = if format == Format::Chroma { "{pos}/{len} rows" } else { "{bytes}/{total_bytes}" };
        let bar = output::progress(size, &format!("importing {{wide_bar}} {units} {{eta}} {{msg}}"));
        let mut importer = Importer::new(&engine, &scope, &zone);
        importer.mode = if self.update { PutMode::Upsert } else { PutMode::IfAbsent };
        importer.strict = self.strict;
        importer.keep_vectors = self.keep_vectors;
        if self.dry_run {
            importer.dry_run = Some(DryRun::new(&engine, &scope, zone.clone()).await?);
        }
        let result = importer
            .import(rows, |report, bytes| {
                bar.inc(bytes);
                bar.set_message(format!("{} added", report.added));
                if self.json && bytes == 0 && !self.dry_run {
                    let committed = report.added + report.updated + report.unchanged;
                    output::print_json_line(&serde_json::json!({ "committed": committed }));
                }
            })
            .await;
        bar.finish_and_clear();
        let Importer { mut report, dry_run, .. } = importer;
        for error in &report.errors {
            report_line!("{}: {error}", self.file.display());
        }
        if dry_run.is_none() {
            report.waiting = output::finish_indexing(&engine, &scope).await?;
            report.given_up = dead_letters::report(&engine, &scope).await?;
            report.vector_lag = engine.admin().latency_stats().get(&Job::Embedding).copied();
        }
        self.print_report(&report, dry_run.as_ref())?;
        result.with_context(|| self.file.display().to_string())?;
        Ok(if report.bad_lines == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Returns the given format, or the one that the file begins with.
    fn format(&self) -> Result<Format> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        if self.file == Path::new("-") || self.file.is_dir() {
            return Ok(Format::Jsonl);
        }
        let mut beginning = Vec::with_capacity(DETECTION_BYTES);
        open(&self.file)?.0.take(DETECTION_BYTES as u64).read_to_end(&mut beginning)?;
        let format = match detect(&beginning) {
            Some(SourceFormat::ChatGpt) => Format::ChatGpt,
            Some(SourceFormat::Claude) => Format::Claude,
            Some(SourceFormat::WhatsApp) => Format::WhatsApp,
            Some(SourceFormat::Letta) => Format::Letta,
            Some(SourceFormat::Zep) => Format::Zep,
            Some(SourceFormat::Mif) => Format::Mif,
            _ if self.file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("af")) => Format::Letta,
            _ => return Ok(Format::Jsonl),
        };
        let name = format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        report_line!("the file is read as --format {name}");
        Ok(format)
    }

    /// Returns the rows of the source and its size: in rows for Chroma, in bytes otherwise.
    fn rows(&self, format: Format, scope: &Scope) -> Result<(ImportRows, u64)> {
        let is_stdin = self.file == Path::new("-");
        ensure!(
            format.reads_stream() || !is_stdin,
            "this format cannot be read from standard input; name the file or directory"
        );
        let path = || self.file.display().to_string();
        match format {
            Format::ChatGpt => {
                open(&self.file).map(|(input, size)| (Box::new(chatgpt::rows(input)) as ImportRows, size))
            }
            Format::Claude => open(&self.file).map(|(input, size)| (Box::new(claude::rows(input)) as ImportRows, size)),
            Format::ClaudeCode => Ok(claude_code::rows(&self.file)?),
            Format::Codex => Ok(codex::rows(&self.file)?),
            Format::WhatsApp => Ok(whatsapp::rows(&self.file, self.me.as_deref()).with_context(path)?),
            Format::Markdown => Ok(markdown::rows(&self.file)?),
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
                    report_line!("the file is one page of several; the page named in \"next\" is not imported");
                }
                Ok((export.rows, size))
            }
            Format::Letta => {
                let (input, size) = open(&self.file)?;
                Ok((letta::read(input).with_context(path)?, size))
            }
            Format::Mif => {
                let (input, size) = open(&self.file)?;
                Ok((mif::read(input).with_context(path)?, size))
            }
            Format::Zep => {
                let (input, size) = open(&self.file)?;
                let export = zep::read(input).with_context(path)?;
                if export.is_partial {
                    report_line!("the file is one page of several; the others are not imported");
                }
                Ok((export.rows, size))
            }
        }
    }

    /// Opens the database. A dry run creates no database, and does not change an existing one.
    async fn engine(&self) -> Result<MemoryEngine> {
        if !self.dry_run {
            return self.store.create_with(self.enrichment.engine_options()?).await;
        }
        let options =
            EngineOptions { screening: Some(self.enrichment.screening.policy()?), ..EngineOptions::default() };
        match self.store.database.open_without_indexes_with(options).await {
            Ok(engine) => Ok(engine),
            Err(_) if self.store.database.database()?.path().is_some_and(|path| !path.exists()) => {
                Ok(MemoryEngine::builder().in_memory().background(false).build().await?)
            }
            Err(e) => Err(e),
        }
    }

    fn print_report(&self, report: &FileImportReport, dry_run: Option<&DryRun>) -> Result<()> {
        if self.json {
            let mut data = serde_json::to_value(report)?;
            if let Some(dry_run) = dry_run {
                data["dry_run"] = dry_run.data();
            }
            print_line!("{data}");
            return Ok(());
        }
        let database = self.store.database.database()?;
        match dry_run {
            None => print_line!("{} added to {database}", output::counted(report.added, "record", "records")),
            Some(dry_run) => {
                print_line!(
                    "{} would be added to {database}; nothing was written",
                    output::counted(report.added, "record", "records")
                );
                for line in dry_run.lines() {
                    print_line!("{line}");
                }
            }
        }
        let rows = [
            (report.updated, "record replaced", "records replaced"),
            (report.unchanged, "record was stored already", "records were stored already"),
            (
                report.different,
                "of these differs from the record stored with its id (--update replaces it)",
                "of these differ from the records stored with their ids (--update replaces them)",
            ),
            (
                report.forgotten,
                "record was forgotten earlier and is not imported",
                "records were forgotten earlier and are not imported",
            ),
            (report.pending, "record waits for `memory review`", "records wait for `memory review`"),
            (report.tombstones, "tombstone imported", "tombstones imported"),
            (report.vectors, "vector imported", "vectors imported"),
            (report.passed_over, "row without text skipped", "rows without text skipped"),
            (report.bad_lines, "bad line skipped", "bad lines skipped"),
        ];
        for (count, singular, plural) in rows.into_iter().filter(|(count, ..)| *count > 0) {
            print_line!("{}", output::counted(count, singular, plural));
        }
        if let Some(lag) = report.vector_lag {
            let (p50, p95) = (output::duration(lag.p50), output::duration(lag.p95));
            print_line!("searchable by keywords at once, by vectors after {p50} (median) to {p95} (95th percentile)");
        }
        Ok(())
    }
}

fn open(file: &Path) -> Result<(Box<dyn BufRead + Send>, u64)> {
    if file == Path::new("-") {
        return Ok((Box::new(BufReader::new(io::stdin())), 0));
    }
    let failed = || format!("{} cannot be read", file.display());
    let input = memory_engine_import::open_named(file)?;
    let metadata = input.metadata().with_context(failed)?;
    if metadata.is_dir() {
        bail!("{} is a directory; name a file, or set the format of the directory with --format", file.display());
    }
    Ok((Box::new(BufReader::with_capacity(1 << 20, input)), metadata.len()))
}
