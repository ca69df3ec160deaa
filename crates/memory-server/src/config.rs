//! The configuration of a server: defaults, overridden by a TOML file, environment variables and flags, in this
//! order.

mod audit;
mod gateway;
mod limits;
mod log;
mod parts;
mod retention;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use memory_engine::{
    Error, Language, RecallOptions, Result, jiff::tz::TimeZone, requests::ChatCommand, review::ReviewPolicy,
    scene::ScenePolicy, screening::ScreeningPolicy,
};
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    guard::Guard,
    keys::{ApiKey, KeyRing},
    zone::{local_zone, zone},
};

pub use audit::AuditConfig;
#[cfg(feature = "gateway")]
pub(crate) use gateway::RuleSet;
pub use gateway::{BlockPlacement, Dialect, GatewayConfig, PriceConfig, UpstreamConfig};
pub use limits::LimitsConfig;
pub use log::{LogConfig, LogFormat};
pub use parts::{DeletionsConfig, HooksConfig, IncludedTurns, McpConfig, Mem0Config, OAuthConfig, PartConfig};
pub use retention::{RetentionConfig, RetentionRuleConfig};

/// Returns the value of a variable, from the environment or from a file of variables.
pub(crate) type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

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
    /// Maximum number of tokens per day (UTC) of the model of `digest`, in this process; the rules do its work after
    /// that. 0 for no limit. Default: 0.
    pub digest_tokens_per_day: u64,
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
    /// The requests about the memory that a person can make in a chat: `off_the_record` ("don't remember this") and
    /// `forget` ("forget what I said about my ex", and to undo it). Default: both.
    pub chat_commands: Vec<ChatCommand>,
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
    /// Deletions, with a signed certificate if there is a key. Default: enabled, no key.
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
    /// The routes under `/api/records`, by which a key pins, corrects, retracts and restores records, and sets their
    /// importance and expiry. Default: enabled.
    pub records_api: PartConfig,
    /// The inspector, the web page at `/ui/`. Default: enabled.
    pub ui: PartConfig,
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
    /// True if it is for `GET /metrics` only; every other route that needs a key refuses it. Default: false.
    #[serde(default)]
    pub metrics_only: bool,
    /// True if the key may read the figures of the process, which count the requests of all tenants. Default: false; a
    /// server whose keys are for one tenant shows them to all keys for all users.
    #[serde(default)]
    pub operator: bool,
}

/// The keys of the whole default tenant that variables set, so that they need no entry in a file.
#[derive(Clone, Copy, Default)]
pub struct TokenVariables<'v> {
    /// `MEMORY_TOKEN`: a key for all memories. Default: none.
    pub token: Option<&'v str>,
    /// `MEMORY_METRICS_TOKEN`: a key for `GET /metrics` only. Default: none.
    pub metrics_token: Option<&'v str>,
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
            digest_tokens_per_day: 0,
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
            chat_commands: ChatCommand::ALL.to_vec(),
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
            ui: PartConfig::default(),
            audit: AuditConfig::default(),
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

    /// Returns the guard: callers need one of the keys, which are those of the configuration and of the variables.
    /// Without keys, every caller has access if only this machine can reach the port, or if `open` is set.
    ///
    /// # Errors
    /// `InvalidInput` for a key that is not valid, for two variables with the same key, and for a server without keys
    /// that other machines can reach, unless `open` is set.
    pub fn guard(&self, variables: TokenVariables<'_>) -> Result<Guard> {
        let TokenVariables { token, metrics_token } = variables;
        let mut ring = KeyRing::default();
        for key in &self.keys {
            let access = Access::tenant(&key.name, &key.tenant)?;
            // No list means all users. An empty one is an error for programs that restrict an access.
            let access = if key.users.is_empty() { access } else { access.only_users(&key.users)? };
            let access = if key.metrics_only { access.only_metrics() } else { access };
            let access = if key.operator { access.with_process_figures() } else { access };
            ring = ring.with_hash(&key.hash, access)?;
        }
        if let Some(token) = token {
            ring = ring.with_key(&ApiKey::new(token)?, Access::tenant("token", default_tenant())?);
        }
        if let Some(key) = metrics_token {
            if token == metrics_token {
                let message = "MEMORY_METRICS_TOKEN is the key in MEMORY_TOKEN; use a key of its own, which reads \
                               metrics only";
                return Err(Error::invalid("config", message));
            }
            let access = Access::tenant("metrics", default_tenant())?.only_metrics();
            ring = ring.with_key(&ApiKey::new(key)?, access);
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
