//! The configuration of a server: defaults, overridden by a TOML file, environment variables and flags, in this
//! order.

mod retention;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use memory_engine::{
    Error, Language, RecallOptions, Result, audit::AuditMode, jiff::tz::TimeZone, review::ReviewPolicy,
    scene::ScenePolicy, screening::ScreeningPolicy,
};
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    guard::Guard,
    keys::{ApiKey, KeyRing},
    zone::{local_zone, zone},
};

pub use retention::{RetentionConfig, RetentionRuleConfig};

/// The configuration of a server. Every setting is optional; an unknown one is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// The database, as `memory --db`: a SQLite file, a Postgres address, or the word `postgres` for the address in
    /// `DATABASE_URL`. Default: `memory.db`.
    pub db: String,
    /// Size of the page cache of a SQLite file, in bytes. The operating system caches the file as well, so more helps
    /// with large files only. Default: 10 MiB.
    pub page_cache_bytes: usize,
    /// The embedder, as `memory --embedder`. Default: `auto`.
    pub embedder: String,
    /// The folder of local models. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models_dir: Option<String>,
    /// The reranker, as `memory --reranker`. Default: `none`.
    pub reranker: String,
    /// Enrichment of turns, as `memory --digest`: `none`, `rules` or a model. Default: `rules`.
    pub digest: String,
    /// Number of messages after which the profile of a user is refreshed; 0 for no profiles. Default: 0.
    pub profile_every: u32,
    /// Extraction of entities and relations, as `memory --graph`. Default: `none`.
    pub graph: String,
    /// The service whose model rewrites a query that finds nothing, with the dialogue before it: a name as for
    /// `memory --digest`, or `none`. A chat or search waits for the model within its time limit. Default: `none`.
    pub rewrite: String,
    /// The action for each category of secrets and personal data in records, before they are stored: `store`, `mask` or
    /// `refuse`. Default: `mask` for `key`, `password`, `private_key` and `connection_string`; `store` for the others.
    pub screening: ScreeningPolicy,
    /// The user of a chat or tool call that names none and whose key is not bound to one. Default: `default`.
    pub user: String,
    /// The time zone of the users, such as `Asia/Shanghai` or `+08:00`. It applies to days in queries and facts, and
    /// to dates in prompts. Default: the zone of the machine, or UTC if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The language of summaries, profiles and injected memories: `zh` or `en`. Default: the language of the
    /// source text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// The address to listen on. Default: `127.0.0.1:8765`.
    pub listen: SocketAddr,
    /// Allowed values of the `Host` header, in addition to the names of the loopback. Without keys, and always for
    /// MCP, other hosts are refused, which prevents DNS rebinding by web pages. Default: none.
    pub allowed_hosts: Vec<String>,
    /// True if a server without keys may be reached from other machines. Default: false.
    pub open: bool,
    /// The keys of callers. Default: none; then no key is required.
    pub keys: Vec<KeyConfig>,
    /// Limits of requests. Default: those of [`LimitsConfig`].
    pub limits: LimitsConfig,
    /// Origins whose web pages may call the server. Default: none.
    pub cors_origins: Vec<String>,
    /// Filter and format of the log. Default: text at level `info`.
    pub log: LogConfig,
    /// The chat gateway. It is served if it has an upstream. Default: no upstream.
    pub gateway: GatewayConfig,
    /// The tools of the Model Context Protocol. Default: enabled.
    pub mcp: McpConfig,
    /// OAuth for clients of MCP that cannot send a key. Default: disabled.
    pub oauth: OAuthConfig,
    /// The routes of mem0's API. Default: enabled.
    pub mem0: Mem0Config,
    /// The hooks of coding agents. Default: enabled.
    pub hooks: HooksConfig,
    /// The backends of other frameworks' tools: Anthropic's memory tool, LangGraph's store, and the search of OpenAI's
    /// vector stores. Default: enabled.
    pub tools: PartConfig,
    /// Deletions with a signed certificate. They are served if there is a key. Default: no key.
    pub deletions: DeletionsConfig,
    /// The debug API. Default: enabled.
    pub debug: PartConfig,
    /// The Prometheus metrics under `/metrics`. Default: enabled.
    pub metrics: PartConfig,
    /// New memories of these sources that wait until a person accepts them (`review`), or are not stored (`reject`):
    /// `rule_facts`, `model_facts`, `summaries`, `profiles`, `imports` and `tools`. Also a text such as
    /// `model_facts=review`. Default: all `automatic`.
    pub review: ReviewPolicy,
    /// Times to live of new records, by kind and scope. Default: records do not expire.
    pub retention: RetentionConfig,
    /// The routes under `/api/review`, by which a key reviews its memories. Default: enabled.
    pub review_api: PartConfig,
    /// The route `/api/records/patch`, by which a key pins records, and sets importance and expiry. Default: enabled.
    pub records_api: PartConfig,
    /// The audit log. Default: it is continued if the database has one.
    pub audit: AuditConfig,
    /// Options of recalls, such as `limit`, `max_candidates`, `rerank_weight` and `min_relevance`. Each protocol has a
    /// limit of its own; that of the chat gateway is `gateway.max_memories`. Default: those of [`RecallOptions`].
    pub recall: RecallOptions,
    /// The scenes that are visible from each scene. Default: that of [`ScenePolicy`].
    pub scene_policy: ScenePolicy,
}

