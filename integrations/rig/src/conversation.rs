//! The history of conversations.

use futures_util::{StreamExt, TryStreamExt};
use memory_engine::{Error, Field, Filter, Forget, Kind, MemoryEngine, Result, Scope, State};
use rig_core::{
    completion::Message,
    id::ConversationId,
    memory::{ConversationMemory, MemoryError},
    wasm_compat::WasmBoxedFuture,
};

use crate::message;

const OPERATION: &str = "rig conversation";

/// rig's [`ConversationMemory`] on a memory engine: every message with text is a memory, which recall finds from other
/// conversations too.
///
/// The conversation id becomes the session of the scope. It has 1 to 256 bytes, no control characters, and no white
/// space at its ends.
#[derive(Debug, Clone)]
#[must_use]
pub struct EngineConversationMemory {
    engine: MemoryEngine,
    scope: Scope,
    max_turns: Option<usize>,
}

impl EngineConversationMemory {
    /// Creates the history of the conversations of one user, or of one agent of a user.
    ///
    /// # Errors
    /// `InvalidInput` if the scope has no user, or has a session.
    pub fn new(engine: MemoryEngine, scope: Scope) -> Result<Self> {
        if scope.user_name().is_none() {
            let message = "the scope has no user; begin with Scope::user, or add Scope::with_user to a tenant";
            return Err(Error::invalid(OPERATION, message));
        }
        if scope.session().is_some() {
            let message = "the scope has a session, which the conversation id sets; pass the scope of the user";
            return Err(Error::invalid(OPERATION, message));
        }
        Ok(Self { engine, scope, max_turns: None })
    }

    /// Loads at most this number of messages with text, the latest ones, with the tool calls between them. Default: no
    /// limit.
    pub fn with_max_turns(mut self, max_turns: usize) -> Self {
        self.max_turns = Some(max_turns);
        self
    }

    /// Returns the address of a conversation.
    fn address(&self, conversation: &ConversationId) -> Result<Scope, MemoryError> {
        self.scope.clone().with_session(conversation.as_str()).map_err(MemoryError::backend)
    }

    async fn load_messages(&self, conversation: &ConversationId) -> Result<Vec<Message>, MemoryError> {
        let address = self.address(conversation)?;
        let active = Filter::eq(Field::State, State::Active);
        let newest = self.engine.records(&address).filter(turns_at(&address).and(active)).newest_first();
        let limit = self.max_turns.unwrap_or(usize::MAX);
        let mut records: Vec<_> = newest.stream().take(limit).try_collect().await.map_err(MemoryError::backend)?;
        records.reverse();
        Ok(records.iter().flat_map(message::to_messages).collect())
    }

    async fn append_messages(&self, conversation: &ConversationId, messages: Vec<Message>) -> Result<(), MemoryError> {
        let address = self.address(conversation)?;
        let turns = message::to_turns(messages);
        self.engine.remember_all(&address, turns).await.map_err(MemoryError::backend)?;
        Ok(())
    }

    async fn clear_messages(&self, conversation: &ConversationId) -> Result<(), MemoryError> {
        let address = self.address(conversation)?;
        let turns = Forget::Matching(turns_at(&address));
        self.engine.forget(&address, turns).await.map_err(MemoryError::backend)?;
        Ok(())
    }
}

/// Returns a filter for the messages at exactly this address. A conversation with the same name of an agent, or on a
/// branch, is another one.
fn turns_at(address: &Scope) -> Filter {
    let turns = Filter::eq(Field::Kind, Kind::TURN);
    let dimensions = [(Field::Agent, address.agent()), (Field::Branch, address.branch())];
    let unset = dimensions.into_iter().filter(|(_, name)| name.is_none());
    unset.fold(turns, |filter, (field, _)| filter.and(!Filter::Exists(field)))
}

impl ConversationMemory for EngineConversationMemory {
    fn load<'a>(
        &'a self,
        conversation_id: &'a ConversationId,
    ) -> WasmBoxedFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(self.load_messages(conversation_id))
    }

    fn append<'a>(
        &'a self,
        conversation_id: &'a ConversationId,
        messages: Vec<Message>,
    ) -> WasmBoxedFuture<'a, Result<(), MemoryError>> {
        Box::pin(self.append_messages(conversation_id, messages))
    }

    fn clear<'a>(&'a self, conversation_id: &'a ConversationId) -> WasmBoxedFuture<'a, Result<(), MemoryError>> {
        Box::pin(self.clear_messages(conversation_id))
    }
}
