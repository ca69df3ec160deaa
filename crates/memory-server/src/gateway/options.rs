//! The options of the chat gateway.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Clock, SystemClock,
    context::{GatewayBlock, InjectionRules},
    requests::ChatCommand,
    scene::SceneRules,
};

use crate::config::{BlockPlacement, Config, RuleSet};

/// The options of the chat gateway.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[must_use]
pub struct GatewayOptions {
    /// The rules that decide whether memories are injected. Default: the built-in ones.
    pub rules: InjectionRules,
    /// The form of the injected text. Default: [`GatewayBlock::default`].
    pub block: GatewayBlock,
    /// The place of the injected text in a request. Default: [`BlockPlacement::Message`].
    pub placement: BlockPlacement,
    /// The requests about the memory that a person can make. Default: all.
    pub commands: Vec<ChatCommand>,
    /// Maximum number of recalled memories per prompt. Default: 5.
    pub max_memories: usize,
    /// The rules that detect the scene of a message. Default: the built-in ones.
    pub scenes: SceneRules,
    /// Time limit of all memory work before a request is passed on. Default: 1.5 s.
    pub memory_deadline: Duration,
    /// Maximum time that the end of a reply is delayed until its turn is stored. Default: 1 s.
    pub store_timeout: Duration,
    /// Maximum number of turns that wait to be stored. Further turns are dropped, counted and logged. Default: 1024.
    pub max_queued_turns: usize,
    /// Silence of the model after which a comment is sent in a stream, so that no proxy closes it. Default: 15 s.
    pub keep_alive: Duration,
    /// Time limit until the head of a streamed reply. Default: 120 s.
    pub stream_timeout: Duration,
    /// Time limit until the head of a plain reply, which the model completes before sending. Default: 600 s.
    pub plain_timeout: Duration,
    /// Maximum size of a request in bytes. Default: 32 MiB.
    pub max_request_bytes: usize,
    /// Maximum size in bytes of a plain reply, of a parsed event of a stream, and of the stored text of a stream.
    /// Default: 64 MiB.
    pub max_reply_bytes: usize,
    /// The user of requests that name none, for keys of all users. Default: `default`.
    pub user: String,
    /// The clock that dates turns. Default: the system's clock.
    pub clock: Arc<dyn Clock>,
}

impl Default for GatewayOptions {
    /// The options of the default configuration.
    fn default() -> Self {
        Self::from(&Config::default())
    }
}

impl From<&Config> for GatewayOptions {
    /// Takes the numbers and the user of a configuration. Rules in files and the clock are set afterwards.
    fn from(config: &Config) -> Self {
        let block = match config.gateway.rules {
            RuleSet::Default => GatewayBlock::default(),
            RuleSet::Document => GatewayBlock::of_document(),
        };
        let block = match config.gateway.max_chars {
            Some(max_chars) => block.with_max_chars(max_chars),
            None => block,
        };
        Self {
            rules: InjectionRules::default(),
            block,
            placement: config.gateway.placement,
            commands: config.chat_commands.clone(),
            max_memories: config.gateway.max_memories,
            scenes: SceneRules::default(),
            memory_deadline: Duration::from_millis(config.gateway.deadline_ms),
            store_timeout: Duration::from_secs(1),
            max_queued_turns: 1024,
            keep_alive: Duration::from_secs(15),
            stream_timeout: Duration::from_secs(120),
            plain_timeout: Duration::from_secs(600),
            max_request_bytes: config.limits.max_body_bytes,
            max_reply_bytes: config.limits.max_reply_bytes,
            user: config.user.clone(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl GatewayOptions {
    /// Sets the time limits of memory work before a request, and of storing at the end of a reply.
    pub fn with_deadlines(mut self, memory: Duration, store: Duration) -> Self {
        self.memory_deadline = memory;
        self.store_timeout = store;
        self
    }
}
