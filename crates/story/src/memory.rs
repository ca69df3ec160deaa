//! The memory of a story.

use std::sync::Arc;

use crate::mode::MemoryMode;
use memory_engine::{MemoryEngine, graph::GraphFacts, recall::Degraded};
use memory_engine_context::{EstimatedTokens, TokenCounter};
use memory_engine_core::{Error, Record, Result, Scope};

use crate::options::StoryOptions;

/// The long-term memory of stories: what to put into the prompt of the next message, and the messages themselves.
///
/// Neither call fails, and neither takes longer than it may: what goes wrong is named in the answer, and the story is
/// told without it. A mode of [`MemoryMode::Off`] touches no store.
///
/// A story is told on a branch of a session, and sees that branch, and of its parents what it
/// [inherits](memory_engine::history::Fork) and no more; so each scope names user, session and branch.
/// [Forks](MemoryEngine::fork), [rewinds](MemoryEngine::rewind) and what else there is are the engine's.
///
/// [`MemoryMode::Graph`] needs an engine with [`Builder::graph`](memory_engine::Builder::graph), summaries one with a
/// digest such as [`story_digest`](crate::story_digest). With [`MemoryMode::Vector`] no message is read for entities,
/// and no graph is asked, whatever the engine has.
#[derive(Debug, Clone)]
#[must_use]
pub struct StoryMemory {
    pub(crate) engine: MemoryEngine,
    pub(crate) mode: MemoryMode,
    pub(crate) options: StoryOptions,
    pub(crate) counter: Arc<dyn TokenCounter>,
}

/// Memories for the prompt of the next message.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoryContext {
    /// The sections, under a line that has the model take them as facts; empty when there is nothing to tell.
    pub text: String,
    /// The number of tokens in `text`.
    pub tokens: usize,
    /// The records that the snippets in it show, in its order.
    pub snippets: Vec<Record>,
    /// What was found of entities and relations, the nearest first: the sections show as much of it as has room.
    pub facts: GraphFacts,
    /// Stages that failed, with the reason.
    pub degraded: Vec<Degraded>,
}

impl StoryMemory {
    /// A memory in this engine that estimates token counts.
    pub fn new(engine: MemoryEngine, mode: MemoryMode, options: StoryOptions) -> Self {
        Self { engine, mode, options, counter: Arc::new(EstimatedTokens) }
    }

    /// Sets the unit of budgets: tokens, or [characters](memory_engine_context::Characters).
    pub fn with_counter(mut self, counter: impl TokenCounter) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// Returns the engine.
    pub fn engine(&self) -> &MemoryEngine {
        &self.engine
    }

    /// Returns the mode.
    pub fn mode(&self) -> MemoryMode {
        self.mode
    }
}

/// Refuses a scope without a user, a session or a branch.
pub(crate) fn require_branch(scope: &Scope) -> Result<()> {
    if scope.user_name().is_some() && scope.session().is_some() && scope.branch().is_some() {
        return Ok(());
    }
    let message = "a story needs a scope with a user, a session and a branch; give the main line a name, such as main";
    Err(Error::invalid("story", message))
}

/// Names a stage that failed, and logs it, since the caller may ignore the result.
pub(crate) fn degraded_stage(stage: &'static str, error: &Error) -> Degraded {
    // Without the message, which may repeat what a service was sent.
    tracing::warn!(stage, kind = ?error.kind(), "the memory of a story lacks a part");
    Degraded { stage, reason: error.to_string() }
}
