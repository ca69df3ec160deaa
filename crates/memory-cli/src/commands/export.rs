//! `memory export`.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Args;
use memory_engine::{MemoryEngine, ScanQuery, Scope};

use crate::{
    args::{ScopeArgs, StoreArgs},
    line, output,
};

const PAGE: usize = 1000;

/// Write everything as JSON Lines that `import` takes back, tombstones included.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file to write; standard output when there is none
    #[arg(long, short)]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl Export {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let engine = self.store.open().await?;
        let output: Box<dyn Write> = match &self.output {
            None => Box::new(io::stdout().lock()),
            Some(path) => {
                Box::new(File::create(path).with_context(|| format!("{} cannot be written", path.display()))?)
            }
        };
        let count = write_all(&engine, &scope, BufWriter::new(output)).await?;
        if let Some(path) = &self.output {
            eprintln!("{count} lines written to {}", path.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn write_all(engine: &MemoryEngine, scope: &Scope, mut output: impl Write) -> Result<u64> {
    let stats = engine.stats(scope).await?;
    let bar = output::progress(stats.records + stats.tombstones, "exporting {wide_bar} {pos}/{len} {eta}");
    let mut count = 0;
    let mut after = None;
    loop {
        let page = engine.scan(scope, &ScanQuery::oldest(PAGE).with_after(after)).await?;
        for record in &page.records {
            writeln!(output, "{}", line::write(record))?;
            count += 1;
        }
        bar.set_position(count);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut last = None;
    loop {
        let page = engine.tombstones(scope, last, PAGE).await?;
        let Some(end) = page.last().map(|t| t.id) else { break };
        for tombstone in &page {
            writeln!(output, "{}", line::write_tombstone(tombstone))?;
            count += 1;
        }
        bar.set_position(count);
        last = Some(end);
    }
    output.flush()?;
    bar.finish_and_clear();
    Ok(count)
}
