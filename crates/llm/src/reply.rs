//! Replies of a model.

use std::fmt;

use futures_util::{TryStreamExt, stream::BoxStream};
use memory_engine_core::{Error, ErrorKind, Result};

/// The reason why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// It is complete, or reached a stop text.
    Stop,
    /// It reached the maximum number of tokens, and may end within a sentence.
    Length,
    /// The service withheld the rest.
    ContentFilter,
    /// Another reason, with the name given by the service.
    Other(String),
}

impl FinishReason {
    /// Returns `stop`, `length`, `content_filter`, or the name given by the service.
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

/// A complete reply.
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
    /// Creates a complete reply with a text only.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), reasoning: None, finish: FinishReason::Stop, usage: None }
    }

    /// Moves reasoning in `<think>` tags at the start of the text, as some models write it, to `reasoning`.
    #[must_use]
    pub fn with_thoughts_apart(mut self) -> Self {
        let text = self.text.trim_start();
        if let Some((thought, reply)) = text.strip_prefix("<think>").and_then(|text| text.split_once("</think>")) {
            let thought = thought.trim();
            if !thought.is_empty() {
                let reasoning = self.reasoning.get_or_insert_default();
                reasoning.push_str(if reasoning.is_empty() { "" } else { "\n" });
                reasoning.push_str(thought);
            }
            self.text = reply.trim_start().to_owned();
        }
        self
    }

    /// Reads a stream to its end. Reasoning in tags is separated from the text.
    ///
    /// # Errors
    /// The errors of the stream; `Unavailable` if it ends without a finish reason.
    pub async fn collect(mut stream: ChatStream) -> Result<Self> {
        let mut reply = Self::new("");
        let mut finish = None;
        while let Some(delta) = stream.try_next().await? {
            reply.text.push_str(&delta.text);
            if !delta.reasoning.is_empty() {
                reply.reasoning.get_or_insert_default().push_str(&delta.reasoning);
            }
            finish = delta.finish.or(finish);
            reply.usage = delta.usage.or(reply.usage);
        }
        let incomplete = || Error::new(ErrorKind::Unavailable, "chat", "the reply broke off before its finish reason");
        reply.finish = finish.ok_or_else(incomplete)?;
        Ok(reply.with_thoughts_apart())
    }
}

/// A stream of deltas. It ends after the finish reason and, if the service reports it, the usage.
pub type ChatStream = BoxStream<'static, Result<ChatDelta>>;

/// A part of a streamed reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatDelta {
    /// The next part of the text. May be empty.
    pub text: String,
    /// The next part of the reasoning. May be empty.
    pub reasoning: String,
    /// The reason why the reply ended, in its last delta.
    pub finish: Option<FinishReason>,
    /// The tokens used, with the finish reason or after it.
    pub usage: Option<Usage>,
}

#[cfg(test)]
mod tests;
