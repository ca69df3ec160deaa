//! `memory doctor`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::Args;
use memory_engine::{
    Clock, Database, Scope, SystemClock,
    admin::{self, HealthReport},
};
use serde_json::json;

use crate::{
    args::{self, StoreArgs},
    dead_letters,
    engine_options::EngineOptions,
    errors,
    fact_source::LatestFact,
    output,
    output_file::OutputFile,
    report::ReportArgs,
};

/// Time between two lines about the progress of a check.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(3);

/// Check the whole database and list its problems.
///
/// Shows the backend, the schema, the extensions, the analyzer and embedding space of the indexes, the counts and the
/// queues, for all tenants together. With --json, `findings` lists the problems by kind, each with a number and ids as
/// examples. The exit code is 1 if there is a problem. Changes nothing without --repair.
#[derive(Debug, Args)]
pub(crate) struct DoctorCommand {
    #[command(flatten)]
    store: StoreArgs,
    /// First repair what can be repaired
    ///
    /// Deletes no memory, and queues index entries that have to be computed again.
    #[arg(long)]
    repair: bool,
    /// Write the records that cannot be read to a new file, and remove them from the database
    ///
    /// One JSON object in each line, with the values of the row by column. The file can be read by its owner only, and
    /// no later deletion changes it. Records that were derived from a removed one are deleted.
    #[arg(long, value_name = "FILE", requires = "repair")]
    quarantine: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
}

impl DoctorCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let db = self.store.database.database()?;
        if self.repair {
            for repaired in admin::repair(&db).await.with_context(|| db.to_string())? {
                report_line!("{repaired}");
            }
        }
        if let Some(file) = &self.quarantine {
            quarantine(&db, file).await?;
        }
        let health = admin::check_health_with_progress(&db, progress()).await;
        let mut health = health.with_context(|| db.to_string())?;
        if health.schema == 0 {
            health
                .problems
                .push("the database has no memory yet; `memory import FILE` or `memory add` creates one".into());
        } else if health.schema == health.known_schema {
            // Opening a database with an older schema would migrate it.
            // Without a named embedder, the database of another one is in order.
            let opened = match self.store.embedder.is_auto() {
                true => self.store.open_with_any_embedder(EngineOptions::default()).await,
                false => self.store.create().await,
            };
            if let Err(e) = opened {
                health.problems.push(errors::describe(&e));
            }
        }
        if health.repairable > 0 {
            report_line!("`memory doctor --repair` repairs {} of these kinds of problems", health.repairable);
        }
        let failed_jobs = describe_failed_jobs(&db, &health).await?;
        health.problems.extend(failed_jobs);
        let code = if health.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        let mut report = serde_json::to_value(&health)?;
        report["database"] = db.to_string().into();
        // A database that cannot be read has its problems listed already.
        let latest_fact = latest_fact(&db, &health).await.unwrap_or_default();
        report["latest_fact"] = serde_json::to_value(&latest_fact)?;
        report["healthy"] = health.problems.is_empty().into();
        self.report.print(&report, || {
            let problems: String = health.problems.iter().map(|problem| format!("\nproblem: {problem}")).collect();
            let verdict = if problems.is_empty() { "\nno problems found" } else { "" };
            let facts = latest_fact.map(|fact| format!("\nlatest fact: {}", fact.describe())).unwrap_or_default();
            format!("{}{facts}{problems}{verdict}", table(&db.to_string(), &health))
        })?;
        Ok(code)
    }
}

