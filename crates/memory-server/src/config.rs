//! What a server is to be like: a TOML file, variables and flags, one over the other.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use memory_engine::{Error, Language, Result, jiff::tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    guard::Guard,
    keys::{ApiKey, KeyRing},
    zone::{local_zone, zone},
};

/// Everything that can be set about a server. What a file, a variable or a flag does not set is as here by default; what
/// they set and nobody knows is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// The database, as `memory --db` has it: a file, a Postgres address, or the word `postgres`.
    pub db: String,
    /// How much of a SQLite file is kept in memory, in bytes; 10 MiB. The system keeps it, too: more pays with large files.
    pub page_cache_bytes: usize,
    /// The embedder, as `memory --embedder` has it.
    pub embedder: String,
    /// The folder of local models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models_dir: Option<String>,
    /// The reranker, as `memory --reranker` has it.
    pub reranker: String,
    /// What is made of turns, as `memory --digest` has it.
    pub digest: String,
    /// After how many messages the profile of a user is made anew; 0 for none.
    pub profile_every: u32,
    /// What reads turns for entities and relations, as `memory --graph` has it.
    pub graph: String,
    /// Whose memory a chat or a tool is about that names nobody and whose key does not say.
    pub user: String,
    /// The time zone of the users, as `Asia/Shanghai` or `+08:00`: of days in queries and facts, and of dates in prompts.
    /// Default: the zone of the machine, or UTC if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The language of summaries, profiles and injected memories: `zh` or `en`. Default: the language of the text at hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The names under which it may be asked, beside those of the loopback: what clients send as `Host`. Without keys, and for
    /// the tools of MCP in any case, others are refused: a web page could have its own name lead here.
    pub allowed_hosts: Vec<String>,
    /// Whether everybody may come in, who reaches the port from another machine, too.
    pub open: bool,
    /// Who may come in.
    pub keys: Vec<KeyConfig>,
    /// How much of everything.
    pub limits: LimitsConfig,
    /// Web pages of these origins may call: none, unless set.
    pub cors_origins: Vec<String>,
    /// What is logged, and how.
    pub log: LogConfig,
    /// The chat gateway. Without an upstream there is none.
    pub gateway: GatewayConfig,
    /// The tools of the Model Context Protocol.
    pub mcp: McpConfig,
    /// mem0's routes.
    pub mem0: Mem0Config,
    /// The debug API.
    pub debug: PartConfig,
    /// The Prometheus metrics under `/metrics`.
    pub metrics: PartConfig,
}

/// A key, by its hash, and how far it reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// What the log calls it.
    pub name: String,
    /// The hash that `memory keys new` prints.
    pub hash: String,
    /// The tenant.
    #[serde(default = "default_tenant")]
    pub tenant: String,
    /// Only these users of the tenant; all, when there are none.
    #[serde(default)]
    pub users: Vec<String>,
}

/// How much of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// The largest request, in bytes; 32 MiB, which leaves room for pictures.
    pub max_body_bytes: usize,
    /// How long the body of a request may take to come, in seconds; 0 for as long as it likes. Who takes longer gets 408.
    pub body_seconds: u64,
    /// The largest plain answer of an upstream; of a stream, the largest event that is held until it is whole, and how much
    /// of its text is stored. In bytes; 64 MiB.
    pub max_reply_bytes: usize,
    /// How many requests are served at a time; the next ones are sent away with 503.
    pub max_concurrent: usize,
    /// How many of them may be one key's, so that others find a place; the next ones are sent away with 429. 0 for all.
    pub max_concurrent_per_key: usize,
    /// How many requests a key may send in a minute; 0 for as many as it likes.
    pub requests_per_minute: u32,
    /// How long a stop waits for requests that are being served, in seconds.
    pub shutdown_seconds: u64,
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogConfig {
    /// A filter such as `info` or `info,memory_engine=debug`.
    pub filter: String,
    /// For people or for machines.
    pub format: LogFormat,
}

/// For whom a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON object for each line.
    Json,
}

/// Whether a part is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartConfig {
    /// Whether it is.
    pub enabled: bool,
}

/// mem0's routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Mem0Config {
    /// Whether they are served.
    pub enabled: bool,
    /// Whether searches find what was said, too, and not only what was made of it; a search can say so by itself.
    pub include_turns: bool,
}

