//! Requests of the user about the memory itself: "don't remember this", "forget what I said about my ex".

use std::time::Duration;

use memory_engine::{
    MemoryEngine, RecordId, Result, Scope,
    context::RequestNotice,
    requests::{ChatCommand, MemoryRequest},
};

use super::{
    identity::Identity,
    thread::{Exchange, Thread, TurnKey},
    turn::record_ids,
};

/// Time limit of acting on a request. It reads all messages of a user.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the request in the open message of a conversation. It depends on the texts alone, so that a message that is
/// sent again is found again.
pub(super) fn find_request(commands: &[ChatCommand], thread: &Thread) -> Option<MemoryRequest> {
    let previous = thread.previous_exchange().map(|exchange| exchange.user.as_str());
    ChatCommand::find(commands, &thread.open_exchange().user, previous)
}

/// Acts on the request in the open turn. `last_key` is the key of the latest turn of the session.
pub(super) async fn act_on_request(
    engine: &MemoryEngine,
    identity: &Identity,
    thread: &Thread,
    turn: &TurnKey,
    last_key: Option<String>,
    request: &MemoryRequest,
) -> Result<RequestNotice> {
    if *request == MemoryRequest::TakeOutPrevious {
        take_out_previous(engine, &identity.address, thread.previous_exchange(), turn, last_key).await?;
    }
    engine.requests().act(&identity.recall_scope, request).await
}

/// Takes the exchange before the open turn out of the memory, and blocks it.
async fn take_out_previous(
    engine: &MemoryEngine,
    address: &Scope,
    previous: Option<&Exchange>,
    turn: &TurnKey,
    last_key: Option<String>,
) -> Result<()> {
    if let (Some(parent), Some(previous)) = (&turn.parent, previous) {
        block_exchange(engine, address, parent, previous).await?;
    }
    // A client that sends less of its history has another key, or none.
    let Some(last_key) = last_key.filter(|last| turn.parent.as_ref() != Some(last)) else { return Ok(()) };
    let ids = record_ids(address, &last_key);
    let [question, reply] = stored_texts(engine, address, &ids).await?;
    if previous.is_none_or(|previous| question == engine.screening().mask(previous.user.as_str())) {
        let last = Exchange { user: question, assistant: reply };
        block_exchange(engine, address, &last_key, &last).await?;
    }
    Ok(())
}

async fn stored_texts(engine: &MemoryEngine, address: &Scope, ids: &[RecordId; 2]) -> Result<[String; 2]> {
    let mut texts = engine.get_all(address, ids).await?.into_iter().map(|record| record.map(|record| record.text));
    Ok([texts.next().flatten().unwrap_or_default(), texts.next().flatten().unwrap_or_default()])
}

/// Keeps the exchange of a turn out of the memory.
pub(super) async fn block_exchange(
    engine: &MemoryEngine,
    address: &Scope,
    key: &str,
    exchange: &Exchange,
) -> Result<()> {
    let [user_id, reply_id] = record_ids(address, key);
    let texts = [(user_id, exchange.user.as_str()), (reply_id, exchange.assistant.as_str())];
    engine.requests().block(address, &texts).await
}
