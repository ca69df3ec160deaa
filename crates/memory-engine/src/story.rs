//! A memory for stories that branch: two calls around each generation.
//!
//! ```
//! use std::time::Duration;
//! use memory_engine::{
//!     MemoryEngine, MemoryMode, Scope,
//!     story::{StoryMemory, StoryMessage, StoryOptions, StoryTurn, Wait},
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let engine = MemoryEngine::builder().in_memory().build().await?;
//! // A program asks `MemoryMode::from_env()`: off, unless MEMORY_MODE says otherwise.
//! let memory = StoryMemory::new(engine, MemoryMode::Vector, StoryOptions::default());
//! let branch = Scope::user("lin")?.with_session("story")?.with_branch("main")?;
//!
//! let message = StoryMessage::timeline("m1", 1, "龙骑士在地窖里找到了金钥匙。");
//! memory.index(&branch, message, Wait::Until(Duration::from_secs(2))).await;
//!
//! let recent = [StoryMessage::timeline("m8", 8, "天亮了，商队离开了港口。")];
//! let turn = StoryTurn::after(recent).with_pending(["龙骑士去找金钥匙"]);
//! let context = memory.context(&branch, &turn).await;
//! assert!(context.text.contains("龙骑士在地窖里找到了金钥匙。 [msg m1 / seq 1]"));
//! # Ok::<(), memory_engine::Error>(()) }).unwrap();
//! ```

mod index;
mod message;
mod options;
mod retrieve;

use std::sync::Arc;

use memory_engine_context::{EstimatedTokens, TokenCounter};
use memory_engine_core::{Error, Record, Result, Scope};

use crate::{Degraded, GraphFacts, MemoryEngine, MemoryMode};

pub use index::{Indexed, Wait};
pub use message::{StoryMessage, StoryTurn};
pub use options::StoryOptions;

/// The long-term memory of stories: what to put into the prompt of the next message, and the messages themselves.
///
/// Neither call fails, and neither takes longer than it may: what goes wrong is named in the answer, and the story is told
/// without it. A mode of [`MemoryMode::Off`] touches no store.
///
/// A story is told on a branch of a session, and sees that branch, and of its parents what it [inherits](crate::Fork) and no
/// more; so each scope names user, session and branch. [Forks](MemoryEngine::fork), [rewinds](MemoryEngine::rewind) and what
/// else there is are the engine's.
///
/// [`MemoryMode::Graph`] needs an engine with [`Builder::graph`](crate::Builder::graph), summaries one with a digest such as
/// [`Digest::of_stories`](crate::Digest::of_stories). With [`MemoryMode::Vector`] no message is read for entities, and no
/// graph is asked, whatever the engine has.
#[derive(Debug, Clone)]
#[must_use]
pub struct StoryMemory {
    engine: MemoryEngine,
    mode: MemoryMode,
    options: StoryOptions,
    counter: Arc<dyn TokenCounter>,
}

/// What belongs into the prompt of the next message.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoryContext {
    /// The sections, under a line that has the model take them as facts; empty when there is nothing to tell.
    pub text: String,
    /// How many tokens it has.
    pub tokens: usize,
    /// The records that the snippets in it show, in its order.
    pub snippets: Vec<Record>,
    /// What was found of entities and relations, the nearest first: the sections show as much of it as has room.
    pub facts: GraphFacts,
    /// What did not work, and why.
    pub degraded: Vec<Degraded>,
}

impl StoryMemory {
    /// A memory in this engine, with an estimate of tokens.
    pub fn new(engine: MemoryEngine, mode: MemoryMode, options: StoryOptions) -> Self {
        Self { engine, mode, options, counter: Arc::new(EstimatedTokens) }
    }

    /// Counts budgets with this: tokens, or [characters](memory_engine_context::Characters).
    pub fn with_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Where it is kept.
    pub fn engine(&self) -> &MemoryEngine {
        &self.engine
    }

    /// How much of it is on.
    pub fn mode(&self) -> MemoryMode {
        self.mode
    }

    /// What to put into the prompt before the next message is generated: nothing, when the mode is off.
    ///
    /// It asks with what is to happen (the pending interventions) and the last sentences of what has just happened. What is in
    /// the prompt already, as one of the recent messages, is not told again. In each of its two parts, what is found and
    /// what the graph says, it takes no longer than a [recall may](crate::RecallOptions::deadline).
    pub async fn context(&self, scope: &Scope, turn: &StoryTurn) -> StoryContext {
        if !self.mode.is_on() {
            return StoryContext::default();
        }
        match of_a_branch(scope) {
            Ok(()) => self.retrieve(scope, turn).await,
            Err(error) => StoryContext { degraded: vec![lacking("story", &error)], ..StoryContext::default() },
        }
    }
}

/// Refuses a scope that sees more than one branch.
fn of_a_branch(scope: &Scope) -> Result<()> {
    if scope.user_name().is_some() && scope.session().is_some() && scope.branch().is_some() {
        return Ok(());
    }
    let message = "a story needs a scope with a user, a session and a branch; give the main line a name, such as main";
    Err(Error::invalid("story", message))
}

/// That a part did not work, told to the log as well: the caller is to go on, and may look at nothing.
fn lacking(stage: &'static str, error: &Error) -> Degraded {
    tracing::warn!(stage, kind = ?error.kind(), "the memory of a story lacks a part: {error}");
    Degraded { stage, reason: error.to_string() }
}
