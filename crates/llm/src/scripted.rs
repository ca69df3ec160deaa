//! A scripted model for tests.

use std::{collections::VecDeque, fmt, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt, future, stream};
use memory_engine_core::sync::Mutex;
use memory_engine_core::{Error, ErrorKind, Result, Role};

use crate::{
    chat::ChatModel,
    reply::{ChatDelta, ChatReply, ChatStream},
    request::ChatRequest,
};

/// A scripted reaction to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptedReply {
    /// Returns this reply.
    Reply(ChatReply),
    /// Fails with an error of this kind.
    Fail(ErrorKind),
    /// Never completes.
    Hang,
    /// `stream` yields this text and then an `Unavailable` error. `complete` fails with that error.
    BreakOff(String),
}

impl<T: Into<String>> From<T> for ScriptedReply {
    fn from(text: T) -> Self {
        Self::Reply(ChatReply::new(text))
    }
}

type Condition = Arc<dyn Fn(&ChatRequest) -> bool + Send + Sync>;

/// A deterministic model without a network, for tests and examples.
///
/// A request gets the reply of the first rule whose condition is true. Rules can apply any number of times. Other
/// requests get the scripted replies in order; after the last one, the model fails with `NotFound`. It records every
/// request.
#[derive(Clone, Default)]
pub struct ScriptedModel {
    rules: Vec<(Condition, ScriptedReply)>,
    state: Arc<Mutex<ScriptState>>,
}

#[derive(Debug, Default)]
struct ScriptState {
    remaining: VecDeque<ScriptedReply>,
    requests: Vec<ChatRequest>,
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("ScriptedModel");
        output.field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

impl ScriptedModel {
    /// Creates a model with these replies, one for each request.
    pub fn replying(replies: impl IntoIterator<Item = impl Into<ScriptedReply>>) -> Self {
        let model = Self::default();
        model.state.lock().remaining.extend(replies.into_iter().map(Into::into));
        model
    }

    /// Adds a rule: requests for which the condition is true get this reply.
    #[must_use]
    pub fn when(
        mut self,
        condition: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
        reply: impl Into<ScriptedReply>,
    ) -> Self {
        self.rules.push((Arc::new(condition), reply.into()));
        self
    }

    /// Adds a rule: requests whose last user message contains this text get this reply.
    #[must_use]
    pub fn when_asked(self, text: impl Into<String>, reply: impl Into<ScriptedReply>) -> Self {
        let text = text.into();
        self.when(move |request| last_user_message(request).is_some_and(|message| message.contains(&text)), reply)
    }

    /// Adds a rule: every other request gets this reply.
    #[must_use]
    pub fn otherwise(self, reply: impl Into<ScriptedReply>) -> Self {
        self.when(|_| true, reply)
    }

    /// Returns all requests, including scripted_error ones, oldest first. Clones of a model share them.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.state.lock().requests.clone()
    }

    fn next_reply(&self, request: &ChatRequest) -> Result<ScriptedReply> {
        let mut state = self.state.lock();
        state.requests.push(request.clone());
        if request.messages.is_empty() {
            return Err(Error::invalid("chat", "the request has no messages; at least one is needed"));
        }
        let by_rule = self.rules.iter().find(|(condition, _)| condition(request)).map(|(_, reply)| reply.clone());
        let no_reply = || Error::new(ErrorKind::NotFound, "chat", "the script has no reply for this request");
        by_rule.or_else(|| state.remaining.pop_front()).ok_or_else(no_reply)
    }
}

fn last_user_message(request: &ChatRequest) -> Option<&str> {
    request.messages.iter().rev().find(|m| m.role == Role::USER).map(|m| m.content.as_str())
}

fn scripted_error(kind: ErrorKind) -> Error {
    Error::new(kind, "chat", "the script lets this request fail")
}

fn incomplete_reply_error() -> Error {
    Error::new(ErrorKind::Unavailable, "chat", "the reply broke off before its finish reason")
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        match self.next_reply(request)? {
            ScriptedReply::Reply(reply) => Ok(reply),
            ScriptedReply::Fail(kind) => Err(scripted_error(kind)),
            ScriptedReply::Hang => future::pending().await,
            ScriptedReply::BreakOff(_) => Err(incomplete_reply_error()),
        }
    }

    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        let deltas = match self.next_reply(request)? {
            ScriptedReply::Reply(reply) => {
                let thought = reply.reasoning.map(|reasoning| ChatDelta { reasoning, ..ChatDelta::default() });
                let end = ChatDelta { finish: Some(reply.finish), usage: reply.usage, ..ChatDelta::default() };
                thought.into_iter().chain(split(&reply.text)).chain([end]).map(Ok).collect()
            }
            ScriptedReply::Fail(kind) => return Err(scripted_error(kind)),
            ScriptedReply::Hang => return Ok(stream::pending().boxed()),
            ScriptedReply::BreakOff(text) => {
                split(&text).map(Ok).chain([Err(incomplete_reply_error())]).collect::<Vec<_>>()
            }
        };
        Ok(stream::iter(deltas).boxed())
    }
}

/// Splits a text into deltas of three characters, because consumers must not rely on whole words.
fn split(text: &str) -> impl Iterator<Item = ChatDelta> {
    let chars: Vec<char> = text.chars().collect();
    let delta = |part: &[char]| ChatDelta { text: part.iter().collect(), ..ChatDelta::default() };
    chars.chunks(3).map(delta).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests;
