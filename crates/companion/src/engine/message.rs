//! The user's message and the reply of a companion.

use memory_engine::recall::Degraded;
use memory_engine_context::BuiltContext;
use memory_engine_core::{RecordId, Timestamp};
use memory_engine_llm::Usage;

use crate::{affection::AffectionChange, state::CompanionState};

/// A message of the user. A plain `&str` or `String` is a new message.
#[derive(Debug, Clone)]
#[must_use]
pub struct UserMessage {
    pub(super) text: String,
    pub(super) message_id: Option<String>,
}

impl UserMessage {
    /// Creates a new message.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), message_id: None }
    }

    /// Sets the id that the message has in its source. A message with the same id is answered once and counted once.
    pub fn with_message_id(mut self, message_id: impl Into<String>) -> Self {
        self.message_id = Some(message_id.into());
        self
    }
}

impl From<&str> for UserMessage {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for UserMessage {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// The result of a turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnReply {
    /// The reply of the companion.
    pub text: String,
    /// The record of the user's message.
    pub message: RecordId,
    /// The record of the reply. `None` if the message was deleted in the meantime; then nothing was stored.
    pub reply: Option<RecordId>,
    /// The time of the reply.
    pub at: Timestamp,
    /// The state after the turn.
    pub state: CompanionState,
    /// The changes of affection, in order.
    pub changes: Vec<AffectionChange>,
    /// The key moment that happened, if any.
    pub key_moment: Option<String>,
    /// The context that was sent to the model. `None` if the message was answered before.
    pub context: Option<BuiltContext>,
    /// True if the message was answered before. Then this is that answer, and nothing was counted.
    pub repeated: bool,
    /// Stages that failed, with the reason. The reply is valid without them.
    pub degraded: Vec<Degraded>,
    /// The tokens used, if the service reports them.
    pub usage: Option<Usage>,
}