/// A key, given by its hash, with the memories that it may access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// The name of the key in the log. There is no default.
    pub name: String,
    /// The hash, as printed by `memory keys new`. There is no default.
    pub hash: String,
    /// The tenant. Default: `default`.
    #[serde(default = "default_tenant")]
    pub tenant: String,
    /// The users of the tenant that it may access. Default: none, which means all users.
    #[serde(default)]
    pub users: Vec<String>,
}

/// Limits of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// Maximum size of a request, in bytes. Default: 32 MiB, enough for images.
    pub max_body_bytes: usize,
    /// Time limit for receiving the body of a request, in seconds; 0 for none. A slower request gets 408. Default:
    /// 30.
    pub body_seconds: u64,
    /// Time limit for receiving the head of a request, in seconds, from the opening of the connection or the end of the
    /// response before it; 0 for none. It also closes connections that are idle. Default: 75.
    pub head_seconds: u64,
    /// Maximum number of open connections of one address; further ones get 503. 0 for no limit. Behind a reverse proxy,
    /// all connections have the address of the proxy. Default: 512.
    pub max_connections_per_address: usize,
    /// Maximum size of an upstream's response that is not streamed, in bytes. In a stream, the maximum size of one
    /// event and of the stored text. Default: 64 MiB.
    pub max_reply_bytes: usize,
    /// Maximum number of concurrent requests; further ones get 503. 0 for no limit. Default: 1024.
    pub max_concurrent: usize,
    /// Maximum number of concurrent requests of one key, so that others are served too; further ones get 429. 0 for
    /// no limit. Default: 512.
    pub max_concurrent_per_key: usize,
    /// Maximum number of requests of one key per minute; 0 for no limit. Default: 0.
    pub requests_per_minute: u32,
    /// Time that a shutdown waits for running requests, in seconds. Default: 25.
    pub shutdown_seconds: u64,
}

/// Filter and format of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogConfig {
    /// A filter such as `info` or `info,memory_engine=debug`. Default: `info`.
    pub filter: String,
    /// Text or JSON. Default: text.
    pub format: LogFormat,
    /// True if `debug` and `trace` of the filter apply to libraries, too. Some of them log requests and replies with
    /// the texts in them. Default: false.
    pub include_texts: bool,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// A part of the server that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartConfig {
    /// True if it is served. Default: true.
    pub enabled: bool,
}

/// mem0's routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Mem0Config {
    /// True if they are served. Default: true.
    pub enabled: bool,
    /// The turns that searches return besides memories. A search can override it. Default: `user`.
    pub include_turns: IncludedTurns,
}

/// The turns that a search of mem0's routes returns besides memories. Turns are never listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IncludedTurns {
    /// No turns.
    None,
    /// Turns of the user, except questions and turns whose fact is also a hit. They cover facts that extraction missed.
    #[default]
    User,
    /// All turns, also those of the assistant.
    All,
}

/// The tools of the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct McpConfig {
    /// True if they are served. Default: true.
    pub enabled: bool,
    /// Origins whose web pages may call the tools, in addition to those of the loopback. Default: none.
    pub allowed_origins: Vec<String>,
}

/// OAuth for clients of MCP that cannot send a key. The variable `MEMORY_OAUTH_SECRET` holds the secret that signs its
/// tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// True if it is served. It needs a key, `issuer` and the secret. Default: false.
    pub enabled: bool,
    /// The public address of the server, such as `https://memory.example`, without a path. `http` is allowed for the
    /// loopback only. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

/// The audit log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AuditConfig {
    /// `on` logs changes and exports, `off` does not, and `auto` continues a log that the database has. Default: `auto`.
    pub mode: AuditMode,
    /// Number of days for which entries are kept; 0 for no limit. Default: 0.
    pub retention_days: u32,
}

/// Deletions with a signed certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DeletionsConfig {
    /// True if they are served. Default: true.
    pub enabled: bool,
    /// The file with the key that signs certificates, from `memory certificate-key`. Default: the key in the variable
    /// `MEMORY_CERTIFICATE_KEY`; without it, the routes are not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
}

impl Default for DeletionsConfig {
    fn default() -> Self {
        Self { enabled: true, key_file: None }
    }
}

/// The hooks of coding agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HooksConfig {
    /// True if the hooks are served. Default: true.
    pub enabled: bool,
    /// Maximum number of tokens of the context at the start of a session, from 100. Default: 1200.
    pub opening_tokens: usize,
    /// Maximum number of memories for a prompt. Default: 5.
    pub max_memories: usize,
    /// Maximum number of characters of the memories for a prompt. Default: 500 in Chinese, 1500 in English.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// Time limit of a hook, in milliseconds. Default: 1000.
    pub deadline_ms: u64,
}

