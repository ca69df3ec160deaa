//! `memory test`.

mod invalid_file;
mod junit;
mod record;

use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use invalid_file::invalid_file;
use memory_engine::Scope;
use record::RecordCommand;

use crate::{
    args::{StoreArgs, ZoneArgs},
    engine_options::RecallArgs,
    output,
    regression::{
        case::TestCase,
        case_file::{self, CaseFile},
        outcome::{CaseOutcome, TestSummary},
        runner::CaseRunner,
    },
    report::ReportArgs,
};

/// Test which memories a store finds: runs the cases of a TOML file.
///
/// A case is a query with the records that must, and must not, be among its hits or in the block that reaches the
/// model. The store is only read. A failed case shows what was found, and explains why the expected records were not.
/// Exit code: 0 if all cases pass, 1 if a case fails, 2 if the file is not valid.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TestCommand {
    #[command(subcommand)]
    action: Option<TestAction>,
    /// File of cases, in TOML
    ///
    /// With entries `[[case]]` of query, user, and expect, forbid or abstain.
    #[arg(required = true, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    recall: RecallArgs,
    /// Run only the case with this name; repeatable
    #[arg(long = "case", value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    timezone: ZoneArgs,
    /// Write the outcomes to this file as JUnit XML
    ///
    /// For the reports of CI services.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print a line of JSON for each case, and one with their numbers
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TestAction {
    /// Add a case to a file: what a search finds now is expected from now on
    Record(Box<RecordCommand>),
}

impl TestCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match (&self.action, &self.file) {
            (Some(TestAction::Record(command)), _) => command.run().await,
            (None, Some(file)) => self.test(file).await,
            // The argument is required without a subcommand.
            (None, None) => bail!("no file given; write `memory test FILE`"),
        }
    }

    async fn test(&self, file: &std::path::Path) -> Result<ExitCode> {
        let zone = self.timezone.zone();
        let read = case_file::read(file, &zone).and_then(|cases| {
            let selected = select(&cases, &self.names)?;
            Ok((cases.defaults.zone, selected))
        });
        let (zone, cases) = match read {
            Ok(read) => read,
            Err(e) => return Ok(invalid_file(&e)),
        };
        let runner = CaseRunner::open(&self.store, &self.recall, &zone).await?;
        warn_unindexed(&runner, &cases).await?;
        let mut outcomes = Vec::with_capacity(cases.len());
        let mut summary = TestSummary::default();
        for case in &cases {
            let outcome = runner.run(case).await?;
            summary.add(&outcome);
            self.print(&outcome, CaseOutcome::describe)?;
            outcomes.push(outcome);
        }
        self.print(&summary, TestSummary::describe)?;
        if let Some(path) = &self.junit {
            junit::write(path, file, &outcomes)?;
        }
        Ok(if summary.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn print<T: serde::Serialize>(&self, data: &T, text: impl FnOnce(&T) -> String) -> Result<()> {
        ReportArgs { json: self.json }.print_line(data, || text(data))?;
        Ok(())
    }
}

/// Returns the cases with these names; all if there are no names.
///
/// # Errors
/// If no case has one of the names.
fn select(file: &CaseFile, names: &[String]) -> Result<Vec<TestCase>> {
    let known: BTreeSet<&str> = file.cases.iter().map(|case| case.name.as_str()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name.as_str())) {
        let known = known.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        bail!("no case has the name \"{unknown}\"; the file has {known}");
    }
    let is_selected = |case: &&TestCase| names.is_empty() || names.contains(&case.name);
    Ok(file.cases.iter().filter(is_selected).cloned().collect())
}

/// Warns about records without vectors or keywords: they are found later, and a case may fail until then.
async fn warn_unindexed(runner: &CaseRunner, cases: &[TestCase]) -> Result<()> {
    let tenants: BTreeSet<&str> = cases.iter().map(|case| case.scope.tenant()).collect();
    let mut waiting = 0;
    for tenant in tenants {
        waiting += runner.waiting_records(&Scope::tenant_wide(tenant)?).await?;
    }
    if waiting > 0 {
        let records = output::counted(waiting, "record is", "records are");
        report_line!("warning: {records} not indexed yet, so that the results may change");
    }
    Ok(())
}
