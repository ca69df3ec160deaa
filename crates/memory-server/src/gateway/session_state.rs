//! The state of a session that no stored turn contains. It is an entry of a ledger at the address of the session, and
//! is exported and deleted with the session. It has ids, hashes, scenes and counts, and no text of the user.

use memory_engine::{
    Clock, ErrorKind, Kind, MemoryEngine, Outcome, PutMode, Record, RecordId, Result, Scope, Trust,
    context::{InjectedMemories, RequestNotice},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{prompt::Prompt, thread::TurnKey};

/// The ledger of the states of sessions.
const LEDGER: &str = "session";
/// The metadata key of the state.
const STATE: &str = "state";
/// Maximum number of open exchanges of a session. Agents of one session have an exchange each.
const MAX_OPEN_EXCHANGES: usize = 16;
/// Maximum number of entries that a session has had. All but the last are deleted.
const MAX_ENTRIES: usize = 16;
/// Maximum number of attempts to change a state that other servers change as well.
const MAX_ATTEMPTS: usize = 8;

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
    Ok(state_of(read_entry(engine, address).await?.as_ref()))
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
    let mut attempt = 1;
    loop {
        let entry = read_entry(engine, address).await?;
        let mut state = state_of(entry.as_ref());
        change(&mut state);
        match store_state(engine, address, entry, &state).await {
            Err(error)
                if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) && attempt < MAX_ATTEMPTS =>
            {
                attempt += 1;
            }
            stored => return stored,
        }
    }
}

async fn store_state(
    engine: &MemoryEngine,
    address: &Scope,
    stored: Option<Record>,
    state: &SessionState,
) -> Result<()> {
    if let Some(mut entry) = stored {
        let mode = PutMode::Update { revision: entry.revision };
        entry.metadata.insert(STATE.into(), json!(state));
        return engine.store(address, vec![entry], mode).await.map(drop);
    }
    for id in entry_ids(address) {
        let mut entry = new_entry(address, id, engine.settings().clock());
        entry.metadata.insert(STATE.into(), json!(state));
        let written = engine.store(address, vec![entry], PutMode::Create).await?;
        if !written.iter().any(|written| matches!(written.outcome, Outcome::Blocked(_))) {
            return Ok(());
        }
    }
    tracing::warn!("a session that was forgotten {MAX_ENTRIES} times has no state");
    Ok(())
}

async fn read_entry(engine: &MemoryEngine, address: &Scope) -> Result<Option<Record>> {
    let ids: Vec<RecordId> = entry_ids(address).collect();
    Ok(engine.get_all(address, &ids).await?.into_iter().flatten().next())
}

fn state_of(entry: Option<&Record>) -> SessionState {
    let state = entry.and_then(|entry| entry.metadata.get(STATE).cloned());
    // The state only helps to repeat what was injected, so that one which another version wrote can be dropped.
    state.and_then(|state| serde_json::from_value(state).ok()).unwrap_or_default()
}

fn new_entry(address: &Scope, id: RecordId, clock: &dyn Clock) -> Record {
    let mut entry = Record::new(address.clone(), Kind::ledger(LEDGER), "the state of a session", clock);
    entry.id = id;
    entry.trust = Trust::Tool;
    entry
}

/// Returns the ids that the entry of a session may have. A session that is forgotten and goes on gets the next one,
/// because a deleted id is not stored again.
fn entry_ids(address: &Scope) -> impl Iterator<Item = RecordId> {
    (0..MAX_ENTRIES).map(move |number| RecordId::named(address, &format!("gateway/session/{number}")))
}

#[cfg(test)]
mod tests;
