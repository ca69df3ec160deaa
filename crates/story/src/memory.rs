//! The long-term memory of stories, and the context that it returns.

use std::sync::Arc;

use crate::mode::MemoryMode;
use memory_engine::{MemoryEngine, graph::GraphFacts, recall::Degraded};
use memory_engine_context::{EstimatedTokens, TokenCounter};
use memory_engine_core::{Error, Record, Result, Scope};

use crate::options::StoryOptions;

/// The long-term memory of stories: [indexes](Self::index) messages, and returns [context](Self::context) for the
/// prompt of the next message.
///
/// Neither call fails or exceeds its time limit: the result lists the stages that failed, and the story continues
/// without them. In the mode [`MemoryMode::Off`] no store is used.
///
/// A story happens on a branch of a session. It sees that branch and the messages that the branch
/// [inherits](memory_engine::history::Fork) from its parents. Each scope thus names user, session and branch.
/// Forks and rewinds are calls of the engine's [history](MemoryEngine::history).
///
/// [`MemoryMode::Graph`] needs an engine with [`Builder::graph`](memory_engine::Builder::graph). Summaries need an
/// engine with enrichment such as [`story_enrichment`](crate::story_enrichment). In the mode [`MemoryMode::Vector`] no
/// entities are extracted and the graph is not searched, even if the engine has one.
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
    /// The sections, under an instruction to treat them as facts. Empty if nothing was found.
    pub text: String,
    /// The number of tokens in `text`.
    pub tokens: usize,
    /// The records of the snippets, in the order of the text.
    pub snippets: Vec<Record>,
    /// The entities and relations found, nearest first. The sections show as many as fit.
    pub facts: GraphFacts,
    /// Stages that failed, with the reason.
    pub degraded: Vec<Degraded>,
}

impl StoryMemory {
    /// Creates a memory in this engine. It estimates token counts.
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

/// Rejects a scope without a user, a session or a branch.
pub(crate) fn require_branch(scope: &Scope) -> Result<()> {
    if scope.user_name().is_some() && scope.session().is_some() && scope.branch().is_some() {
        return Ok(());
    }
    let message = "a story needs a scope with a user, a session and a branch; give the main line a name, such as main";
    Err(Error::invalid("story", message))
}

/// Names a stage that failed, and logs it, since the caller may ignore the result.
pub(crate) fn degraded_stage(stage: &'static str, error: &Error) -> Degraded {
    // The message is not logged: it may quote data that was sent to a service.
    tracing::warn!(stage, kind = ?error.kind(), "a stage of the story memory failed");
    Degraded { stage, reason: error.to_string() }
}