/// The chat gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The upstream services. The first one gets every model that no other one lists. Default: none.
    pub upstreams: Vec<UpstreamConfig>,
    /// Time that a chat waits for its memories, in milliseconds. Default: 1500.
    pub deadline_ms: u64,
    /// Maximum number of recalled memories in a prompt. Default: 5.
    pub max_memories: usize,
    /// Maximum number of characters of memories in a prompt. Default: 500 in Chinese, 1500 in English.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// A TOML file with rules for scenes that replace or extend the built-in ones. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene_rules: Option<String>,
    /// The built-in injection rules. Default: `default`.
    pub rules: RuleSet,
    /// A TOML file with injection rules that replace or extend the built-in ones. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection_rules: Option<String>,
}

/// The API in which a client and an upstream talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's chat completions, `/v1/chat/completions`.
    Chat,
    /// Anthropic's messages, `/v1/messages`.
    Messages,
    /// OpenAI's responses, `/v1/responses`.
    Responses,
}

/// The built-in injection rules of the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleSet {
    /// Injects the memories that are relevant to a message.
    #[default]
    Default,
    /// Injects only at a cold start, for questions about the past and for feelings, as the document of the chat
    /// gateway specifies.
    Document,
}

/// A service behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// The name in logs and errors; `NAME/MODEL` selects it for a model. There is no default.
    pub name: String,
    /// The base URL, such as `https://api.openai.com/v1`. There is no default.
    pub base_url: String,
    /// The environment variable with its key. Default: none; then it gets the key that the client sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Its models, by name or prefix with `*`. Default: none; then it gets models that no other one lists.
    #[serde(default)]
    pub models: Vec<String>,
    /// The dialects that it speaks: `chat`, `messages`, `responses`. Default: `chat`.
    #[serde(default = "default_dialects")]
    pub dialects: Vec<Dialect>,
}

fn default_dialects() -> Vec<Dialect> {
    vec![Dialect::Chat]
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
            reranker: "none".into(),
            digest: "rules".into(),
            profile_every: 0,
            graph: "none".into(),
            rewrite: "none".into(),
            recall: RecallOptions::default(),
            scene_policy: ScenePolicy::default(),
            screening: ScreeningPolicy::default(),
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
            oauth: OAuthConfig::default(),
            mem0: Mem0Config::default(),
            hooks: HooksConfig::default(),
            deletions: DeletionsConfig::default(),
            tools: PartConfig::default(),
            debug: PartConfig::default(),
            metrics: PartConfig::default(),
            review: ReviewPolicy::default(),
            retention: RetentionConfig::default(),
            records_api: PartConfig::default(),
            review_api: PartConfig::default(),
            audit: AuditConfig::default(),
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 << 20,
            body_seconds: 30,
            head_seconds: 75,
            max_connections_per_address: 512,
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
        Self { filter: "info".into(), format: LogFormat::default(), include_texts: false }
    }
}

impl Default for PartConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}

impl Default for HooksConfig {
    fn default() -> Self {
        Self { enabled: true, opening_tokens: 1200, max_memories: 5, max_chars: None, deadline_ms: 1000 }
    }
}

impl Default for Mem0Config {
    fn default() -> Self {
        Self { enabled: true, include_turns: IncludedTurns::User }
    }
}

impl Default for McpConfig {
    fn default() -> Self {
        Self { enabled: true, allowed_origins: Vec::new() }
    }
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            upstreams: Vec::new(),
            deadline_ms: 1500,
            max_memories: 5,
            max_chars: None,
            scene_rules: None,
            rules: RuleSet::Default,
            injection_rules: None,
        }
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

    /// Returns the guard: callers need one of the keys, or `token`, which covers the whole default tenant. Without
    /// keys, every caller has access if only this machine can reach the port, or if `open` is set.
    ///
    /// # Errors
    /// `InvalidInput` for a key that is not valid, and for a server without keys that other machines can reach, unless
    /// `open` is set.
    pub fn guard(&self, token: Option<&str>) -> Result<Guard> {
        let mut ring = KeyRing::default();
        for key in &self.keys {
            let access = Access::tenant(&key.name, &key.tenant)?;
            let access = if key.users.is_empty() { access } else { access.only_users(&key.users)? };
            ring = ring.with_hash(&key.hash, access)?;
        }
        if let Some(token) = token {
            ring = ring.with_key(&ApiKey::new(token)?, Access::tenant("token", default_tenant())?);
        }
        if !ring.is_empty() {
            return Ok(Guard::keys(ring));
        }
        if self.open || self.listen.ip().is_loopback() {
            return Ok(Guard::open(Access::tenant("everybody", default_tenant())?));
        }
        let message = format!(
            "{} can be reached from other machines, but no key is configured; add a key to [[keys]], set MEMORY_TOKEN \
             to a key for the whole default tenant, or set open = true to allow access without a key",
            self.listen
        );
        Err(Error::invalid("config", message))
    }
}

#[cfg(test)]
mod tests;
