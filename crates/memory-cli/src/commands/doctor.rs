//! `memory doctor`.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Args;
use memory_engine::{
    Clock, Database, Scope, SystemClock,
    admin::{self, HealthReport},
};

use crate::{
    args::{self, StoreArgs},
    dead_letters, errors, output,
    report::ReportArgs,
};

/// Check the whole database and list its problems.
///
/// Shows backend, schema, extensions, what the indexes were made by, what is stored and what waits, for all tenants
/// together. Ends with 1 when something is wrong. Changes nothing.
#[derive(Debug, Args)]
pub(crate) struct DoctorCommand {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl DoctorCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let db = self.store.database()?;
        let mut checkup = admin::checkup(&db).await.with_context(|| db.to_string())?;
        if checkup.schema == 0 {
            checkup
                .problems
                .push("there is no memory in it yet; `memory import FILE` or `memory add` makes one".into());
        } else if checkup.schema == checkup.known_schema {
            // Opening an older one would change it.
            if let Err(e) = self.store.create().await {
                checkup.problems.push(errors::describe(&e));
            }
        }
        let given_up = given_up(&db, &checkup).await?;
        checkup.problems.extend(given_up);
        let code = if checkup.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        let mut report = serde_json::to_value(&checkup)?;
        report["database"] = db.to_string().into();
        report["healthy"] = checkup.problems.is_empty().into();
        self.report.print(&report, || {
            let problems: String = checkup.problems.iter().map(|problem| format!("\nwrong: {problem}")).collect();
            let verdict = if problems.is_empty() { "\nnothing is wrong" } else { "" };
            format!("{}{problems}{verdict}", table(&db.to_string(), &checkup))
        })?;
        Ok(code)
    }
}

/// Describes the jobs given up, for all tenants together.
async fn given_up(db: &Database, checkup: &HealthReport) -> Result<Vec<String>> {
    let counts = checkup.waiting.iter().map(|(job, waiting)| (*job, waiting.given_up));
    let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    let mut reasons = BTreeMap::new();
    if !counts.is_empty() && checkup.schema == checkup.known_schema {
        let engine = args::as_it_is(db).await?;
        let tenants: BTreeSet<String> =
            admin::namespaces(db).await?.iter().map(|scope| scope.tenant().to_owned()).collect();
        for tenant in tenants {
            reasons.extend(dead_letters::reasons(&engine, &Scope::tenant_wide(tenant)?).await?);
        }
    }
    Ok(counts.into_iter().map(|(job, count)| dead_letters::describe(job, count, reasons.get(&job))).collect())
}

fn table(db: &str, checkup: &HealthReport) -> String {
    let mut table = output::table(["what", "how it is"]);
    let mut row = |what: &str, how: String| {
        table.add_row([what.to_owned(), how]);
    };
    row("database", db.to_owned());
    row("backend", checkup.backend.clone());
    let known = checkup.known_schema;
    row(
        "schema",
        match checkup.schema {
            schema if schema == known => schema.to_string(),
            schema => {
                format!("{schema}; this version brings it to {known} when it opens it, or `memory migrate up` does")
            }
        },
    );
    if checkup.partitions > 0 {
        row("partitions", checkup.partitions.to_string());
    }
    for (name, version) in &checkup.extensions {
        row(&format!("extension {name}"), version.clone());
    }
    for (what, made_by) in [("analyzer", &checkup.analyzer), ("embedding space", &checkup.space)] {
        row(what, made_by.clone().unwrap_or_else(|| "none yet".into()));
    }
    if let Some(space) = &checkup.second_space {
        row("second generation", format!("{space}; not in use (not complete yet, or replaced)"));
    }
    for (what, count) in &checkup.counts {
        row(what, count.to_string());
    }
    for (job, waiting) in &checkup.waiting {
        let first = waiting.oldest.map(|since| output::first_waits(SystemClock.now().since(since)));
        row(&format!("waiting for {job}"), format!("{}{}", waiting.records, first.unwrap_or_default()));
        if waiting.given_up > 0 {
            row(&format!("given up for {job}"), waiting.given_up.to_string());
        }
    }
    table.to_string()
}
