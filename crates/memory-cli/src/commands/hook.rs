//! `memory hook`.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use memory_engine::{EnrichmentOptions, Scope, recall::Retrievers};
use memory_engine_agent_hooks::{Agent, AgentHooks, HookAnswer, HookEvent, HookKind, HookOptions, locate_project};
use memory_engine_intake::without_lone_surrogates;
use memory_engine_server::local_zone;
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};

use crate::{
    args::StoreArgs,
    background_digest,
    database::{self, DatabaseArg},
    embedder::EmbedderArgs,
    plain_http::{DATABASE_HEADER, PlainRequest, ServerAddress},
    server::ConfigArgs,
};

/// The variable with the key of the server.
pub(crate) const KEY_VARIABLE: &str = "MEMORY_TOKEN";
/// The variables with the folder of the project that agents set for their hooks.
const FOLDER_VARIABLES: [&str; 2] = ["CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR"];
/// Time limit for connecting to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);
/// Time limit of the hook.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of a server if a database is named that can be used in its place.
const SERVER_TIMEOUT: Duration = Duration::from_millis(1200);
/// The header in the answers of a server.
const SERVER_HEADER: &str = "X-Memory-Server";
/// The part of the remaining time that reading and storing may take.
const ENGINE_SHARE: f64 = 0.8;
/// Maximum size of the input in bytes.
const MAX_INPUT_BYTES: u64 = 32 << 20;

/// Answer a hook of a coding agent.
///
/// Reads JSON from standard input, and writes JSON to standard output. A running server answers it. If there is none,
/// the command opens the database itself, searches by keywords, and
/// stores prompts and replies; after a reply it starts a process that extracts facts from them. The exit code is 0 in
/// any case, so that the agent goes on; a failure is reported on standard error.
#[derive(Debug, Args)]
pub(crate) struct HookCommand {
    /// Event: session-start, user-prompt, stop or session-end
    #[arg(value_name = "EVENT", value_parser = HookKind::from_name)]
    event: HookKind,
    /// Agent whose format is used
    ///
    /// claude-code, codex, cursor or generic.
    #[arg(long, default_value = "generic", value_name = "NAME", value_parser = str::parse::<Agent>)]
    agent: Agent,
    /// Address of a server, such as http://127.0.0.1:8765
    ///
    /// Its key is read from the variable MEMORY_TOKEN. Default: the address that the configuration listens on, unless a
    /// database is given.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Database to open if no server answers
    ///
    /// It is created if it does not exist. Default: that of the configuration, if it exists.
    #[arg(long, env = "MEMORY_DB", hide_env_values = true, value_name = "FILE|URL")]
    db: Option<DatabaseArg>,
    /// Configuration file of the server
    ///
    /// Default: memory.toml, if it exists.
    #[arg(long, env = "MEMORY_CONFIG", hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of the tenant
    #[arg(long, default_value = Scope::DEFAULT_TENANT, value_name = "NAME")]
    tenant: String,
    /// Name of the user
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    user: String,
}

