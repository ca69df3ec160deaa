//! `memory install`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Zoned;
use memory_engine::Scope;
use serde_json::json;

use crate::{
    commands::hook,
    database::DatabaseArg,
    install::{Connection, InstallAgent, Outcome, Part, Places, Setup},
    plain_http::ServerAddress,
    report::ReportArgs,
};

/// Give a coding agent this memory: MCP server, hooks and instructions.
///
/// Shows the changes; --apply writes them. Keys, comments and the order of a file stay as they are. Before a file is
/// written, a copy with the time in its name
/// is made next to it. A second run changes nothing.
#[derive(Debug, Args)]
pub(crate) struct InstallCommand {
    /// Agent
    #[arg(value_name = "AGENT")]
    agent: InstallAgent,
    /// Write the changes
    #[arg(long)]
    apply: bool,
    /// Remove what an earlier run has added
    #[arg(long)]
    uninstall: bool,
    /// Database that the agent uses
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, default_value = "memory.db", value_name = "FILE|URL")]
    db: DatabaseArg,
    /// Address of a running server to use instead of the database
    ///
    /// Such as http://127.0.0.1:8765.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Environment variable with the key of the server
    #[arg(long, value_name = "NAME", requires = "server")]
    key_env: Option<String>,
    /// Name of the user
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    user: String,
    /// Folder of a project
    ///
    /// Changes the files of the project instead of those of the user.
    #[arg(long, value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// Only this part; repeatable
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
    #[command(flatten)]
    report: ReportArgs,
}

impl InstallCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        Scope::tenant_wide(Scope::DEFAULT_TENANT)?.with_user(&self.user)?;
        let setup = Setup { connection: self.connection()?, user: self.user.clone() };
        let all = [Part::Mcp, Part::Hooks, Part::Instructions];
        let parts = if self.only.is_empty() { all.to_vec() } else { self.only.clone() };
        let project = self.project.as_deref().map(std::path::absolute).transpose()?;
        if let Some(project) = project.as_ref().filter(|project| !project.is_dir()) {
            bail!("{} is not a folder; name the folder of the project", project.display());
        }
        let files = self.agent.files(&Places::of_user(project)?, &setup, &parts);
        if files.is_empty() {
            bail!("this agent has no file for that; see `memory install --help` for what each agent has");
        }
        let hooks_read_a_key = files.iter().any(|edit| edit.part == Part::Hooks);
        if let Some(name) = self.key_env.as_deref().filter(|name| hooks_read_a_key && *name != hook::KEY_VARIABLE) {
            let variable = hook::KEY_VARIABLE;
            bail!("hooks read the key from {variable}, not from {name}; use --key-env {variable}, or --only mcp");
        }
        // All files are read and checked before the first one is written.
        let outcomes = files.iter().map(|edit| edit.plan(self.uninstall)).collect::<Result<Vec<Outcome>>>()?;
        let changed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.is_changed()).collect();
        let now = Zoned::now();
        let mut backups = Vec::new();
        if self.apply {
            for outcome in &changed {
                backups.push(outcome.write(&now)?);
            }
        }
        let report: Vec<_> = outcomes
            .iter()
            .map(|outcome| json!({ "file": outcome.path, "changed": outcome.is_changed(), "diff": outcome.diff() }))
            .collect();
        let json = json!({ "files": report, "backups": backups, "applied": self.apply });
        self.report.print(&json, || self.describe(&outcomes, &backups))?;
        Ok(ExitCode::SUCCESS)
    }

    fn connection(&self) -> Result<Connection> {
        let program = std::env::current_exe().context("the path of this command is unknown")?;
        let program = program.to_str().context("the path of this command is not UTF-8")?.to_owned();
        if let Some(url) = &self.server {
            ServerAddress::parse(url, "--server")?;
            let url = url.trim_end_matches('/').to_owned();
            return Ok(Connection::Server { program, url, key_env: self.key_env.clone() });
        }
        let database = self.db.database()?;
        let database = match database.path() {
            Some(path) => {
                std::path::absolute(path)?.to_str().context("the path of the database is not UTF-8")?.to_owned()
            }
            // An address with a password does not belong into these files.
            None => "postgres".to_owned(),
        };
        Ok(Connection::Command { program, database })
    }

    fn describe(&self, outcomes: &[Outcome], backups: &[Option<PathBuf>]) -> String {
        let changed = outcomes.iter().filter(|outcome| outcome.is_changed());
        let mut lines: Vec<String> = changed.map(|outcome| outcome.diff().trim_end().to_owned()).collect();
        if lines.is_empty() {
            lines.push("Nothing changes: the files are as they should be.".into());
            return lines.join("\n");
        }
        lines.push(String::new());
        if !self.apply {
            lines.push("Nothing is written yet. Add --apply to write these changes.".into());
            return lines.join("\n");
        }
        lines.push("Written.".into());
        lines.extend(backups.iter().flatten().map(|backup| format!("The old file is {}.", backup.display())));
        lines.push("Restart the agent to use them.".into());
        lines.join("\n")
    }
}
