//! The public handle of mem0's routes.

use std::time::Duration;

use memory_engine::{MemoryEngine, requests::ChatCommand};

use crate::config::IncludedTurns;

/// mem0's REST routes over one memory: those of its open-source server, and those of its platform that client versions
/// 0.1 to 2 call. `docs/reference/server.md` lists them with the differences from mem0.
#[derive(Debug, Clone)]
#[must_use]
pub struct Mem0 {
    pub(super) engine: MemoryEngine,
    pub(super) include_turns: IncludedTurns,
    pub(super) commands: Vec<ChatCommand>,
    pub(super) add_timeout: Duration,
    pub(super) platform_add_timeout: Duration,
}

impl Mem0 {
    /// Creates the routes over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self {
            engine,
            include_turns: IncludedTurns::User,
            commands: ChatCommand::ALL.to_vec(),
            add_timeout: Duration::from_secs(10),
            platform_add_timeout: Duration::from_millis(1500),
        }
    }

    /// Sets the turns that searches return besides memories. A search can override it with `include_turns`. Default:
    /// [`IncludedTurns::User`].
    pub fn with_turns(mut self, include_turns: IncludedTurns) -> Self {
        self.include_turns = include_turns;
        self
    }

    /// Sets the requests about the memory itself that a message of a person can make. Only
    /// [`OffTheRecord`](ChatCommand::OffTheRecord) applies to messages that are added. Default: all.
    pub fn with_commands(mut self, commands: impl Into<Vec<ChatCommand>>) -> Self {
        self.commands = commands.into();
        self
    }

    /// Sets how long a request to the open-source routes waits for facts. Extraction continues in the background after
    /// that. Default: 10 s.
    pub fn with_add_timeout(mut self, timeout: Duration) -> Self {
        self.add_timeout = timeout;
        self
    }

    /// Sets how long a request to the platform's routes waits for facts before it answers `PENDING`. Default: 1.5 s.
    pub fn with_platform_add_timeout(mut self, timeout: Duration) -> Self {
        self.platform_add_timeout = timeout;
        self
    }
}
