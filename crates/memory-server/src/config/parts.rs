//! The protocols of the server besides the chat gateway.

use memory_engine::Injector;
use serde::{Deserialize, Serialize};

/// A part of the server that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartConfig {
    /// True if it is served. Default: true.
    pub enabled: bool,
}

impl Default for PartConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
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

impl Default for Mem0Config {
    fn default() -> Self {
        Self { enabled: true, include_turns: IncludedTurns::User }
    }
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

impl Default for McpConfig {
    fn default() -> Self {
        Self { enabled: true, allowed_origins: Vec::new() }
    }
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

/// Deletions, with a signed certificate if there is a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct DeletionsConfig {
    /// True if they are served. Default: true.
    pub enabled: bool,
    /// The file with the key that signs certificates, from `memory certificate-key`. Default: the key in the variable
    /// `MEMORY_CERTIFICATE_KEY`; without it, deletions have no certificate.
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
    /// Maximum number of tokens of the context at the start of a session, from 100. Default: 400.
    pub opening_tokens: usize,
    /// Maximum number of memories for a prompt. Default: 5.
    pub max_memories: usize,
    /// Maximum number of characters of the memories for a prompt. Default: 500 in Chinese, 1500 in English.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// Time limit of a hook, in milliseconds. Default: 1000.
    pub deadline_ms: u64,
}

impl Default for HooksConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            opening_tokens: 400,
            max_memories: Injector::DEFAULT_LIMIT,
            max_chars: None,
            deadline_ms: 1000,
        }
    }
}