/// The tools of the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct McpConfig {
    /// Whether they are served.
    pub enabled: bool,
    /// Web pages of these origins may call, beside those of the loopback.
    pub allowed_origins: Vec<String>,
}

/// The chat gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The services behind it; the first is asked for every model that no other one claims.
    pub upstreams: Vec<UpstreamConfig>,
    /// How long a chat waits for its memories, in milliseconds.
    pub deadline_ms: u64,
    /// Maximum number of characters of memories in a prompt. Default: 500 in Chinese, 1500 in English.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// Rules for scenes beyond the built-in ones: a TOML file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene_rules: Option<String>,
    /// Rules for what is put into a prompt, beyond the built-in ones: a TOML file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection_rules: Option<String>,
}

/// A service behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// What logs and errors call it; `NAME/MODEL` asks it for a model by name.
    pub name: String,
    /// Where it is, as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The variable that holds its key. Without one, it gets the key that the client sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Its models, by name or with `*` at the end.
    #[serde(default)]
    pub models: Vec<String>,
}

fn default_tenant() -> String {
    memory_engine::Scope::DEFAULT_TENANT.to_owned()
}

impl Default for Config {
    fn default() -> Self {
        Self {
            db: "memory.db".into(),
            page_cache_bytes: 10 << 20,
            embedder: "auto".into(),
            models_dir: None,
            reranker: "auto".into(),
            digest: "rules".into(),
            profile_every: 0,
            graph: "none".into(),
            user: "default".into(),
            zone: None,
            language: None,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8765),
            allowed_hosts: Vec::new(),
            open: false,
            keys: Vec::new(),
            limits: LimitsConfig::default(),
            cors_origins: Vec::new(),
            log: LogConfig::default(),
            gateway: GatewayConfig::default(),
            mcp: McpConfig::default(),
            mem0: Mem0Config::default(),
            debug: PartConfig::default(),
            metrics: PartConfig::default(),
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 << 20,
            body_seconds: 30,
            max_reply_bytes: 64 << 20,
            max_concurrent: 1024,
            max_concurrent_per_key: 512,
            requests_per_minute: 0,
            shutdown_seconds: 25,
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { filter: "info".into(), format: LogFormat::default() }
    }
}

impl Default for PartConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Default for Mem0Config {
    fn default() -> Self {
        Self { enabled: true, include_turns: false }
    }
}

impl Default for McpConfig {
    fn default() -> Self {
        Self { enabled: true, allowed_origins: Vec::new() }
    }
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self { upstreams: Vec::new(), deadline_ms: 1500, max_chars: None, scene_rules: None, injection_rules: None }
    }
}

impl Config {
    /// Returns the time zone of the users.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown zone.
    pub fn time_zone(&self) -> Result<TimeZone> {
        self.zone.as_deref().map_or_else(|| Ok(local_zone()), zone)
    }

    /// Who may come in: who has one of the keys, or the one `token`, which is for the whole default tenant. Without any
    /// of them everybody may, where nobody but this machine can reach the port.
    ///
    /// # Errors
    /// `InvalidInput` for a key that is none, and for a server without keys that other machines can reach, unless it is
    /// said to be open.
    pub fn guard(&self, token: Option<&str>) -> Result<Guard> {
        let mut ring = KeyRing::default();
        for key in &self.keys {
            let access = Access::tenant(&key.name, &key.tenant)?;
            let access = if key.users.is_empty() { access } else { access.only_users(&key.users)? };
            ring = ring.with_hash(&key.hash, access)?;
        }
        let everybody = |name: &str| Access::tenant(name, default_tenant());
        if let Some(token) = token {
            ring = ring.with_key(&ApiKey::new(token)?, everybody("token")?);
        }
        if !ring.is_empty() {
            return Ok(Guard::keys(ring));
        }
        if self.open || self.listen.ip().is_loopback() {
            return Ok(Guard::open(everybody("everybody")?));
        }
        let message = format!(
            "{} can be reached from other machines and no key is asked for; `memory keys new` makes one, MEMORY_TOKEN holds \
             one for everything, and open = true says that everybody may come in",
            self.listen
        );
        Err(Error::invalid("config", message))
    }
}

#[cfg(test)]
mod tests;
