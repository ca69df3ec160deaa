//! The options of the chat gateway.

use std::{sync::Arc, time::Duration};

use memory_engine::{
    Clock, SystemClock,
    context::{GatewayBlock, InjectionRules},
    scene::SceneRules,
};

/// The options of the chat gateway.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[must_use]
pub struct GatewayOptions {
    /// The rules that decide whether memories are injected. Default: the built-in ones.
    pub rules: InjectionRules,
    /// The form of the injected text. Default: [`GatewayBlock::default`].
    pub block: GatewayBlock,
    /// Maximum number of recalled memories per prompt. Default: 5.
    pub limit: usize,
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
    /// Maximum number of sessions whose round and last injection are cached. Default: 10 000.
    pub max_sessions: usize,
    /// The clock that dates turns. Default: the system's clock.
    pub clock: Arc<dyn Clock>,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            rules: InjectionRules::default(),
            block: GatewayBlock::default(),
            limit: 5,
            scenes: SceneRules::default(),
            memory_deadline: Duration::from_millis(1500),
            store_timeout: Duration::from_secs(1),
            max_queued_turns: 1024,
            keep_alive: Duration::from_secs(15),
            stream_timeout: Duration::from_secs(120),
            plain_timeout: Duration::from_secs(600),
            max_request_bytes: 32 << 20,
            max_reply_bytes: 64 << 20,
            user: "default".into(),
            max_sessions: 10_000,
            clock: Arc::new(SystemClock),
        }
    }
}

impl GatewayOptions {
    /// Sets the rules that decide whether memories are injected.
    pub fn with_rules(mut self, rules: InjectionRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets the form of the injected text.
    pub fn with_block(mut self, block: GatewayBlock) -> Self {
        self.block = block;
        self
    }

    /// Sets the maximum number of recalled memories per prompt.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the rules that detect scenes.
    pub fn with_scenes(mut self, scenes: SceneRules) -> Self {
        self.scenes = scenes;
        self
    }

    /// Sets the time limits of memory work before a request, and of storing at the end of a reply.
    pub fn with_deadlines(mut self, memory: Duration, store: Duration) -> Self {
        self.memory_deadline = memory;
        self.store_timeout = store;
        self
    }

    /// Sets the maximum number of turns that wait to be stored.
    pub fn with_max_queued_turns(mut self, max_queued_turns: usize) -> Self {
        self.max_queued_turns = max_queued_turns;
        self
    }

    /// Sets the silence of the model after which a comment is sent in a stream.
    pub fn with_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.keep_alive = keep_alive;
        self
    }

    /// Sets the time limits until the head of a reply: streamed, and plain.
    pub fn with_reply_timeouts(mut self, stream: Duration, plain: Duration) -> Self {
        self.stream_timeout = stream;
        self.plain_timeout = plain;
        self
    }

    /// Sets the maximum sizes of requests and replies, in bytes.
    pub fn with_max_bytes(mut self, request: usize, reply: usize) -> Self {
        self.max_request_bytes = request;
        self.max_reply_bytes = reply;
        self
    }

    /// Sets the user of requests that name none.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    /// Sets the maximum number of cached sessions.
    pub fn with_max_sessions(mut self, max_sessions: usize) -> Self {
        self.max_sessions = max_sessions;
        self
    }

    /// Sets the clock.
    pub fn with_clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}
