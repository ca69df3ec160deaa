//! `memory keys`.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use memory_engine_server::{Access, ApiKey};

/// Make a key that opens the server.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a key, and what to write into the configuration for it; the key itself is shown this once
    New(New),
}

#[derive(Debug, Args)]
struct New {
    /// What the log calls it
    name: String,
    /// The tenant that it reaches
    #[arg(long, default_value = memory_engine::Scope::DEFAULT_TENANT, value_name = "NAME")]
    tenant: String,
    /// Only this user of the tenant; can be repeated
    #[arg(long, short, value_name = "NAME")]
    user: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

impl Keys {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let What::New(New { name, tenant, user, json }) = self.what;
        let access = Access::tenant(&name, &tenant)?;
        if !user.is_empty() {
            let _ = access.only_users(&user)?;
        }
        let key = ApiKey::generate();
        let (shown, hash) = (key.reveal(), key.hash());
        if json {
            let report =
                serde_json::json!({ "key": shown, "name": name, "hash": hash, "tenant": tenant, "users": user });
            say!("{report}");
            return Ok(ExitCode::SUCCESS);
        }
        say!("The key, which is kept nowhere: {shown}\n\nFor the configuration, memory.toml:\n");
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        say!("[[keys]]\nname = {}\nhash = \"{hash}\"\ntenant = {}", quoted(&name), quoted(&tenant));
        if !user.is_empty() {
            say!("users = {}", serde_json::Value::from(user));
        }
        Ok(ExitCode::SUCCESS)
    }
}
