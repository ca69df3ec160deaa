//! Edited first messages of chats whose client names no session.
//!
//! The first message names such a chat, so that an edited one looks like another chat. Two cases can be told safely:
//! - The client changes the message in its place, and its replies and later messages are those of a known chat.
//! - The client sends a first message again, changed, a few minutes after a chat of one exchange: both are statements
//!   that differ in one place. Questions, requests and templates with another content are chats of their own.

use std::time::Duration;

use memory_engine::{
    Filter, MemoryEngine, Record, Result, Role, ScanQuery, Scope, Timestamp, context::is_question, store::is_countable,
};

use super::{
    sessions::{active_turns, metadata_text},
    thread::{DERIVED_PREFIX, EditedFirst, Exchange, Thread},
    turn::TURN_KEY,
};

/// Maximum time after which a first message that was sent again, changed, replaces the one before it.
const RESEND_WINDOW: Duration = Duration::from_secs(5 * 60);
/// Maximum age of the beginning of a chat whose first message is changed in its place.
const CHAT_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of records that are searched for the beginning of a chat.
const MAX_SCANNED_RECORDS: usize = 1000;
/// Minimum share of the longer message, in percent, that both have in common before and after the change.
const MIN_COMMON_PERCENT: usize = 60;
/// Marks after which a template has its content: chats with other contents are not edits.
const CONTENT_MARKS: [char; 8] = [':', '：', '\n', '"', '“', '「', '«', '`'];

/// Returns the chat whose first message a history has changed in its place: its first reply and its second message are
/// those of the history.
///
/// # Errors
/// The store's.
pub(super) async fn find_edited_chat(
    engine: &MemoryEngine,
    recall_scope: &Scope,
    thread: &Thread,
    now: Timestamp,
) -> Result<Option<EditedFirst>> {
    let [first, second, _, ..] = thread.exchanges() else { return Ok(None) };
    let masked =
        |exchange: &Exchange| [&exchange.user, &exchange.assistant].map(|text| engine.screening().mask(text.as_str()));
    let ([words, reply], [second_words, second_reply]) = (masked(first), masked(second));
    let texts = [&words, &reply, &second_words, &second_reply];
    if texts.iter().any(|text| text.is_empty()) {
        return Ok(None);
    }
    let query =
        ScanQuery::newest(MAX_SCANNED_RECORDS).with_filter(active_turns().and(Filter::since(now.before(CHAT_WINDOW))));
    let turns = engine.scan(recall_scope, &query).await?.records;
    let replies = turns.iter().filter(|turn| is_of_derived_chat(turn) && is_reply(turn) && turn.text == reply);
    for stored in replies {
        let of_chat = turns.iter().rev().filter(|turn| turn.scope == stored.scope);
        let beginning: Vec<&Record> = of_chat.take(4).collect();
        let [old, old_reply, next, next_reply] = beginning[..] else { continue };
        if (&old_reply.text, &next.text, &next_reply.text) == (&reply, &second_words, &second_reply) && !is_reply(old) {
            let Some(turn) = metadata_text(old, TURN_KEY) else { continue };
            return Ok(Some(EditedFirst { chat: old.scope.clone(), turn: turn.to_owned(), text: Some(words) }));
        }
    }
    Ok(None)
}

/// Returns the only message of the latest chat if the first message of a request is an edited form of it.
///
/// # Errors
/// The store's.
pub(super) async fn find_resent_message(
    engine: &MemoryEngine,
    recall_scope: &Scope,
    thread: &Thread,
    now: Timestamp,
) -> Result<Option<EditedFirst>> {
    let Some(question) = thread.question() else { return Ok(None) };
    let filter = active_turns().and(Filter::since(now.before(RESEND_WINDOW)));
    // The third record tells that the chat has another turn.
    let turns = engine.scan(recall_scope, &ScanQuery::newest(3).with_filter(filter)).await?.records;
    let Some(old) = turns.iter().take(2).find(|turn| !is_reply(turn) && is_of_derived_chat(turn)) else {
        return Ok(None);
    };
    let key = metadata_text(old, TURN_KEY);
    let others = turns.iter().filter(|turn| turn.scope == old.scope && metadata_text(turn, TURN_KEY) != key);
    let newest_is_of_chat = turns.first().is_some_and(|newest| newest.scope == old.scope);
    let question = engine.screening().mask(question);
    if others.count() > 0 || !newest_is_of_chat || !is_countable(old) || !is_edit(&old.text, &question) {
        return Ok(None);
    }
    // The window may cut the chat: it must have no earlier turn either.
    let beginning = engine.scan(&old.scope, &ScanQuery::oldest(1).with_filter(active_turns())).await?.records;
    let is_first = beginning.first().is_some_and(|first| first.id == old.id);
    Ok(key.filter(|_| is_first).map(|turn| EditedFirst { chat: old.scope.clone(), turn: turn.to_owned(), text: None }))
}

fn is_of_derived_chat(turn: &Record) -> bool {
    turn.scope.session().is_some_and(|session| session.starts_with(DERIVED_PREFIX))
}

fn is_reply(turn: &Record) -> bool {
    turn.role.as_ref() == Some(&Role::ASSISTANT)
}

/// Returns true if both texts are statements, and differ in one place.
fn is_edit(old: &str, new: &str) -> bool {
    let (old_chars, new_chars): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let shorter = old_chars.len().min(new_chars.len());
    let longer = old_chars.len().max(new_chars.len());
    let before = old_chars.iter().zip(&new_chars).take_while(|(a, b)| a == b).count();
    let after = old_chars.iter().rev().zip(new_chars.iter().rev()).take_while(|(a, b)| a == b).count();
    let common = before + after.min(shorter - before);
    old != new
        && common * 100 >= longer * MIN_COMMON_PERCENT
        && !old_chars[..before].iter().any(|c| CONTENT_MARKS.contains(c))
        && !is_question(old)
        && !is_question(new)
}

#[cfg(test)]
mod tests {
    use super::is_edit;

    #[test]
    fn an_edit_changes_one_place_of_a_statement() {
        for (old, new) in [
            ("My cousin Vera keeps bees in Graz", "My cousin Vera keeps bees in Linz"),
            ("I start at the bakery on Mondey", "I start at the bakery on Monday"),
            ("我表姐薇拉在格拉茨养蜜蜂", "我表姐薇拉在林茨养蜜蜂"),
            ("我从周一开始在面包店上班", "我从周一开始在面包店上班，早上五点"),
        ] {
            assert!(is_edit(old, new) && is_edit(new, old), "{old} / {new}");
        }
        for (old, new) in [
            ("My cousin Vera keeps bees in Graz", "My cousin Vera keeps bees in Graz"),
            ("My cousin Vera keeps bees in Graz", "My uncle Otto keeps a boat in Triest"),
            ("Say it in Latin: I feed the cat at noon", "Say it in Latin: I feed the dog at noon"),
            ("Which train goes to Graz tomorrow?", "Which train goes to Linz tomorrow?"),
            ("把这句译成拉丁文：我中午喂猫", "把这句译成拉丁文：我中午喂狗"),
            ("明天去格拉茨的火车几点开", "明天去林茨的火车几点开"),
        ] {
            assert!(!is_edit(old, new), "{old} / {new}");
        }
    }
}
