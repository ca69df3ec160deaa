//! The dialects of the gateway: the API in which a client and an upstream talk.

mod messages;
mod responses;

use std::ops::Range;

use axum::{body::Bytes, response::Response};
use serde_json::{json, value::RawValue};

use super::{
    json::{Edit, json_string},
    openai::{self, OpenAiError},
    reply::ReplyAccumulator,
    thread::ChatMessage,
};
pub(super) use crate::config::Dialect;
use crate::{access::Owner, fault::Fault};

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

    /// Adds the data of an event to a reply.
    pub(super) fn add_event(self, reply: &mut ReplyAccumulator, data: &str) {
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

    /// Returns the messages in a list of messages or input items. Not used for chat completions.
    pub(super) fn messages(self, raw: &RawValue) -> Vec<ChatMessage> {
        match self {
            Self::Chat => Vec::new(),
            Self::Messages => messages::messages(raw),
            Self::Responses => responses::messages(raw),
        }
    }

    /// Returns the edits that add the block after a system prompt outside of the messages, given that prompt and its
    /// position. Each edit replaces a range by a text.
    pub(super) fn block_edits(self, system: Option<(&str, Range<usize>)>, block: &str) -> Option<Vec<Edit>> {
        match (self, system) {
            (Self::Chat, _) => None,
            (Self::Messages, Some((raw, range))) => Some(messages::block_edits(raw, range, block)),
            (Self::Responses, Some((raw, range))) => Some(responses::block_edits(raw, range, block)),
            (Self::Messages, None) => Some(vec![(0..0, format!(r#""system":{},"#, json_string(block)))]),
            (Self::Responses, None) => Some(vec![(0..0, format!(r#""instructions":{},"#, json_string(block)))]),
        }
    }
}

#[cfg(test)]
mod tests;
