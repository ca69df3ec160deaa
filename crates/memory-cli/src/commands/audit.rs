//! `memory audit`.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use memory_engine::{
    Clock, RecordId, Scope, SystemClock, Timestamp,
    audit::{AuditAction, AuditEntry, AuditHead, AuditOutcome, AuditPage, AuditQuery},
};

use crate::{
    args::{DatabaseArgs, ScopeArgs, StoreArgs, ZoneArgs},
    embedder::EmbedderArgs,
    engine_options::EngineOptions,
    output,
    output_file::OutputFile,
    target_args::TargetArgs,
};

/// Number of entries that an export reads at a time.
const EXPORT_PAGE_ENTRIES: usize = 1000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Read and verify the log of who changed, deleted or exported records.
///
/// Entries have no texts of records. Nothing is logged until `memory audit start`. From then on, every command and
/// every server that opens the store
/// logs. A running server has to be started again.
#[derive(Debug, Args)]
pub(crate) struct AuditCommand {
    #[command(subcommand)]
    action: AuditSubcommand,
}

#[derive(Debug, Subcommand)]
enum AuditSubcommand {
    /// Begin the log of the tenant; everything that opens the store later logs
    Start(Start),
    /// List entries, newest first
    List(List),
    /// Check that no entry was changed or removed; the exit code is 1 if one was
    Verify(Verify),
    /// Print the number and the hash of the latest entry
    ///
    /// Note them outside of the database, for `verify --expect`.
    Head(TargetArgs),
    /// Remove old entries; the removal is logged
    Prune(Prune),
    /// Write all entries within a scope as JSON Lines, oldest first, with their hashes
    Export(Export),
}

#[derive(Debug, Args)]
struct Start {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    embedder: EmbedderArgs,
}

#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    filter: EntryFilter,
    /// Maximum number of entries
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Continue after the entry with this number
    #[arg(long, value_name = "SEQUENCE")]
    after: Option<u64>,
    #[command(flatten)]
    target: TargetArgs,
}

/// The entries that are listed.
#[derive(Debug, Args)]
struct EntryFilter {
    /// Only entries of this key
    ///
    /// The name of a key of the server, cli:USER for commands, or engine for background work.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Only entries of this program or agent, as it states itself
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// Only entries with this action, such as delete; repeatable
    #[arg(long, value_name = "NAME")]
    action: Vec<AuditAction>,
    /// Only entries that name this record
    #[arg(long, value_name = "ID")]
    record: Option<RecordId>,
    /// Only entries written at this time or later
    ///
    /// Such as 2026-02-18 or 2026-02-18T20:00.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only entries written before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[command(flatten)]
    zone: ZoneArgs,
}

#[derive(Debug, Args)]
struct Verify {
    /// Entry that the log must contain
    ///
    /// It was noted earlier with `memory audit head`.
    #[arg(long, value_name = "SEQUENCE:HASH")]
    expect: Option<AuditHead>,
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Args)]
struct Prune {
    /// Remove entries written before this time, such as 2026-02-18
    #[arg(long, value_name = "TIME", required_unless_present = "keep_days", conflicts_with = "keep_days")]
    before: Option<String>,
    /// Remove entries that are older than this number of days
    #[arg(long, value_name = "DAYS")]
    keep_days: Option<u32>,
    #[command(flatten)]
    zone: ZoneArgs,
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Args)]
struct Export {
    /// File to write, or `-` for standard output, which is the default
    #[arg(long, short)]
    output: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    scope: ScopeArgs,
}

impl AuditCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.action {
            AuditSubcommand::Start(start) => start.run().await,
            AuditSubcommand::List(list) => list.run().await,
            AuditSubcommand::Verify(verify) => verify.run().await,
            AuditSubcommand::Head(target) => head(&target).await,
            AuditSubcommand::Prune(prune) => prune.run().await,
            AuditSubcommand::Export(export) => export.run().await,
        }
    }
}

impl Start {
    async fn run(self) -> Result<ExitCode> {
        let TargetArgs { database, scope, report } = self.target;
        let scope = scope.scope()?;
        let engine = StoreArgs::new(database, self.embedder).create_without_indexes(EngineOptions::default()).await?;
        engine.audit().start(&scope).await?;
        let chain = engine.audit().chain(&scope).await?;
        report.print_line(&chain, || {
            let tenant = scope.tenant();
            format!("the audit log of tenant {tenant} is on; restart servers that have this store open")
        })
    }
}

async fn head(target: &TargetArgs) -> Result<ExitCode> {
    let scope = target.scope.scope()?;
    let chain = target.open().await?.audit().chain(&scope).await?;
    target.report.print_line(&chain, || chain.head.to_string())
}

impl EntryFilter {
    /// Applies the filter to a query.
    fn apply(self, mut query: AuditQuery) -> Result<AuditQuery> {
        let zone = self.zone.zone();
        let time = |text: Option<String>| text.map(|text| Timestamp::parse_in(&text, &zone)).transpose();
        query.since = time(self.since)?;
        query.until = time(self.until)?;
        query.key = self.key;
        query.agent = self.program;
        query.actions = self.action;
        query.record = self.record;
        Ok(query)
    }
}

