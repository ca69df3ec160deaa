//! The state of a session that no stored turn contains. It is an entry of a ledger at the address of the session, and
//! is exported and deleted with the session. It has ids, hashes, scenes and counts, and no text of the user.

use memory_engine::{
    MemoryEngine, Result, Scope,
    context::{InjectedMemories, RequestNotice},
    store::SessionLedger,
};
use serde::{Deserialize, Serialize};

use super::{prompt::Prompt, thread::TurnKey};

/// The states of the sessions of the gateway.
const STATES: SessionLedger = SessionLedger::new("gateway/session");
/// Maximum number of open exchanges of a session. Agents of one session have an exchange each.
const MAX_OPEN_EXCHANGES: usize = 16;

/// The state of a session that no stored turn contains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SessionState {
    /// The prompts of exchanges that wait for the results of tools, oldest first.
    open: Vec<OpenExchange>,
    /// The key of the latest stored turn before the latest request about the memory, which is not stored itself.
    pub(super) request_after: Option<String>,
}

/// What was injected for the question of an exchange that waits for the results of tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenExchange {
    /// The key of its turn.
    turn: String,
    /// The scene of the question.
    pub(super) scene: Option<String>,
    /// The scene of the session after the question.
    pub(super) session_scene: Option<String>,
    pub(super) memories: InjectedMemories,
    /// The notice about a request, without its topic.
    pub(super) notice: Option<RequestNotice>,
}

impl SessionState {
    /// Returns the open exchange with this turn.
    pub(super) fn open_exchange(&self, turn: &str) -> Option<&OpenExchange> {
        self.open.iter().find(|open| open.turn == turn)
    }

    /// Adds an open exchange, in place of the exchange before it.
    fn add(&mut self, exchange: &OpenExchange, parent: Option<&String>) {
        self.open.retain(|open| open.turn != exchange.turn && Some(&open.turn) != parent);
        if self.open.len() == MAX_OPEN_EXCHANGES {
            self.open.remove(0);
        }
        self.open.push(exchange.clone());
    }
}

impl OpenExchange {
    pub(super) fn new(turn: &TurnKey, prompt: &Prompt) -> Self {
        Self {
            turn: turn.key.clone(),
            scene: prompt.scene.clone(),
            session_scene: prompt.session_scene.clone(),
            memories: prompt.memories.clone(),
            notice: prompt.notice.clone(),
        }
    }

    /// Stores what was injected, for the requests with the results of tools.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn store(&self, engine: &MemoryEngine, address: &Scope, parent: Option<&String>) -> Result<()> {
        update_state(engine, address, |state| state.add(self, parent)).await
    }
}

/// Reads the state of a session.
///
/// # Errors
/// The store's.
pub(super) async fn read_state(engine: &MemoryEngine, address: &Scope) -> Result<SessionState> {
    STATES.read(engine, address).await
}

/// Changes the state of a session. Repeats the change if another server changes the state at the same time.
///
/// # Errors
/// The store's.
pub(super) async fn update_state(
    engine: &MemoryEngine,
    address: &Scope,
    change: impl Fn(&mut SessionState),
) -> Result<()> {
    STATES.update(engine, address, change).await
}

#[cfg(test)]
mod tests;
