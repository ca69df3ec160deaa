//! Requests of the user about the memory itself: "don't remember this", "forget what I said about my ex".

use std::time::Duration;

use memory_engine::{
    MemoryEngine, RecordId, Result, Scope,
    context::RequestNotice,
    requests::{ChatCommand, MemoryRequest},
};

use tokio::time::timeout;

use super::{
    identity::Identity,
    session_state::{read_state, update_state},
    sessions::read_latest_turn,
    thread::{Exchange, Thread, TurnKey},
    turn::record_ids,
};

/// Time limit of acting on a request. It reads all messages of a user.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the request in the open message of a conversation. A message that is sent again is found again.
pub(super) async fn find_request(
    engine: &MemoryEngine,
    scope: &Scope,
    commands: &[ChatCommand],
    thread: &Thread,
) -> Option<MemoryRequest> {
    let previous = thread.previous_exchange().map(|exchange| exchange.user.as_str());
    let message = thread.open_exchange().user;
    match timeout(REQUEST_TIMEOUT, engine.requests().find(scope, commands, &message, previous)).await {
        Ok(Ok(found)) => found,
        // Only a yes is looked up. Without the question, it is a message like others.
        Ok(Err(_)) | Err(_) => None,
    }
}

/// Acts on the request in the open turn. `latest_key` is the key of the latest stored turn of the session.
pub(super) async fn act_on_request(
    engine: &MemoryEngine,
    identity: &Identity,
    thread: &Thread,
    turn: &TurnKey,
    latest_key: Option<String>,
    request: &MemoryRequest,
) -> Result<RequestNotice> {
    let address = &identity.address;
    let taken_out = match request {
        MemoryRequest::TakeOutPrevious => {
            // The message before this one may be a request, which is not stored.
            let request_after = read_state(engine, address).await?.request_after;
            let last_key = latest_key.filter(|latest| Some(latest) != request_after.as_ref());
            take_out_previous(engine, address, thread.previous_exchange(), turn, last_key).await?
        }
        MemoryRequest::OffTheRecord | MemoryRequest::Forget { .. } | MemoryRequest::Undo => 0,
    };
    let notice = engine.requests().act(&identity.recall_scope, request, taken_out).await?;
    let latest = read_latest_turn(engine, address, engine.settings().clock().now()).await?;
    let marked = update_state(engine, address, |state| state.request_after.clone_from(&latest.key)).await;
    if let Err(error) = marked {
        tracing::warn!(%error, "a request about the memory was done, and may be done twice if the client repeats it");
    }
    Ok(notice)
}

/// Takes the exchange before the open turn out of the memory, and blocks it. Returns the number of deleted records.
async fn take_out_previous(
    engine: &MemoryEngine,
    address: &Scope,
    previous: Option<&Exchange>,
    turn: &TurnKey,
    last_key: Option<String>,
) -> Result<usize> {
    let mut count = 0;
    if let (Some(parent), Some(previous)) = (&turn.parent, previous) {
        count += block_exchange(engine, address, parent, previous).await?;
    }
    // A client that sends less of its history has another key, or none.
    let Some(last_key) = last_key.filter(|last| turn.parent.as_ref() != Some(last)) else { return Ok(count) };
    let ids = record_ids(address, &last_key);
    let [question, reply] = stored_texts(engine, address, &ids).await?;
    let previous_question = match previous {
        Some(previous) => engine.screening().mask_within(address, previous.user.as_str()).await?,
        None => question.clone(),
    };
    if question == previous_question {
        let last = Exchange { user: question, assistant: reply };
        count += block_exchange(engine, address, &last_key, &last).await?;
    }
    Ok(count)
}

async fn stored_texts(engine: &MemoryEngine, address: &Scope, ids: &[RecordId; 2]) -> Result<[String; 2]> {
    let mut texts = engine.get_all(address, ids).await?.into_iter().map(|record| record.map(|record| record.text));
    Ok([texts.next().flatten().unwrap_or_default(), texts.next().flatten().unwrap_or_default()])
}

/// Keeps the exchange of a turn out of the memory. Returns the number of deleted records.
pub(super) async fn block_exchange(
    engine: &MemoryEngine,
    address: &Scope,
    key: &str,
    exchange: &Exchange,
) -> Result<usize> {
    let [user_id, reply_id] = record_ids(address, key);
    let texts = [(user_id, exchange.user.as_str()), (reply_id, exchange.assistant.as_str())];
    engine.requests().block(address, &texts).await
}