impl HookCommand {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let answer = match timeout(TIMEOUT, self.answer()).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => self.failed(&format!("{error:#}")),
            Err(_) => self.failed(&format!("not ready after {} s", TIMEOUT.as_secs())),
        };
        print_line!("{answer}");
        Ok(ExitCode::SUCCESS)
    }

    /// Reports a failure, and returns the answer that lets the agent go on.
    fn failed(&self, reason: &str) -> Value {
        report_line!("memory hook: {reason}");
        if self.agent == Agent::Cursor && self.event == HookKind::UserPrompt {
            return json!({ "continue": true });
        }
        json!({})
    }

    async fn answer(&self) -> Result<Value> {
        let input = read_input().await?;
        let value: Value = serde_json::from_str(&input).context("standard input is not JSON")?;
        let mut event = self.agent.parse(Some(self.event), &value)?;
        let folder = event.folder.clone().or_else(|| FOLDER_VARIABLES.iter().find_map(|name| std::env::var(name).ok()));
        event.project = folder.map(|folder| locate_project(Path::new(&folder))).or(event.project);
        let began = Instant::now();
        let database = self.database().await?;
        let server_timeout = if database.is_some() { SERVER_TIMEOUT } else { TIMEOUT };
        let no_server = match self.server_address()? {
            Some(address) => {
                let asked = self.ask_server(&address, input.as_bytes(), &event, database.as_ref());
                match timeout(server_timeout, asked).await {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(error)) => Some(error),
                    Err(_) => Some(anyhow!("{} does not answer", address.authority)),
                }
            }
            None => None,
        };
        match (database, no_server) {
            (Some(database), _) => {
                let time_left = TIMEOUT.saturating_sub(began.elapsed());
                let answer = self.ask_database(database.clone(), &event, time_left).await?;
                if !answer.degraded.is_empty() {
                    report_line!("memory hook: {}", answer.degraded.join("; "));
                }
                if matches!(event.kind, HookKind::Reply | HookKind::SessionEnd) {
                    background_digest::start(&database, &self.tenant, &self.user);
                }
                Ok(self.agent.response(&event, &answer))
            }
            (None, Some(error)) => {
                bail!("{error:#}; start `memory serve`, or name a database with --db or in the variable MEMORY_DB")
            }
            (None, None) => bail!("there is no memory; name a database with --db, or a server with --server"),
        }
    }

    fn server_address(&self) -> Result<Option<ServerAddress>> {
        match (&self.server, &self.db) {
            (Some(url), _) => ServerAddress::parse(url, "--server").map(Some),
            (None, Some(_)) => Ok(None),
            (None, None) => {
                let config = ConfigArgs::from_file(self.config.clone()).load()?.config;
                Ok(Some(ServerAddress::local(config.listen)))
            }
        }
    }

    /// Returns the answer of a server.
    async fn ask_server(
        &self,
        address: &ServerAddress,
        input: &[u8],
        event: &HookEvent,
        database: Option<&DatabaseArg>,
    ) -> Result<Value> {
        let connection = timeout(CONNECT_TIMEOUT, address.connect()).await;
        let connection = connection.with_context(|| format!("{} does not accept connections", address.authority))??;
        let mut headers = vec![("Content-Type", "application/json".to_owned()), ("X-User-Id", escaped(&self.user))];
        let offset = local_zone().to_offset(jiff::Timestamp::now());
        if !offset.is_zero() {
            headers.push(("X-Timezone", offset.to_string()));
        }
        if let Some(project) = &event.project {
            headers.push(("X-Memory-Project", escaped(project)));
        }
        // A server of this machine at the same address may be that of another database.
        if let Some(database) = database.filter(|_| address.is_loopback()) {
            headers.push((DATABASE_HEADER, database.database()?.location_hash()));
        }
        if let Ok(key) = std::env::var(KEY_VARIABLE) {
            headers.push(("Authorization", format!("Bearer {}", key.trim())));
        }
        let name = self.event.name().map(|event| format!("?event={event}")).unwrap_or_default();
        let path = format!("/hooks/{}{name}", self.agent.as_str());
        let request = PlainRequest { method: "POST", path: &path, headers, body: input.to_vec() };
        let response = address.send(connection, request).await?;
        if response.status != 200 {
            let message: Option<Value> = serde_json::from_slice(&response.body).ok();
            let message = message.as_ref().and_then(|body| body["detail"].as_str()).unwrap_or("no message");
            bail!("{} answered with the status {}: {message}", address.authority, response.status);
        }
        // The answer of another program must not reach the agent: it could block it.
        if !response.headers.contains_key(SERVER_HEADER) {
            bail!("{} answers, but is no memory server", address.authority);
        }
        serde_json::from_slice(&response.body).context("the server's answer is not JSON")
    }

    /// Returns the database to open: the one that is named, or that of the server's configuration if it exists.
    async fn database(&self) -> Result<Option<DatabaseArg>> {
        if let Some(database) = &self.db {
            return Ok(Some(database.clone()));
        }
        let default: DatabaseArg = ConfigArgs::from_file(self.config.clone()).load()?.config.db.parse()?;
        let exists = database::require_database(&default.database()?).await.is_ok();
        Ok(exists.then_some(default))
    }

    async fn ask_database(&self, database: DatabaseArg, event: &HookEvent, time_left: Duration) -> Result<HookAnswer> {
        let scope = Scope::tenant_wide(&self.tenant)?.with_user(&self.user)?;
        let mut options = HookOptions::default();
        options.deadline = time_left.mul_f64(ENGINE_SHARE);
        options.retrievers = Retrievers::KeywordOnly;
        // No model is loaded. Background jobs of new turns stay queued.
        let store = StoreArgs::new(database, EmbedderArgs::auto());
        let engine = store.create_without_indexes(EnrichmentOptions::rules()?.into()).await?;
        Ok(AgentHooks::new(engine).with_options(options).handle(&scope, event).await)
    }
}

/// Reads standard input, without a byte order mark and with U+FFFD in place of lone surrogates. The thread does not
/// keep the process alive if the agent leaves the input open.
async fn read_input() -> Result<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut input = String::new();
        let result = std::io::stdin().take(MAX_INPUT_BYTES).read_to_string(&mut input);
        let _ = sender.send(result.map(|_| input)); // After the time limit the receiver is gone.
    });
    let input = receiver.await?.context("standard input is not UTF-8 text")?;
    let input = input.strip_prefix('\u{feff}').unwrap_or(&input);
    Ok(without_lone_surrogates(input).into_owned())
}

/// Percent-encodes what is not printable ASCII.
fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%';
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_for_a_header() {
        assert_eq!(escaped("lin"), "lin");
        assert_eq!(escaped("小 %"), "%E5%B0%8F%20%25");
    }
}
