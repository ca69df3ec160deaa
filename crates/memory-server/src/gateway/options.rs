//! How the gateway works: every number of it.

use std::{sync::Arc, time::Duration};

use memory_engine::{Clock, GatewayBlock, InjectionRules, SceneRules, SystemClock};

/// How the gateway works: every number of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[must_use]
pub struct GatewayOptions {
    /// When memories are injected.
    pub rules: InjectionRules,
    /// In which form.
    pub block: GatewayBlock,
    /// How many that were found, at the most. 5.
    pub limit: usize,
    /// How the scene of a message is told.
    pub scenes: SceneRules,
    /// How long all work of the memory before a request is passed on may take. 1.5 seconds.
    pub memory_deadline: Duration,
    /// How long the end of a reply waits for its turn to be stored. 1 second.
    pub keep_deadline: Duration,
    /// How many turns may wait to be stored; of more, the latest are lost, counted and told of. 1024.
    pub queue: usize,
    /// After how long a silence of the model a stream gets a comment, so that nobody closes it. 15 seconds.
    pub keep_alive: Duration,
    /// How long the head of a streamed answer is waited for. 120 seconds.
    pub stream_patience: Duration,
    /// How long that of a plain answer is waited for, which the model writes as a whole before it says anything. 600 seconds.
    pub plain_patience: Duration,
    /// The largest request, in bytes. 32 MiB.
    pub max_request_bytes: usize,
    /// The largest plain answer; of a stream, the largest event that is held until it is whole, and how much of its text is
    /// kept to be stored. In bytes; 64 MiB.
    pub max_reply_bytes: usize,
    /// Whose memory a request is about that names nobody, where its key does not say. `default`.
    pub user: String,
    /// Of how many sessions the round, and what was injected last, are kept in mind. 10 000.
    pub max_sessions: usize,
    /// Tells the time of turns.
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
            keep_deadline: Duration::from_secs(1),
            queue: 1024,
            keep_alive: Duration::from_secs(15),
            stream_patience: Duration::from_secs(120),
            plain_patience: Duration::from_secs(600),
            max_request_bytes: 32 << 20,
            max_reply_bytes: 64 << 20,
            user: "default".into(),
            max_sessions: 10_000,
            clock: Arc::new(SystemClock),
        }
    }
}

impl GatewayOptions {
    /// Injects by these rules.
    pub fn with_rules(mut self, rules: InjectionRules) -> Self {
        self.rules = rules;
        self
    }

    /// Injects in this form.
    pub fn with_block(mut self, block: GatewayBlock) -> Self {
        self.block = block;
        self
    }

    /// Injects at most so many memories that were found.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Tells scenes by these rules.
    pub fn with_scenes(mut self, scenes: SceneRules) -> Self {
        self.scenes = scenes;
        self
    }

    /// Sets how long the memory may take before a request, and how long a reply's end waits for it to be stored.
    pub fn with_deadlines(mut self, memory: Duration, keep: Duration) -> Self {
        (self.memory_deadline, self.keep_deadline) = (memory, keep);
        self
    }

    /// Sets how many turns may wait to be stored.
    pub fn with_queue(mut self, queue: usize) -> Self {
        self.queue = queue;
        self
    }

    /// Sets after how long a silence a stream gets a comment.
    pub fn with_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.keep_alive = keep_alive;
        self
    }

    /// Sets how long the head of an answer is waited for: of a stream, and of a plain one.
    pub fn with_patience(mut self, stream: Duration, plain: Duration) -> Self {
        (self.stream_patience, self.plain_patience) = (stream, plain);
        self
    }

    /// Sets the largest request and the largest answer, in bytes.
    pub fn with_max_bytes(mut self, request: usize, reply: usize) -> Self {
        (self.max_request_bytes, self.max_reply_bytes) = (request, reply);
        self
    }

    /// Sets whose memory a request is about that names nobody.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    /// Sets how many sessions are kept in mind.
    pub fn with_max_sessions(mut self, max_sessions: usize) -> Self {
        self.max_sessions = max_sessions;
        self
    }

    /// Takes the time from this clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}
