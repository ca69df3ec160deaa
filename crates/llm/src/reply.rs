//! What a model answers.

use futures_util::{TryStreamExt, stream::BoxStream};
use memory_engine_core::{Error, ErrorKind, Result};

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// It was complete, or came to a stop text.
    Stop,
    /// It reached the most tokens: what there is may break off anywhere.
    Length,
    /// The service held back the rest.
    ContentFilter,
    /// Whatever else the service calls it.
    Other(String),
}

/// What a call cost, in tokens.
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
    /// What the model says.
    pub text: String,
    /// What it thought before, where the service tells; never a source of memories.
    pub reasoning: Option<String>,
    /// Why it ended.
    pub finish: FinishReason,
    /// What it cost, where the service tells.
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
    /// What comes next; may be empty.
    pub text: String,
    /// What the model thinks next; may be empty.
    pub reasoning: String,
    /// Why the reply ended, once it has.
    pub finish: Option<FinishReason>,
    /// What it cost, with the end or after it.
    pub usage: Option<Usage>,
}

#[cfg(test)]
mod tests;
