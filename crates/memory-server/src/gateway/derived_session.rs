//! The sessions of chats whose client names none.

use std::time::Duration;

use memory_engine::{MemoryEngine, Record, RecordId, Result, Role, Scope, Timestamp};

use super::{
    sessions::read_last_turn,
    thread::{Thread, TurnKey},
    turn::record_ids,
};

/// Maximum number of chats of a user that begin with the same words and have sessions of their own. Later ones share
/// the last session.
const MAX_CHATS: usize = 32;
/// Maximum time in which a repeated first message asks for another reply. Later it begins another chat.
const RETRY_WINDOW: Duration = Duration::from_secs(3600);

/// Returns the address of the chat that a request continues, among those that begin with the same words: `first`, which
/// is named after these words, then `first-2`, and so on. A first message begins another chat, unless it repeats the
/// only message of the latest one.
///
/// # Errors
/// The store's.
pub(super) async fn find_chat(
    engine: &MemoryEngine,
    recall_scope: &Scope,
    first: &Scope,
    thread: &Thread,
    key: &TurnKey,
    now: Timestamp,
) -> Result<Scope> {
    let chats = addresses(first)?;
    let stored_key = key.parent.as_ref().unwrap_or(&key.key);
    let ids: Vec<RecordId> = chats.iter().flat_map(|chat| record_ids(chat, stored_key)).collect();
    let stored = engine.get_all(recall_scope, &ids).await?;
    let stored: Vec<(usize, &Record)> =
        stored.iter().enumerate().filter_map(|(index, record)| Some((index / 2, record.as_ref()?))).collect();
    if key.parent.is_some() {
        let reply = thread.previous_exchange().map(|exchange| engine.screening().mask(exchange.assistant.as_str()));
        let chat = latest_chat(&stored, reply.as_deref()).unwrap_or(0);
        return Ok(chats[chat].clone());
    }
    let Some(latest) = stored.iter().map(|(chat, _)| *chat).max() else { return Ok(first.clone()) };
    // A result of a tool belongs to the chat, however long the tool took.
    let awaits_reply = thread.question().is_none();
    let is_recent =
        stored.iter().any(|(chat, record)| *chat == latest && record.occurred_at >= now.before(RETRY_WINDOW));
    let (last_turn, _) = read_last_turn(engine, &chats[latest]).await?;
    let is_retry = awaits_reply || is_recent && last_turn.key.is_none_or(|last| last == key.key);
    let chat = if is_retry { latest } else { (latest + 1).min(MAX_CHATS - 1) };
    Ok(chats[chat].clone())
}

/// Returns the index of the latest chat with the stored turn before the open one, preferably with the same reply.
fn latest_chat(stored: &[(usize, &Record)], reply: Option<&str>) -> Option<usize> {
    let latest = |records: &mut dyn Iterator<Item = &(usize, &Record)>| {
        records.max_by_key(|(chat, record)| (record.occurred_at, *chat)).map(|(chat, _)| *chat)
    };
    let has_reply = |(_, record): &&(usize, &Record)| {
        record.role.as_ref() == Some(&Role::ASSISTANT) && reply == Some(record.text.as_str())
    };
    latest(&mut stored.iter().filter(has_reply)).or_else(|| latest(&mut stored.iter()))
}

/// Returns the addresses of the chats that begin with the same words as `first`.
fn addresses(first: &Scope) -> Result<Vec<Scope>> {
    let name = first.session().unwrap_or_default();
    let later = (2..=MAX_CHATS).map(|number| first.clone().with_session(format!("{name}-{number}")));
    std::iter::once(Ok(first.clone())).chain(later).collect()
}
