//! The dialects of the gateway: the API in which a client and an upstream talk.

mod chat;
mod messages;
mod responses;

use std::ops::Range;

use axum::{body::Bytes, response::Response};
use memory_engine_intake::without_lone_surrogates;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    json::{Edit, append_paragraph, append_part, json_string, range_of, text_part},
    openai::{self, OpenAiError},
    reply::ReplyAccumulator,
    thread::ChatMessage,
};
pub(super) use crate::config::Dialect;
use crate::{access::Owner, fault::Fault};

/// The content of the message that asks.
struct Question {
    /// Its range in the body.
    content: Range<usize>,
    /// True if no message follows it.
    is_last: bool,
}

#[derive(Deserialize)]
struct MessageContent<'b> {
    #[serde(borrow)]
    content: &'b RawValue,
}

impl Dialect {
    /// Returns the name in the configuration.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    /// Returns the path of a request below the base URL.
    pub(super) fn path(self) -> &'static [&'static str] {
        match self {
            Self::Chat => &["chat", "completions"],
            Self::Messages => &["messages"],
            Self::Responses => &["responses"],
        }
    }

    /// Returns a fault in the format of the dialect.
    pub(super) fn error_response(self, fault: Fault) -> Response {
        match self {
            Self::Chat | Self::Responses => openai::error_response(fault),
            Self::Messages => messages::error_response(fault),
        }
    }

    /// Returns the event that reports a stream that broke off.
    pub(super) fn error_event(self, message: &str) -> String {
        match self {
            Self::Chat => {
                let mut body = OpenAiError::new(message, "server_error");
                body.error.code = Some("stream_broken");
                format!("data: {}\n\n", json!(body))
            }
            Self::Messages => messages::error_event(message),
            Self::Responses => responses::error_event(message),
        }
    }

    /// Adds the data of an event to a reply. Returns false if the data has another form.
    pub(super) fn add_event(self, reply: &mut ReplyAccumulator, data: &str) -> bool {
        match self {
            Self::Chat => reply.add_event(data),
            Self::Messages => messages::add_event(reply, data),
            Self::Responses => responses::add_event(reply, data),
        }
    }

    /// Adds a reply that is not streamed.
    pub(super) fn add_body(self, reply: &mut ReplyAccumulator, body: &Bytes) {
        match self {
            Self::Chat => reply.add_completion(body),
            Self::Messages => messages::add_body(reply, body),
            Self::Responses => responses::add_body(reply, body),
        }
    }

    /// Returns the owner that a request names. The user id of Claude Code is the name of a session, and not of a user.
    pub(super) fn owner(self, mut owner: Owner) -> Owner {
        let user = owner.user.as_deref().filter(|_| self == Self::Messages);
        if let Some(session) = user.and_then(messages::session_of_claude_code) {
            owner.user = None;
            owner.session.get_or_insert(session);
        }
        owner
    }

    /// Reads the messages in a list of messages or input items; `None` if the value has another type.
    pub(super) fn read_messages(self, raw: &RawValue) -> Option<Vec<ChatMessage>> {
        match self {
            Self::Chat => chat::read_messages(raw),
            Self::Messages => messages::read_messages(raw),
            Self::Responses => responses::read_messages(raw),
        }
    }

    /// Returns the ids of stored items that a list of input items names in place of their content.
    pub(super) fn referenced_ids(self, raw: &RawValue) -> Vec<String> {
        if self == Self::Responses { responses::referenced_ids(raw) } else { Vec::new() }
    }

    /// Returns the edits that append the block to the message that asks: to a text after a blank line, to a list of
    /// parts as the last part, without a cache mark. `None` if no message asks, or if its content has another form.
    /// `messages` is the range of the messages in the body, and `cache_mark` that of a mark for the whole request.
    pub(super) fn append_to_question(
        self,
        body: &str,
        messages: Range<usize>,
        cache_mark: Option<Range<usize>>,
        block: &str,
    ) -> Option<Vec<Edit>> {
        let Question { content, is_last } = self.question(body, messages)?;
        let part = text_part(if self == Self::Responses { "input_text" } else { "text" }, block);
        match (&body[content.start..=content.start], cache_mark) {
            ("\"" | "[", Some(mark)) => Some(messages::append_marked(body, content, mark, is_last, &part)),
            ("\"", None) => Some(vec![append_paragraph(body, content, block)]),
            ("[", None) => Some(vec![append_part(body, content, &part)]),
            _ => None,
        }
    }

    /// Finds the message that asks: the newest one of the user that is not only an addition of a program. A message
    /// without text, such as an image, counts.
    fn question(self, body: &str, messages: Range<usize>) -> Option<Question> {
        if body[messages.clone()].starts_with('"') {
            return Some(Question { content: messages, is_last: true });
        }
        let list: Vec<&RawValue> = serde_json::from_str(&body[messages]).ok()?;
        let at = list.iter().rposition(|raw| self.read_message(raw).is_some_and(|message| message.asks()))?;
        let message: MessageContent<'_> = serde_json::from_str(list[at].get()).ok()?;
        Some(Question { content: range_of(body, message.content), is_last: at + 1 == list.len() })
    }

    fn read_message(self, raw: &RawValue) -> Option<ChatMessage> {
        let value = || serde_json::from_str(&without_lone_surrogates(raw.get())).ok();
        match self {
            Self::Chat => Some(chat::read_message(raw)),
            Self::Messages => Some(messages::chat_message(&value()?)),
            Self::Responses => Some(responses::chat_message(&value()?)),
        }
    }

    /// Returns the edits that add the block to the system prompt. `messages` is the range of the messages in the body,
    /// and `system` that of a system prompt outside of the messages.
    pub(super) fn inject_block(
        self,
        body: &str,
        messages: Range<usize>,
        system: Option<Range<usize>>,
        block: &str,
    ) -> Vec<Edit> {
        match (self, system) {
            (Self::Chat, _) => vec![chat::inject_block(body, messages, block)],
            (Self::Messages, Some(system)) => messages::inject_block(body, system, block),
            (Self::Responses, Some(system)) => responses::inject_block(body, system, block).into_iter().collect(),
            (Self::Messages, None) => vec![insert_field(body, "system", block)],
            (Self::Responses, None) => vec![insert_field(body, "instructions", block)],
        }
    }
}

/// Returns the edit that inserts a field with a text before all other fields of the body, of which there is at least
/// one.
fn insert_field(body: &str, name: &str, text: &str) -> Edit {
    let after_brace = body.find('{').map_or(0, |brace| brace + 1);
    Edit::insert(after_brace, format!(r#""{name}":{},"#, json_string(text)))
}

#[cfg(test)]
mod tests;
