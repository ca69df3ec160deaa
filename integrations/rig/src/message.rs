//! Conversion between rig's messages and turns.
//!
//! A message with text is a turn. A message without text, such as a tool call or its result, is stored in the metadata
//! of the next turn: it is needed to replay the conversation, but recall must not find it.

mod portable;

use memory_engine::{Record, Role, Turn};
use rig_core::{
    completion::Message,
    message::{AssistantContent, AssistantMessage, UserContent},
};

/// The metadata key of the messages that a turn stands for, if these are not only its text. `null` is the message of
/// the text.
pub(crate) const MESSAGES_KEY: &str = "rig_messages";
/// Maximum size of these messages, in bytes of JSON. The metadata of a record may have 262 144 bytes.
const MAX_MESSAGES_BYTES: usize = 200_000;
/// The text of a turn for messages without any text.
const NO_TEXT: &str = "[no text]";

/// A turn, with the messages that it stands for. `None` is the message of its text.
struct Draft {
    role: Role,
    text: String,
    messages: Vec<Option<Message>>,
}

/// Returns the turns that store messages. If those of one turn are too large, only the texts of all are stored, so that
/// no tool call is without its result.
pub(crate) fn to_turns(messages: Vec<Message>) -> Vec<Turn> {
    let messages: Vec<Message> = messages.into_iter().filter_map(portable::portable).collect();
    let texts: Vec<Draft> = messages.iter().filter_map(text_draft).collect();
    let drafts = drafts(messages);
    let is_too_large = |draft: &Draft| {
        serde_json::to_string(&draft.messages).map_or(usize::MAX, |json| json.len()) > MAX_MESSAGES_BYTES
    };
    let drafts = if drafts.iter().any(is_too_large) { texts } else { drafts };
    drafts.into_iter().map(to_turn).collect()
}

fn drafts(messages: Vec<Message>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut without_text: Vec<Option<Message>> = Vec::new();
    for message in messages {
        match text_draft(&message) {
            None => without_text.push(Some(message)),
            Some(draft) => {
                let own = if has_only_text(&message) { None } else { Some(message) };
                without_text.push(own);
                drafts.push(Draft { messages: std::mem::take(&mut without_text), ..draft });
            }
        }
    }
    match drafts.last_mut() {
        _ if without_text.is_empty() => {}
        Some(last) => last.messages.append(&mut without_text),
        None => drafts.push(Draft { role: Role::USER, text: NO_TEXT.into(), messages: without_text }),
    }
    drafts
}

/// Returns a draft with the text of a message alone, if it has any.
fn text_draft(message: &Message) -> Option<Draft> {
    let (role, text) = match message {
        Message::System { content } => (Role::SYSTEM, content.clone()),
        Message::User { content } => (Role::USER, joined(content.iter().map(user_text))),
        Message::Assistant(message) => (Role::ASSISTANT, joined(message.content.iter().map(assistant_text))),
    };
    (!text.trim().is_empty()).then(|| Draft { role, text, messages: vec![None] })
}

fn joined<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> String {
    let texts: Vec<&str> = texts.flatten().filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n")
}

fn user_text(content: &UserContent) -> Option<&str> {
    match content {
        UserContent::Text(text) => Some(text.text()),
        UserContent::ToolResult(_)
        | UserContent::Image(_)
        | UserContent::Audio(_)
        | UserContent::Video(_)
        | UserContent::Document(_) => None,
    }
}

#[allow(clippy::wildcard_enum_match_arm, reason = "the enum may grow; everything else is no text")]
fn assistant_text(content: &AssistantContent) -> Option<&str> {
    match content {
        AssistantContent::Text(text) => Some(text.text()),
        _ => None,
    }
}

fn has_only_text(message: &Message) -> bool {
    match message {
        Message::System { .. } => true,
        Message::User { content } => content.iter().all(|content| user_text(content).is_some()),
        Message::Assistant(message) => message.content.iter().all(|content| assistant_text(content).is_some()),
    }
}

fn to_turn(draft: Draft) -> Turn {
    let turn = Turn::new(draft.role, draft.text);
    if draft.messages.iter().all(Option::is_none) {
        return turn;
    }
    match serde_json::to_value(&draft.messages) {
        Ok(messages) => turn.meta(MESSAGES_KEY, messages),
        Err(_) => turn,
    }
}

/// Returns the messages that a record stands for. If another version of rig wrote them and they cannot be read, it is
/// the message of its text.
pub(crate) fn to_messages(record: &Record) -> Vec<Message> {
    let stored = record.metadata.get(MESSAGES_KEY).cloned();
    let stored: Option<Vec<Option<Message>>> = stored.and_then(|messages| serde_json::from_value(messages).ok());
    let messages = stored.unwrap_or_else(|| vec![None]);
    messages.into_iter().filter_map(|message| message.or_else(|| text_message(record))).collect()
}

/// Returns the message of a record's text. Roles that rig does not have, such as `tool`, have none.
fn text_message(record: &Record) -> Option<Message> {
    let text = record.text.clone();
    match record.role.as_ref().map(Role::as_str) {
        Some("user") | None => Some(Message::user(text)),
        Some("assistant") => Some(Message::Assistant(AssistantMessage::new(vec![AssistantContent::text(text)]))),
        Some("system") => Some(Message::system(text)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
