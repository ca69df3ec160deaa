//! A companion that remembers: the rules of [`memory_engine_companion`] put to work on an engine and a model.
//!
//! ```
//! use std::sync::Arc;
//! use memory_engine::{MemoryEngine, Scope, companion::{Companion, Pack}, llm::ScriptedModel};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let memory = MemoryEngine::builder().in_memory().build().await?;
//! let model = ScriptedModel::replying(["（眨眼）你好。\n<verdict>{\"moment\":\"first_meet\",\"outcome\":\"认识\"}</verdict>"]);
//! let aicy = Companion::new(memory, Arc::new(model), Pack::example()?);
//! let reply = aicy.turn(&Scope::user("xiaoming")?, "你好").await?;
//! assert_eq!(reply.text, "（眨眼）你好。");
//! assert_eq!(reply.key_moment.as_deref(), Some("first_meet"));
//! assert_eq!(reply.state.bond.affection, 1 + 20);
//! # Ok::<(), memory_engine::Error>(()) }).unwrap();
//! ```

mod books;
mod material;
mod profile;
mod stream;
mod turn;

use std::{fmt, sync::Arc};

use jiff::tz::{self, TimeZone};
pub use memory_engine_companion::*;
use memory_engine_context::{EstimatedTokens, InjectionRules, TokenCounter};
use memory_engine_core::{RecordId, Result, Scope, Timestamp};
use memory_engine_llm::{ChatModel, Usage};

use crate::{Degraded, MemoryEngine, context::BuiltContext};

pub use stream::{TurnPiece, TurnStream};

/// A companion: a pack, a model and a memory. Cloning it is cheap.
///
/// Everything it keeps is in the engine's memory, as records at the address that each call names; it has no store of its own
/// and keeps nothing between two calls, so that any number of processes can serve one user.
///
/// - The conversation: kind `turn`. Key moments: kind `key_moment`, made from their messages and gone with them. Profiles: kind
///   `profile`, the latest one active.
/// - The state and the log of affection: the ledgers `ledger/companion` and `ledger/affection`, which no recall finds. That
///   messages are deleted changes neither.
///
/// What belongs together is written in one transaction. Of two turns of one user that end at once, one is written again on
/// top of the other.
#[derive(Clone)]
#[must_use]
pub struct Companion {
    engine: MemoryEngine,
    model: Arc<dyn ChatModel>,
    pack: Arc<Pack>,
    counter: Arc<dyn TokenCounter>,
    profiles: Arc<dyn ProfileSummarizer>,
    rules: Arc<InjectionRules>,
    zone: TimeZone,
}

impl fmt::Debug for Companion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Companion").field("name", &self.pack.name).field("model", &self.model).finish_non_exhaustive()
    }
}

/// Words that ask about the past in English, beside those of [`InjectionRules`].
const REMEMBER: [&str; 8] =
    ["remember", "recall", "last time", "before", "earlier", "used to", "the other day", "you said"];

impl Companion {
    /// A companion with days in UTC+8, profiles by rules, and an estimate of tokens.
    pub fn new(engine: MemoryEngine, model: Arc<dyn ChatModel>, pack: Pack) -> Self {
        let mut rules = InjectionRules::default();
        rules.recall.more_words = REMEMBER.map(str::to_owned).into();
        Self {
            engine,
            model,
            pack: Arc::new(pack),
            counter: Arc::new(EstimatedTokens),
            profiles: Arc::new(RuleProfiles),
            rules: Arc::new(rules),
            zone: TimeZone::fixed(tz::offset(8)),
        }
    }

    /// Days and dates are those of this zone: the user's.
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Counts the tokens of contexts with this.
    pub fn with_counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Has profiles written by this, such as [`ChatProfiles`].
    pub fn with_profiles(mut self, profiles: Arc<dyn ProfileSummarizer>) -> Self {
        self.profiles = profiles;
        self
    }

    /// Looks into the past when these rules say so.
    pub fn with_rules(mut self, rules: InjectionRules) -> Self {
        self.rules = Arc::new(rules);
        self
    }

    /// Who the companion is.
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    /// How the relationship with the user at this address stands; as at the beginning, where there is none. Changes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn state(&self, scope: &Scope) -> Result<CompanionState> {
        Ok(self.read_state(scope).await?.map(|(_, state)| state).unwrap_or_default())
    }

    /// The context that a message would be answered with, and what each layer took. Stores nothing.
    ///
    /// # Errors
    /// As [`turn`](Self::turn), but for the model's.
    pub async fn context(&self, scope: &Scope, message: &str) -> Result<BuiltContext> {
        let state = self.state(scope).await?;
        let possible = self.possible(&state, message);
        let (built, _, _) = self.build(scope, &state, message, None, possible).await?;
        Ok(built)
    }

    fn possible(&self, state: &CompanionState, message: &str) -> Option<&MomentRule> {
        let there = state.moments.keys().cloned().collect();
        MomentRule::candidate(&self.pack.moments, state.bond.affection, &there, message)
    }
}

/// What a user says to a companion. A plain `&str` or `String` is a new message.
#[derive(Debug, Clone)]
#[must_use]
pub struct Said {
    text: String,
    message_id: Option<String>,
}

impl Said {
    /// A new message.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), message_id: None }
    }

    /// Gives it the id that it has where it comes from: the same message again is answered as before, and counted once.
    pub fn with_message_id(mut self, message_id: impl Into<String>) -> Self {
        self.message_id = Some(message_id.into());
        self
    }
}

impl From<&str> for Said {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// What came of a turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnReply {
    /// What the companion says to the user.
    pub text: String,
    /// The record of the user's message.
    pub message: RecordId,
    /// The record of the reply; `None` when the message was deleted meanwhile, and nothing was kept.
    pub reply: Option<RecordId>,
    /// When the reply was written.
    pub at: Timestamp,
    /// How the relationship stands now.
    pub state: CompanionState,
    /// How affection changed, in order.
    pub changes: Vec<Change>,
    /// The key moment that came.
    pub key_moment: Option<String>,
    /// The context that the model was given; `None` when the message had been answered before.
    pub context: Option<BuiltContext>,
    /// Whether the message had been answered before: then this is that answer, and nothing was counted.
    pub repeated: bool,
    /// What did not work, and why. The reply stands without it.
    pub degraded: Vec<Degraded>,
    /// What the reply cost, where the service tells.
    pub usage: Option<Usage>,
}
