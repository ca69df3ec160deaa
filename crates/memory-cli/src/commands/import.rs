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
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use memory_engine::{Job, MemoryEngine, PutMode, Scope};
use memory_engine_import::{DEFAULT_SOURCE, ImportRows, ImportSource, Reader, SOURCES, SourceOptions, SourceRows};

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
/// "session", "branch", "role", "speaker", "time" (or "timestamp"), "scene", "kind", "tags", "confidence" and
/// "metadata" are optional. Other keys are stored as metadata. Existing records are not changed.
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
    #[arg(long, value_parser = format_parser(), long_help = format_help())]
    format: Option<&'static ImportSource>,
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

/// Number of bytes of a file that its format is recognised by.
const DETECTION_BYTES: usize = 16 << 10;

impl ImportCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let source = self.source()?;
        ensure!(self.collection.is_none() || source.name == "chroma", "--collection needs --format chroma");
        ensure!(
            !self.keep_vectors || ["chroma", "csv"].contains(&source.name),
            "--keep-vectors needs --format chroma or --format csv"
        );
        ensure!(self.me.is_none() || source.name == "whatsapp", "--me needs --format whatsapp");
        let scope = self.scope.scope()?;
        let zone = self.timezone.zone();
        let (rows, size) = self.rows(source, &scope)?;
        let engine = self.engine().await?;
        let units = if source.name == "chroma" { "{pos}/{len} rows" } else { "{bytes}/{total_bytes}" };
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
                // A call without bytes follows a commit.
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
            report.dead_letters = dead_letters::report(&engine, &scope).await?;
            report.vector_lag = engine.admin().latency_stats().get(&Job::Embedding).copied();
        }
        self.print_report(&report, dry_run.as_ref())?;
        result.with_context(|| self.file.display().to_string())?;
        Ok(if report.bad_lines == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Returns the given format, or the one that the file begins with.
    fn source(&self) -> Result<&'static ImportSource> {
        if let Some(source) = self.format {
            return Ok(source);
        }
        if self.file == Path::new("-") {
            return Ok(DEFAULT_SOURCE);
        }
        if let Some(source) = ImportSource::detect_export(&self.file, DETECTION_BYTES as u64) {
            report_line!("the export is read as --format {}", source.name);
            return Ok(source);
        }
        if self.file.is_dir() {
            return Ok(DEFAULT_SOURCE);
        }
        let mut beginning = Vec::with_capacity(DETECTION_BYTES);
        open(&self.file)?.0.take(DETECTION_BYTES as u64).read_to_end(&mut beginning)?;
        let has_extension_of_letta = || self.file.extension().is_some_and(|name| name.eq_ignore_ascii_case("af"));
        let source = ImportSource::detect(&beginning)
            .or_else(|| ImportSource::named("letta").filter(|_| has_extension_of_letta()));
        let Some(source) = source else { return Ok(DEFAULT_SOURCE) };
        report_line!("the file is read as --format {}", source.name);
        Ok(source)
    }

    /// Returns the rows of the source and its size: in rows for Chroma, in bytes otherwise.
    fn rows(&self, source: &ImportSource, scope: &Scope) -> Result<(ImportRows, u64)> {
        let is_input = self.file == Path::new("-");
        match source.reader {
            Reader::StreamOrPath(read, _) if is_input => Ok((read(open(&self.file)?.0)?.rows, 0)),
            Reader::Stream(read) => {
                let (input, size) = open(&self.file)?;
                let SourceRows { rows, notice } = read(input).with_context(|| self.file.display().to_string())?;
                if let Some(notice) = notice {
                    report_line!("{notice}");
                }
                Ok((rows, size))
            }
            Reader::StreamOrPath(_, read) | Reader::Path(read) => {
                let message = "this format cannot be read from standard input; name the file or directory";
                ensure!(!is_input, message);
                let options = SourceOptions {
                    scope,
                    me: self.me.as_deref(),
                    collection: self.collection.as_deref(),
                    with_vectors: self.keep_vectors,
                };
                Ok(read(&self.file, &options)?)
            }
        }
    }

    /// Opens the database. A dry run creates no database, and does not change an existing one.
    async fn engine(&self) -> Result<MemoryEngine> {
        if !self.dry_run {
            let options = self.enrichment.engine_options()?.with_locale(self.timezone.zone(), None);
            return self.store.create_with(options).await;
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
            (report.passed_over, "row without own words skipped", "rows without own words skipped"),
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

/// Accepts the names of all formats, with a line of help for each.
fn format_parser() -> impl TypedValueParser<Value = &'static ImportSource> {
    let values = SOURCES.iter().map(|source| PossibleValue::new(source.name).help(source.help).aliases(source.alias));
    PossibleValuesParser::new(values).try_map(|name| ImportSource::named(&name).ok_or("no such format"))
}

fn format_help() -> String {
    let mut names: Vec<_> = SOURCES.iter().filter(|source| source.is_detectable()).map(|source| source.name).collect();
    names.sort_unstable();
    let last = names.pop().unwrap_or_default();
    let names = names.join(", ");
    format!(
        "Format of the file; default: recognised\n\n{names} and {last} are recognised by the beginning of the file. \
         Any other file is read as jsonl."
    )
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
