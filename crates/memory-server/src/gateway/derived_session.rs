//! The sessions of chats whose client names none.

use std::time::Duration;

use memory_engine::{MemoryEngine, Record, RecordId, Result, Role, Scope, State, Timestamp};

use super::{
    edited_first::{find_edited_chat, find_resent_message},
    sessions::read_latest_turn,
    thread::{EditedFirst, Thread, TurnKey},
    turn::record_ids,
};

/// Maximum number of chats of a user that begin with the same words and have sessions of their own. Later ones share
/// the last session.
const MAX_CHATS: usize = 32;
/// Maximum number of turns before the latest one that are looked up if that one is not stored.
const MAX_UNSTORED_TURNS: usize = 5;
/// Maximum time in which a repeated first message asks for another reply. Later it begins another chat.
const RETRY_WINDOW: Duration = Duration::from_secs(3600);

/// Returns the address of the chat that a request continues, among those that begin with the same words: `first`, which
/// is named after these words, then `first-2`, and so on. A first message begins another chat, unless it repeats the
/// only message of the latest one. A result of a tool belongs to the latest one. The second result is the stored first
/// message that the request has changed.
///
/// # Errors
/// Returns the error of the store.
pub(super) async fn find_chat(
    engine: &MemoryEngine,
    recall_scope: &Scope,
    first: &Scope,
    thread: &Thread,
    key: &TurnKey,
    now: Timestamp,
) -> Result<(Scope, Option<EditedFirst>)> {
    let chats = chat_addresses(first)?;
    let stored = stored_turns(engine, recall_scope, &chats, key.parent.as_ref().unwrap_or(&key.key)).await?;
    if key.parent.is_some() {
        let reply = thread.previous_exchange().map(|exchange| engine.screening().mask(exchange.assistant.as_str()));
        // The turns of a history that was never stored begin the first chat.
        let mut chat = newest_chat(&stored, reply.as_deref());
        // Turns off the record are not stored: those before them name the chat.
        for earlier in key.history.iter().rev().skip(1).take(MAX_UNSTORED_TURNS) {
            if chat.is_some() {
                break;
            }
            chat = newest_chat(&stored_turns(engine, recall_scope, &chats, &earlier.key).await?, None);
        }
        if let Some(chat) = chat {
            return Ok((chats[chat].clone(), None));
        }
        let edited = find_edited_chat(engine, recall_scope, thread, now).await?;
        return Ok((edited.as_ref().map_or(first, |edited| &edited.chat).clone(), edited));
    }
    let is_stored = stored.iter().any(|(_, record)| record.state == State::Active);
    let edited = if is_stored { None } else { find_resent_message(engine, recall_scope, thread, now).await? };
    let Some(latest) = stored.iter().map(|(chat, _)| *chat).max() else { return Ok((first.clone(), edited)) };
    let is_tool_result = thread.question().is_none();
    let is_recent =
        stored.iter().any(|(chat, record)| *chat == latest && record.occurred_at >= now.before(RETRY_WINDOW));
    let latest_turn = read_latest_turn(engine, &chats[latest], now).await?;
    let repeats_only_message = is_recent && latest_turn.key.is_none_or(|last| last == key.key);
    let chat = if is_tool_result || repeats_only_message { latest } else { (latest + 1).min(MAX_CHATS - 1) };
    Ok((chats[chat].clone(), edited))
}

/// Returns the stored records of a turn, each with the index of its chat.
async fn stored_turns(
    engine: &MemoryEngine,
    recall_scope: &Scope,
    chats: &[Scope],
    key: &str,
) -> Result<Vec<(usize, Record)>> {
    let of_chat = |(chat, address): (usize, &Scope)| record_ids(address, key).map(|id| (chat, id));
    let (chats, ids): (Vec<usize>, Vec<RecordId>) = chats.iter().enumerate().flat_map(of_chat).unzip();
    let records = engine.get_all(recall_scope, &ids).await?;
    Ok(chats.into_iter().zip(records).filter_map(|(chat, record)| Some((chat, record?))).collect())
}

/// Returns the index of the chat whose turn before the open one was stored last, preferably with the same reply.
fn newest_chat(stored: &[(usize, Record)], reply: Option<&str>) -> Option<usize> {
    let newest = |records: &mut dyn Iterator<Item = &(usize, Record)>| {
        records.max_by_key(|(chat, record)| (record.occurred_at, *chat)).map(|(chat, _)| *chat)
    };
    let has_reply = |(_, record): &&(usize, Record)| {
        record.role.as_ref() == Some(&Role::ASSISTANT) && reply == Some(record.text.as_str())
    };
    newest(&mut stored.iter().filter(has_reply)).or_else(|| newest(&mut stored.iter()))
}

/// Returns the addresses of the chats that begin with the same words as `first`.
fn chat_addresses(first: &Scope) -> Result<Vec<Scope>> {
    let name = first.session().unwrap_or_default();
    let later = (2..=MAX_CHATS).map(|number| first.clone().with_session(format!("{name}-{number}")));
    std::iter::once(Ok(first.clone())).chain(later).collect()
}
