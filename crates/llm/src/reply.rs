//! What a model answers.

use futures::TryStreamExt;
use memory_engine_core::{Error, ErrorKind, Result};

use crate::ChatStream;

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
mod tests {
    use futures::{StreamExt, executor::block_on, stream};

    use super::*;

    fn collect(deltas: Vec<Result<ChatDelta>>) -> Result<ChatReply> {
        block_on(ChatReply::collect(stream::iter(deltas).boxed()))
    }

    fn text(text: &str) -> Result<ChatDelta> {
        Ok(ChatDelta { text: text.into(), ..ChatDelta::default() })
    }

    #[test]
    fn the_pieces_of_a_stream_make_the_whole_reply() {
        let usage = Usage { input_tokens: 3, output_tokens: 2 };
        let thought = Ok(ChatDelta { reasoning: "hm".into(), ..ChatDelta::default() });
        let end = Ok(ChatDelta { finish: Some(FinishReason::Length), ..ChatDelta::default() });
        let cost = Ok(ChatDelta { usage: Some(usage), ..ChatDelta::default() });
        let reply = collect(vec![thought, text("你"), text("好"), end, cost]).unwrap();
        let expected = ChatReply {
            text: "你好".into(),
            reasoning: Some("hm".into()),
            finish: FinishReason::Length,
            usage: Some(usage),
        };
        assert_eq!(reply, expected);
    }

    #[test]
    fn a_thought_in_tags_is_no_part_of_what_is_said() {
        let apart = |text: &str| {
            let reply = ChatReply::new(text).with_thoughts_apart();
            (reply.reasoning.unwrap_or_default(), reply.text)
        };
        assert_eq!(apart("\n<think>\nhm\n</think>\n\n好。"), ("hm".into(), "好。".into()));
        assert_eq!(apart("<think></think>好。"), (String::new(), "好。".into()));
        for whole in ["好。", "say <think>x</think>", "<think>cut off"] {
            assert_eq!(apart(whole), (String::new(), whole.into()));
        }
        let both = ChatReply { reasoning: Some("a".into()), ..ChatReply::new("<think>b</think>c") };
        assert_eq!(both.with_thoughts_apart().reasoning.as_deref(), Some("a\nb"));
    }

    #[test]
    fn a_stream_without_an_end_is_not_a_reply() {
        assert_eq!(collect(vec![text("half")]).unwrap_err().kind(), ErrorKind::Unavailable);
        let failed = Err(Error::new(ErrorKind::Timeout, "chat", "too slow"));
        assert_eq!(collect(vec![text("half"), failed]).unwrap_err().kind(), ErrorKind::Timeout);
    }
}
