//! The hooks of coding agents.

mod api;
mod state;

use std::{sync::Arc, time::Duration};

use memory_engine::{Error, MemoryEngine, Result};
use memory_engine_agent_hooks::AgentHooks;
pub use memory_engine_agent_hooks::HookOptions;

use self::state::HooksState;
use crate::{
    config::{Config, HooksConfig, Variables},
    part::ServerPart,
    server::Server,
};

/// Minimum number of tokens of an opening context: its first sentences need almost as many.
const MIN_OPENING_TOKENS: usize = 100;

/// The hooks of coding agents, under `/hooks`. An agent gets an answer in any case: failures of the memory are logged
/// and named in the header `X-Memory-Degraded`.
#[derive(Debug, Clone)]
#[must_use]
pub struct Hooks(HooksState);

impl Hooks {
    /// Creates the hooks over a memory.
    pub fn new(engine: MemoryEngine) -> Self {
        Self(HooksState { handler: AgentHooks::new(engine), default_user: "default".into() })
    }

    /// Sets the options.
    pub fn with_options(mut self, options: HookOptions) -> Self {
        self.0.handler = self.0.handler.with_options(options);
        self
    }

    /// Sets the user of events that name none, for keys of all users. Default: `default`.
    pub fn with_user(mut self, user: impl Into<String>) -> Self {
        self.0.default_user = user.into();
        self
    }

    pub(crate) fn part(self) -> ServerPart {
        ServerPart::new("hooks", api::routes(), Arc::new(self.0))
    }
}

impl Server {
    /// Adds the hooks of coding agents under `/hooks`.
    pub fn hooks(self, hooks: Hooks) -> Self {
        self.with_part(hooks.part())
    }
}

/// Builds the part unless the configuration switches it off.
pub(crate) fn build(config: &Config, engine: &MemoryEngine, _: Variables<'_>) -> Result<Option<ServerPart>> {
    if !config.hooks.enabled {
        return Ok(None);
    }
    let mut options = config.hooks.options()?;
    options.commands.clone_from(&config.chat_commands);
    let hooks = Hooks::new(engine.clone()).with_options(options).with_user(&config.user);
    Ok(Some(hooks.part()))
}

impl HooksConfig {
    pub(crate) fn options(&self) -> Result<HookOptions> {
        if self.opening_tokens < MIN_OPENING_TOKENS {
            let message =
                format!("hooks.opening_tokens is {}; the minimum is {MIN_OPENING_TOKENS}", self.opening_tokens);
            return Err(Error::invalid("config", message));
        }
        let mut options = HookOptions::default();
        options.opening_tokens = self.opening_tokens;
        options.max_memories = self.max_memories;
        options.max_chars = self.max_chars;
        options.deadline = Duration::from_millis(self.deadline_ms);
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_the_hooks_can_be_set() {
        let config =
            HooksConfig { opening_tokens: 300, max_chars: Some(90), deadline_ms: 20, ..HooksConfig::default() };
        // A program that sets no options gets those of the default configuration.
        assert_eq!(HooksConfig::default().options().unwrap(), HookOptions::default());
        let options = config.options().unwrap();
        assert_eq!((options.opening_tokens, options.max_memories, options.max_chars), (300, 5, Some(90)));
        assert_eq!(options.deadline, Duration::from_millis(20));
        let error = HooksConfig { opening_tokens: 99, ..HooksConfig::default() }.options().unwrap_err().to_string();
        assert!(error.contains("hooks.opening_tokens is 99; the minimum is 100"), "{error}");
    }
}
