//! The user's message and the reply of a companion.

use memory_engine::Degraded;
use memory_engine_context::BuiltContext;
use memory_engine_core::{RecordId, Timestamp};
use memory_engine_llm::Usage;

use crate::{affection::Change, state::CompanionState};

/// What a user says to a companion. A plain `&str` or `String` is a new message.
#[derive(Debug, Clone)]
#[must_use]
pub struct Said {
    pub(super) text: String,
    pub(super) message_id: Option<String>,
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
