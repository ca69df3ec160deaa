//! `memory export`.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use futures::TryStreamExt;
use memory_engine::{MemoryEngine, Scope, Timestamp};
use serde_json::Value;

use crate::{
    args::{DatabaseArgs, ScopeArgs, ZoneArgs},
    as_of::{self, AsOfArgs},
    line, markdown_export, mif_export, output,
    output_file::OutputFile,
    records::PAGE_RECORDS,
};

/// Write records as JSON Lines, which `import` reads, or in an open format.
///
/// JSON Lines contain all records and tombstones, an open format the active records.
#[derive(Debug, Args)]
pub(crate) struct ExportCommand {
    /// Format
    ///
    /// `jsonl` loses nothing; `markdown` and `mif` have the active records, for people and for other programs.
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// File or folder to write; default: standard output
    ///
    /// A file, or `-` for standard output; with `--format markdown` a new or empty folder. A symbolic link, a FIFO or a
    /// device is never replaced. A new file can be read by its owner only.
    #[arg(long, short)]
    output: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    as_of: AsOfArgs,
    #[command(flatten)]
    timezone: ZoneArgs,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A JSON object in each line.
    Jsonl,
    /// A Markdown file for each record: a bundle of the Open Knowledge Format (`okf` is the same).
    #[value(alias = "okf")]
    Markdown,
    /// A corpus of the Modeled Information Format: one JSON file.
    Mif,
}

impl ExportCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let as_of = self.as_of.time(&self.timezone.zone())?;
        if self.format == ExportFormat::Markdown {
            let Some(folder) = self.output.as_deref().filter(|path| *path != Path::new("-")) else {
                bail!("--format markdown needs --output FOLDER, a new or empty folder");
            };
            let engine = self.database.open_without_indexes().await?;
            engine.audit().log_export(&scope, "memory export --format markdown").await?;
            let count = markdown_export::write_folder(&engine, &scope, folder, as_of).await?;
            report_line!("{} written to {}", output::counted(count, "file", "files"), folder.display());
            return Ok(ExitCode::SUCCESS);
        }
        let engine = self.database.open_without_indexes().await?;
        let Some(path) = self.output.as_deref().filter(|path| *path != Path::new("-")) else {
            let mut output = BufWriter::new(io::stdout().lock());
            self.write_lines(&engine, &scope, as_of, |line| Ok(writeln!(output, "{line}")?)).await?;
            output.flush()?;
            return Ok(ExitCode::SUCCESS);
        };
        if self.database.database()?.path().is_some_and(|db| is_database_file(path, db)) {
            bail!("{} is the database itself; name another file with --output", path.display());
        }
        let mut file = OutputFile::create(path)?;
        let count = self.write_lines(&engine, &scope, as_of, |line| file.write_line(line)).await?;
        file.finish()?;
        report_line!("{count} written to {}", path.display());
        Ok(ExitCode::SUCCESS)
    }

    /// Passes each line of the file to `write`. Returns the number of written records, for messages.
    async fn write_lines(
        &self,
        engine: &MemoryEngine,
        scope: &Scope,
        as_of: Option<Timestamp>,
        mut write: impl FnMut(&str) -> Result<()>,
    ) -> Result<String> {
        let is_mif = self.format == ExportFormat::Mif;
        let operation = if is_mif { "memory export --format mif" } else { "memory export" };
        engine.audit().log_export(scope, operation).await?;
        if is_mif {
            let count = mif_export::write_corpus(engine, scope, as_of, write).await?;
            return Ok(output::counted(count, "record", "records"));
        }
        let count = write_all(engine, scope, as_of, |line| write(&line.to_string())).await?;
        Ok(output::counted(count, "line", "lines"))
    }
}

/// Returns true if the path is the database, its write-ahead log or its shared-memory file.
fn is_database_file(path: &Path, db: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    ["", "-wal", "-shm"].iter().any(|suffix| {
        let mut file = db.as_os_str().to_owned();
        file.push(suffix);
        Path::new(&file).canonicalize().is_ok_and(|file| file == path)
    })
}

/// Passes each line to `write`: records as they were at a time without tombstones, or all of the present. Returns their
/// number.
async fn write_all(
    engine: &MemoryEngine,
    scope: &Scope,
    as_of: Option<Timestamp>,
    mut write: impl FnMut(Value) -> Result<()>,
) -> Result<u64> {
    let stats = engine.stats(scope).await?;
    let bar = output::progress(stats.records + stats.tombstones, "exporting {wide_bar} {pos}/{len} records {eta}");
    let mut count = 0;
    let mut records = as_of::records(engine, scope, as_of).stream();
    while let Some(record) = records.try_next().await? {
        write(line::write(&record))?;
        count += 1;
        bar.set_position(count);
    }
    let mut last = None;
    // A record that was deleted since is part of the past, so its tombstone is not.
    while as_of.is_none() {
        let page = engine.admin().tombstones(scope, last, PAGE_RECORDS).await?;
        let Some(end) = page.last().map(|t| t.id) else { break };
        for tombstone in &page {
            write(line::write_tombstone(tombstone))?;
            count += 1;
        }
        bar.set_position(count);
        last = Some(end);
    }
    bar.finish_and_clear();
    Ok(count)
}
