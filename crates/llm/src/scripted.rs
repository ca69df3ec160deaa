//! A model that follows a script.

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

/// A scripted answer of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptedReply {
    /// Give this reply.
    Reply(ChatReply),
    /// Fail with an error of this kind.
    Fail(ErrorKind),
    /// Never answer.
    Hang,
    /// As a stream, give this text and then break off; as a whole reply, fail as an interrupted one does.
    BreakOff(String),
}

impl<T: Into<String>> From<T> for ScriptedReply {
    fn from(text: T) -> Self {
        Self::Reply(ChatReply::new(text))
    }
}

type Condition = Arc<dyn Fn(&ChatRequest) -> bool + Send + Sync>;

/// A model that answers from a script: always the same, without a network, for tests and examples.
///
/// The first rule whose condition holds answers, as often as it is asked. What no rule answers gets the script's
/// answers one by one; when they are used up, the model fails with `NotFound`. It remembers every request.
#[derive(Clone)]
pub struct ScriptedModel {
    name: String,
    rules: Vec<(Condition, ScriptedReply)>,
    played: Arc<Mutex<Played>>,
}

#[derive(Debug, Default)]
struct Played {
    script: VecDeque<ScriptedReply>,
    requests: Vec<ChatRequest>,
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ScriptedModel");
        shown.field("name", &self.name).field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self { name: "scripted".into(), rules: Vec::new(), played: Arc::default() }
    }
}

impl ScriptedModel {
    /// A model that gives these answers, one to each request.
    pub fn replying(answers: impl IntoIterator<Item = impl Into<ScriptedReply>>) -> Self {
        let model = Self::default();
        model.played.lock().script.extend(answers.into_iter().map(Into::into));
        model
    }

    /// Sets the name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a rule: requests for which the condition holds get this answer.
    #[must_use]
    pub fn when(
        mut self,
        condition: impl Fn(&ChatRequest) -> bool + Send + Sync + 'static,
        answer: impl Into<ScriptedReply>,
    ) -> Self {
        self.rules.push((Arc::new(condition), answer.into()));
        self
    }

    /// Adds a rule: requests whose last message by the user holds this text get this answer.
    #[must_use]
    pub fn when_asked(self, text: impl Into<String>, answer: impl Into<ScriptedReply>) -> Self {
        let text = text.into();
        self.when(move |request| last_by_user(request).is_some_and(|said| said.contains(&text)), answer)
    }

    /// Adds a rule: every other request gets this answer.
    #[must_use]
    pub fn otherwise(self, answer: impl Into<ScriptedReply>) -> Self {
        self.when(|_| true, answer)
    }

    /// Every request so far, those that failed too, oldest first. Clones of a model share them.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.played.lock().requests.clone()
    }

    fn answer(&self, request: &ChatRequest) -> Result<ScriptedReply> {
        let mut played = self.played.lock();
        played.requests.push(request.clone());
        if request.messages.is_empty() {
            return Err(Error::invalid("chat", "there is no message to answer"));
        }
        let ruled = self.rules.iter().find(|(condition, _)| condition(request)).map(|(_, answer)| answer.clone());
        let used_up = || Error::new(ErrorKind::NotFound, "chat", "the script has no answer to this request");
        ruled.or_else(|| played.script.pop_front()).ok_or_else(used_up)
    }
}

fn last_by_user(request: &ChatRequest) -> Option<&str> {
    request.messages.iter().rev().find(|m| m.role == Role::USER).map(|m| m.content.as_str())
}

fn failed(kind: ErrorKind) -> Error {
    Error::new(kind, "chat", "the script has the model fail")
}

fn broken_off() -> Error {
    Error::new(ErrorKind::Unavailable, "chat", "the reply broke off before its end")
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        match self.answer(request)? {
            ScriptedReply::Reply(reply) => Ok(reply),
            ScriptedReply::Fail(kind) => Err(failed(kind)),
            ScriptedReply::Hang => future::pending().await,
            ScriptedReply::BreakOff(_) => Err(broken_off()),
        }
    }

    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        let pieces = match self.answer(request)? {
            ScriptedReply::Reply(reply) => {
                let thought = reply.reasoning.map(|reasoning| ChatDelta { reasoning, ..ChatDelta::default() });
                let end = ChatDelta { finish: Some(reply.finish), usage: reply.usage, ..ChatDelta::default() };
                thought.into_iter().chain(cut(&reply.text)).chain([end]).map(Ok).collect()
            }
            ScriptedReply::Fail(kind) => return Err(failed(kind)),
            ScriptedReply::Hang => return Ok(stream::pending().boxed()),
            ScriptedReply::BreakOff(text) => cut(&text).map(Ok).chain([Err(broken_off())]).collect::<Vec<_>>(),
        };
        Ok(stream::iter(pieces).boxed())
    }
}

/// Cuts a text into pieces of a few characters, since readers must not rely on whole words.
fn cut(text: &str) -> impl Iterator<Item = ChatDelta> {
    let letters: Vec<char> = text.chars().collect();
    let piece = |letters: &[char]| ChatDelta { text: letters.iter().collect(), ..ChatDelta::default() };
    letters.chunks(3).map(piece).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests;