/// Writes the damaged records of all users to a new file, and then removes them from the database.
async fn quarantine(db: &Database, file: &Path) -> Result<()> {
    if file.exists() {
        bail!("{} exists already; name a new file", file.display());
    }
    let engine = args::open_database_without_indexes(db).await?;
    let mut output = OutputFile::create(file)?;
    let mut removals = Vec::new();
    let mut seen = BTreeSet::new();
    // The namespace of the records without a user covers the whole tenant, and comes last.
    let mut namespaces = admin::namespaces(db).await?;
    namespaces.sort_by_key(|scope| scope.user_name().is_none());
    for scope in namespaces {
        let mut ids = Vec::new();
        engine.audit().log_export(&scope, "memory doctor --quarantine").await?;
        for (record, rows) in engine.admin().damaged_records(&scope).await? {
            if !seen.insert((scope.user_name().map(str::to_owned), record.id)) {
                continue;
            }
            for row in rows {
                output.write_line(json!({ "damaged": record.column, "row": row }))?;
            }
            ids.push(record.id);
        }
        removals.push((scope, ids));
    }
    let count: usize = removals.iter().map(|(_, ids)| ids.len()).sum();
    if count == 0 {
        report_line!("no record has to be removed");
        return Ok(());
    }
    // The file is complete before the first removal.
    output.finish()?;
    File::open(file)?.sync_all()?;
    for (scope, ids) in removals.iter().filter(|(_, ids)| !ids.is_empty()) {
        engine.admin().remove_records(scope, ids).await?;
    }
    report_line!("{} moved to {}", output::counted(count as u64, "damaged record", "damaged records"), file.display());
    Ok(engine.close().await?)
}

/// Returns a function that shows the progress of a check that takes several seconds.
fn progress() -> impl Fn(usize, usize) + Send + Sync + 'static {
    let shown = Mutex::new(Instant::now());
    move |done, total| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.elapsed() >= PROGRESS_INTERVAL {
            report_line!("{done} of {total} checks done");
            *shown = Instant::now();
        }
    }
}

/// Describes the jobs that failed for good, for all tenants together.
async fn describe_failed_jobs(db: &Database, health: &HealthReport) -> Result<Vec<String>> {
    let counts = health.waiting.iter().map(|(job, waiting)| (*job, waiting.dead_letters));
    let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    let mut reasons = BTreeMap::new();
    if !counts.is_empty() && health.schema == health.known_schema {
        let engine = args::open_database_without_indexes(db).await?;
        for tenant in tenants(db).await? {
            reasons.extend(dead_letters::reasons(&engine, &tenant).await?);
        }
    }
    Ok(counts.into_iter().map(|(job, count)| dead_letters::describe(job, count, reasons.get(&job))).collect())
}

/// Returns the fact of the latest message of all tenants.
async fn latest_fact(db: &Database, health: &HealthReport) -> Result<Option<LatestFact>> {
    let mut latest = None;
    if health.schema == health.known_schema {
        let engine = args::open_database_without_indexes(db).await?;
        for tenant in tenants(db).await? {
            latest = latest.max(LatestFact::within(&engine, &tenant).await?);
        }
    }
    Ok(latest)
}

/// Returns the tenants of a database, each as the scope of all its users.
async fn tenants(db: &Database) -> Result<Vec<Scope>> {
    let names: BTreeSet<String> = admin::namespaces(db).await?.iter().map(|scope| scope.tenant().to_owned()).collect();
    Ok(names.into_iter().map(Scope::tenant_wide).collect::<memory_engine::Result<_>>()?)
}

fn table(db: &str, health: &HealthReport) -> String {
    let mut table = output::table(["item", "value"]);
    let mut row = |item: &str, value: String| {
        table.add_row([item.to_owned(), value]);
    };
    row("database", db.to_owned());
    row("backend", health.backend.clone());
    let known = health.known_schema;
    row(
        "schema",
        match health.schema {
            schema if schema == known => schema.to_string(),
            schema => format!("{schema}; opening the database or `memory migrate up` migrates it to {known}"),
        },
    );
    if health.partitions > 0 {
        row("partitions", health.partitions.to_string());
    }
    for (name, version) in &health.extensions {
        row(&format!("extension {name}"), version.clone());
    }
    for (item, name) in [("analyzer", &health.analyzer), ("embedding space", &health.space)] {
        row(item, name.clone().unwrap_or_else(|| "none yet".into()));
    }
    if let Some(space) = &health.second_space {
        row("second embedding space", format!("{space}; not in use (incomplete, or replaced)"));
    }
    for (item, count) in &health.counts {
        row(item, count.to_string());
    }
    for (job, waiting) in &health.waiting {
        let oldest = waiting.oldest.map(|since| output::oldest_wait(SystemClock.now().since(since)));
        row(&format!("queued for {job}"), format!("{}{}", waiting.records, oldest.unwrap_or_default()));
        if waiting.dead_letters > 0 {
            row(&format!("failed for {job}"), waiting.dead_letters.to_string());
        }
    }
    table.to_string()
}