impl List {
    async fn run(self) -> Result<ExitCode> {
        let zone = self.filter.zone.zone();
        let query = self.filter.apply(AuditQuery::newest(self.limit).with_after(self.after))?;
        let scope = self.target.scope.scope()?;
        let page = self.target.open().await?.audit().read(&scope, &query).await?;
        if self.target.report.json {
            for entry in &page.entries {
                print_line!("{}", serde_json::to_string(entry)?);
            }
            return Ok(ExitCode::SUCCESS);
        }
        print_line!("{}", describe(&page, &scope, &zone));
        Ok(ExitCode::SUCCESS)
    }
}

fn describe(page: &AuditPage, scope: &Scope, zone: &TimeZone) -> String {
    if page.entries.is_empty() {
        return format!("no entries within {scope}; `memory audit start` begins a log");
    }
    let mut table = output::table(["entry", "time", "key", "program", "action", "operation", "scope", "records"]);
    for entry in &page.entries {
        let event = &entry.event;
        let dimensions = event.scope.dimensions().into_iter();
        let names: Vec<String> = dimensions.filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
        table.add_row([
            entry.sequence.to_string(),
            entry.at.in_zone(zone).strftime("%Y-%m-%d %H:%M:%S").to_string(),
            event.actor.key().unwrap_or("-").to_owned(),
            output::shorten(event.actor.agent().unwrap_or("-"), 40),
            describe_action(entry),
            output::shorten(&event.operation, 40),
            if names.is_empty() { "all users".to_owned() } else { names.join(", ") },
            describe_records(entry),
        ]);
    }
    match page.next {
        Some(next) => format!("{table}\nolder entries: --after {next}"),
        None => table.to_string(),
    }
}

fn describe_action(entry: &AuditEntry) -> String {
    match entry.event.outcome {
        AuditOutcome::Started => entry.event.action.to_string(),
        AuditOutcome::Failed { entry: started, error } => {
            format!("{} {started} failed: {error}", entry.event.action)
        }
    }
}

fn describe_records(entry: &AuditEntry) -> String {
    match entry.event.records.as_slice() {
        [] if entry.event.count == 0 => "-".to_owned(),
        [one] => one.to_string(),
        _ => entry.event.count.to_string(),
    }
}

impl Verify {
    async fn run(self) -> Result<ExitCode> {
        let scope = self.target.scope.scope()?;
        let engine = self.target.open().await?;
        let verification = engine.audit().verify(&scope, self.expect.as_ref()).await?;
        let is_intact = verification.is_intact();
        self.target.report.print_line(&verification, || {
            let entries = output::counted(verification.entries, "entry", "entries");
            let mut text = format!("{entries} of tenant {} read, up to {}", scope.tenant(), verification.chain.head);
            if verification.chain.anchor.sequence > 0 {
                text += &format!("\nentries up to {} were pruned", verification.chain.anchor.sequence);
            }
            if is_intact {
                text += "\nthe log is intact";
            }
            for problem in &verification.problems {
                text += &format!("\nproblem: {problem}");
            }
            text
        })?;
        Ok(if is_intact { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Prune {
    async fn run(self) -> Result<ExitCode> {
        let before = match (&self.before, self.keep_days) {
            (Some(time), _) => Timestamp::parse_in(time, &self.zone.zone())?,
            (None, Some(days)) => SystemClock.now().before(DAY * days),
            (None, None) => bail!("name a time with --before TIME, or a number of days with --keep-days DAYS"),
        };
        let scope = self.target.scope.scope()?;
        if scope != Scope::tenant_wide(scope.tenant())? {
            bail!("the entries of a tenant are one chain and are removed together; leave out --user and the like");
        }
        let report = self.target.open().await?.audit().prune(&scope, before).await?;
        self.target.report.print_line(&report, || {
            let entries = output::counted(report.removed, "entry", "entries");
            format!("{entries} removed; the first remaining one is {}", report.anchor.sequence + 1)
        })
    }
}

impl Export {
    async fn run(self) -> Result<ExitCode> {
        let scope = self.scope.scope()?;
        let engine = self.database.open_without_indexes().await?;
        let Some(path) = self.output.as_deref().filter(|path| *path != Path::new("-")) else {
            let mut output = BufWriter::new(io::stdout().lock());
            write_entries(&engine, &scope, |line| Ok(writeln!(output, "{line}")?)).await?;
            output.flush()?;
            return Ok(ExitCode::SUCCESS);
        };
        let mut file = OutputFile::create(path)?;
        let count = write_entries(&engine, &scope, |line| file.write_line(line)).await?;
        file.finish()?;
        report_line!("{} written to {}", output::counted(count, "entry", "entries"), path.display());
        Ok(ExitCode::SUCCESS)
    }
}

/// Passes each entry to `write` as a line of JSON. Returns their number.
async fn write_entries(
    engine: &memory_engine::MemoryEngine,
    scope: &Scope,
    mut write: impl FnMut(&str) -> Result<()>,
) -> Result<u64> {
    let mut query = AuditQuery::oldest(EXPORT_PAGE_ENTRIES);
    let mut count = 0;
    loop {
        let page = engine.audit().read(scope, &query).await?;
        for entry in &page.entries {
            write(&serde_json::to_string(entry)?)?;
            count += 1;
        }
        match page.next {
            Some(next) => query = query.with_after(Some(next)),
            None => return Ok(count),
        }
    }
}
