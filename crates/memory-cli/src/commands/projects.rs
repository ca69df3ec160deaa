//! `memory projects`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use memory_engine::{ForgetReport, Scope};
use memory_engine_agent_hooks::{Project, Projects};
use serde_json::json;

use super::forget::confirm;
use crate::{args::DatabaseArgs, output, report::ReportArgs};

/// List, rename, merge and delete the projects of coding agents.
///
/// A project is the repository or the folder in which an agent works. What is said in it belongs to it, unless it is
/// about the person. A project is named by its id or by its shown name.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ProjectsCommand {
    #[command(subcommand)]
    action: Option<ProjectsAction>,
    #[command(flatten)]
    target: ProjectsArgs,
}

/// The user whose projects are meant.
#[derive(Debug, Args)]
struct ProjectsArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Name of the tenant
    #[arg(long, default_value = Scope::DEFAULT_TENANT, value_name = "NAME")]
    tenant: String,
    /// Name of the user
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    user: String,
    #[command(flatten)]
    report: ReportArgs,
}

#[derive(Debug, Subcommand)]
enum ProjectsAction {
    /// List the projects, the latest used first (default)
    List {
        #[command(flatten)]
        target: ProjectsArgs,
    },
    /// Give a project another name to show
    Rename {
        /// Id or shown name of the project
        project: String,
        /// Its new name
        name: String,
        #[command(flatten)]
        target: ProjectsArgs,
    },
    /// Make two projects one, for example after a folder was moved
    Merge {
        /// The project that becomes a part of the other
        from: String,
        /// The project that remains
        into: String,
        #[command(flatten)]
        target: ProjectsArgs,
    },
    /// Delete the memories of a project for good
    Forget {
        /// Id or shown name of the project
        project: String,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        target: ProjectsArgs,
    },
}

impl ProjectsArgs {
    async fn projects(&self) -> Result<Projects> {
        let user = Scope::tenant_wide(&self.tenant)?.with_user(&self.user)?;
        Ok(Projects::new(self.database.open_without_indexes().await?, &user))
    }
}

impl ProjectsCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.action.unwrap_or(ProjectsAction::List { target: self.target }) {
            ProjectsAction::List { target } => {
                let all = target.projects().await?.list().await?;
                target.report.print(&all, || table(&all, &target.user))
            }
            ProjectsAction::Rename { project, name, target } => {
                let renamed = target.projects().await?.rename(&project, &name).await?;
                target.report.print(&renamed, || format!("{} is now shown as {}", renamed.id, renamed.name))
            }
            ProjectsAction::Merge { from, into, target } => {
                let merged = target.projects().await?.merge(&from, &into).await?;
                target.report.print(&merged, || {
                    format!("{} now has {}", merged.name, output::counted(merged.records, "record", "records"))
                })
            }
            ProjectsAction::Forget { project, yes, target } => forget(&project, yes, &target).await,
        }
    }
}

async fn forget(project: &str, yes: bool, target: &ProjectsArgs) -> Result<ExitCode> {
    let projects = target.projects().await?;
    let found = projects.find(project).await?;
    let records = output::counted(found.records, "record", "records");
    if !yes && !confirm(&format!("delete {records} of the project {} for good?", found.name))? {
        bail!("nothing is deleted");
    }
    let deleted: u64 = projects.forget(&found.id).await?.iter().map(ForgetReport::records).sum();
    let report = json!({ "project": found.id, "deleted": deleted });
    target.report.print(&report, || format!("{} deleted", output::counted(deleted, "record", "records")))
}

fn table(projects: &[Project], user: &str) -> String {
    if projects.is_empty() {
        return format!("the user {user} has no projects; the hooks of coding agents make them");
    }
    let mut table = output::table(["name", "records", "latest", "id", "merged from"]);
    for project in projects {
        table.add_row([
            project.name.clone(),
            project.records.to_string(),
            project.latest.map(|time| time.to_string()).unwrap_or_default(),
            project.id.clone(),
            project.members.join(", "),
        ]);
    }
    table.to_string()
}
