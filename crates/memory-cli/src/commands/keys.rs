//! `memory keys`.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use memory_engine_server::{Access, ApiKey};
use serde_json::{Value, json};

use crate::report::ReportArgs;

/// Create an API key for the server.
#[derive(Debug, Args)]
pub(crate) struct KeysCommand {
    #[command(subcommand)]
    action: KeysAction,
}

#[derive(Debug, Subcommand)]
enum KeysAction {
    /// Create a key and print its entry for the configuration; the key itself is shown only once
    New(New),
}

#[derive(Debug, Args)]
struct New {
    /// Name of the key, shown in the log
    name: String,
    /// Tenant that the key may access
    #[arg(long, default_value = memory_engine::Scope::DEFAULT_TENANT, value_name = "NAME")]
    tenant: String,
    /// User that the key may access; repeatable; default: all users
    #[arg(long, short, value_name = "NAME")]
    user: Vec<String>,
    /// Restrict the key to GET /metrics, for Prometheus
    #[arg(long)]
    metrics: bool,
    #[command(flatten)]
    report: ReportArgs,
}

impl KeysCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let KeysAction::New(New { name, tenant, user, metrics, report }) = self.action;
        let access = Access::tenant(&name, &tenant)?;
        if !user.is_empty() {
            let _ = access.only_users(&user)?;
        }
        let key = ApiKey::generate();
        let (shown, hash) = (key.reveal(), key.hash());
        let data = json!({ "key": shown, "name": name, "hash": hash, "tenant": tenant, "users": user,
            "metrics_only": metrics });
        report.print_line(&data, || {
            let [name, tenant] = [name, tenant].map(Value::from);
            let users = if user.is_empty() { String::new() } else { format!("\nusers = {}", Value::from(user)) };
            let metrics_only = if metrics { "\nmetrics_only = true" } else { "" };
            format!(
                "The key, which is not stored and not shown again: {shown}\n\n\
                 Entry for the configuration file memory.toml:\n\n\
                 [[keys]]\nname = {name}\nhash = \"{hash}\"\ntenant = {tenant}{users}{metrics_only}"
            )
        })
    }
}
