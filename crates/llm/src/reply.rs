//! Replies of a model.

use std::fmt;

use futures_util::{TryStreamExt, stream::BoxStream};
use memory_engine_core::{Error, ErrorKind, Result};

/// The reason why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// It was complete, or came to a stop text.
    Stop,
    /// It reached the maximum number of tokens, and may end within a sentence.
    Length,
    /// The service withheld the rest.
    ContentFilter,
    /// Another reason, by the name that the service gave.
    Other(String),
}

impl FinishReason {
    /// The name: `stop`, `length`, `content_filter`, or the name that the service gave.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The tokens used by a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the reply, reasoning included.
    pub output_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// The text of the reply.
    pub text: String,
    /// The reasoning before it, if the service returns it. It is never a source of memories.
    pub reasoning: Option<String>,
    /// The reason why it ended.
    pub finish: FinishReason,
    /// The tokens used, if the service reports them.
    pub usage: Option<Usage>,
}

impl ChatReply {
    /// A complete reply that is only text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), reasoning: None, finish: FinishReason::Stop, usage: None }
    }

    /// Moves a thought that the text begins with, in `<think>` tags as some models write it, to the reasoning.
    #[must_use]
    pub fn with_thoughts_apart(mut self) -> Self {
        let text = self.text.trim_start();
        if let Some((thought, said)) = text.strip_prefix("<think>").and_then(|text| text.split_once("</think>")) {
            let thought = thought.trim();
            if !thought.is_empty() {
                let reasoning = self.reasoning.get_or_insert_default();
                reasoning.push_str(if reasoning.is_empty() { "" } else { "\n" });
                reasoning.push_str(thought);
            }
            self.text = said.trim_start().to_owned();
        }
        self
    }

    /// Reads a stream to its end; thoughts in tags are moved to the reasoning.
    ///
    /// # Errors
    /// The stream's own; `Unavailable` when it ends without a finish reason.
    pub async fn collect(mut stream: ChatStream) -> Result<Self> {
        let (mut reply, mut finish) = (Self::new(""), None);
        while let Some(delta) = stream.try_next().await? {
            reply.text.push_str(&delta.text);
            if !delta.reasoning.is_empty() {
                reply.reasoning.get_or_insert_default().push_str(&delta.reasoning);
            }
            finish = delta.finish.or(finish);
            reply.usage = delta.usage.or(reply.usage);
        }
        let broken_off = || Error::new(ErrorKind::Unavailable, "chat", "the reply broke off before its end");
        reply.finish = finish.ok_or_else(broken_off)?;
        Ok(reply.with_thoughts_apart())
    }
}

/// A reply in pieces. It ends after the piece with the finish reason and, where the model reports it, the usage.
pub type ChatStream = BoxStream<'static, Result<ChatDelta>>;

/// A piece of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatDelta {
    /// The next piece of text; may be empty.
    pub text: String,
    /// The next piece of reasoning; may be empty.
    pub reasoning: String,
    /// The reason why the reply ended, once it has.
    pub finish: Option<FinishReason>,
    /// The tokens used, with the last piece or after it.
    pub usage: Option<Usage>,
}

#[cfg(test)]
mod tests;
