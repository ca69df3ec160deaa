//! Continuations: a request that names an earlier response or conversation instead of repeating its messages.

use std::time::Duration;

use memory_engine::{Kind, MemoryEngine, Record, RecordId, Result, Scope, State, Trust};
use serde_json::json;

use super::{
    sessions::metadata_text,
    thread::{ChatMessage, Speaker, TurnKey, exchange_messages},
    turn::{FOLLOWS, TURN_KEY, record_ids},
};

/// The ledger of the turns of responses.
const LEDGER: &str = "continuation";
/// Time for which a response is known: longer than the 30 days for which OpenAI stores one, for other services.
pub(super) const KNOWN_FOR: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The turn before a request, which the service stores and the client does not repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continuation {
    pub(super) session: String,
    /// The messages of the turn, as far as they are stored.
    messages: Vec<ChatMessage>,
    /// The key of the turn.
    turn: String,
    /// The key of the exchange before the turn.
    follows: Option<String>,
}

impl Continuation {
    /// Returns the messages before those of a request. The results of tools belong to the question of the turn. If the
    /// request `asks` another question, it does not belong to a question that waits for the results of tools.
    pub(super) fn messages(&self, asks: bool) -> &[ChatMessage] {
        match (asks, self.is_answered()) {
            (true, true) | (false, false) => &self.messages,
            (true, false) => &[],
            (false, true) => &self.messages[..self.messages.len() - 1],
        }
    }

    /// Returns the key of the turn, for a request with the results of its tools.
    pub(super) fn open_turn(&self) -> TurnKey {
        TurnKey {
            key: self.turn.clone(),
            follows: self.follows.clone(),
            parent: None,
            history: Vec::new(),
            edited: None,
        }
    }

    /// Returns the key of the turn, for a request that follows it.
    pub(super) fn parent(&self) -> String {
        self.turn.clone()
    }

    /// Returns true if the turn is stored with a reply.
    pub(super) fn is_answered(&self) -> bool {
        self.messages.last().is_some_and(|message| message.speaker == Speaker::Assistant)
    }
}

/// Returns the entry with which a later request continues the turn of a response. It is deleted with the session.
pub(super) fn continuation_entry(engine: &MemoryEngine, address: &Scope, response_id: &str, turn: &str) -> Record {
    let clock = engine.settings().clock();
    let mut entry = Record::new(address.clone(), Kind::ledger(LEDGER), "the turn of a response", clock);
    entry.id = entry_id(address, response_id);
    entry.trust = Trust::Tool;
    entry.expires_at = Some(clock.now().after(KNOWN_FOR));
    entry.metadata.insert(TURN_KEY.into(), json!(turn));
    entry
}

/// Returns the continuation for the id of a response; `None` if this user has none.
///
/// # Errors
/// The store's.
pub(super) async fn find_continuation(
    engine: &MemoryEngine,
    recall_scope: &Scope,
    response_id: &str,
) -> Result<Option<Continuation>> {
    let entry = engine.get(recall_scope, entry_id(recall_scope, response_id)).await?;
    let Some((entry, turn)) = entry.as_ref().and_then(|entry| Some((entry, metadata_text(entry, TURN_KEY)?))) else {
        return Ok(None);
    };
    read_continuation(engine, &entry.scope, turn).await
}

/// Returns the continuation of a turn of a session.
///
/// # Errors
/// The store's.
pub(super) async fn read_continuation(
    engine: &MemoryEngine,
    address: &Scope,
    turn: &str,
) -> Result<Option<Continuation>> {
    let Some(session) = address.session() else { return Ok(None) };
    let found = engine.get_all(address, &record_ids(address, turn)).await?;
    let mut texts = ["", ""];
    for (text, record) in texts.iter_mut().zip(&found) {
        *text = record.as_ref().filter(|record| record.state == State::Active).map_or("", |record| &record.text);
    }
    let follows = found.iter().flatten().find_map(|record| metadata_text(record, FOLLOWS)).map(str::to_owned);
    let [user, reply] = texts;
    let messages = exchange_messages(user, reply);
    Ok(Some(Continuation { session: session.to_owned(), messages, turn: turn.to_owned(), follows }))
}

/// Returns the id of the entry of a response, which is the same for all sessions of a user.
fn entry_id(scope: &Scope, response_id: &str) -> RecordId {
    RecordId::named(&scope.namespace(), &format!("{LEDGER}/{response_id}"))
}
