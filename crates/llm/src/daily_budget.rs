//! A model with a limit of tokens per day.

use std::sync::Arc;

use async_trait::async_trait;
use memory_engine_core::{Clock, Error, ErrorKind, Result, sync::Mutex};

use crate::{
    chat::ChatModel,
    reply::{ChatReply, ChatStream},
    request::ChatRequest,
};

const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;
/// Bytes of a token of a service that does not report its usage.
const TOKEN_BYTES: u64 = 4;

/// Calls a model until its tokens of the day (UTC) are used. Later calls of the day fail with `RateLimited`, and do not
/// reach the service.
///
/// Counts the tokens that the service reports, or a quarter of the bytes of messages and reply; of a
/// [stream](ChatModel::stream) only the messages. A call that begins below the limit is completed. The count belongs to
/// this value: another process, and a restart, begin at 0.
#[derive(Debug, Clone)]
pub struct DailyBudget {
    model: Arc<dyn ChatModel>,
    tokens_per_day: u64,
    clock: Arc<dyn Clock>,
    used: Arc<Mutex<UsedTokens>>,
}

#[derive(Debug, Default)]
struct UsedTokens {
    day: i64,
    tokens: u64,
}

impl DailyBudget {
    /// Limits the tokens of `model`, those of requests and replies together.
    pub fn new(model: impl ChatModel, tokens_per_day: u64, clock: impl Clock) -> Self {
        Self { model: Arc::new(model), tokens_per_day, clock: Arc::new(clock), used: Arc::default() }
    }

    /// Adds tokens to those of today, and returns the sum.
    fn add(&self, tokens: u64) -> u64 {
        let day = self.clock.now().as_micros().div_euclid(MICROS_PER_DAY);
        let mut used = self.used.lock();
        if used.day != day {
            *used = UsedTokens { day, tokens: 0 };
        }
        used.tokens = used.tokens.saturating_add(tokens);
        used.tokens
    }

    fn check(&self) -> Result<()> {
        if self.add(0) < self.tokens_per_day {
            return Ok(());
        }
        let message = format!("the {} tokens of {} for today (UTC) are used", self.tokens_per_day, self.model.name());
        Err(Error::new(ErrorKind::RateLimited, "chat", message))
    }
}

#[async_trait]
impl ChatModel for DailyBudget {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply> {
        self.check()?;
        // Counted before the call: a call that is dropped or fails may be charged.
        let asked = tokens_of(request);
        self.add(asked);
        let reply = self.model.complete(request).await?;
        let reported = reply.usage.map(|usage| usage.input_tokens.saturating_add(usage.output_tokens));
        self.add(reported.map_or(reply.text.len() as u64 / TOKEN_BYTES, |tokens| tokens.saturating_sub(asked)));
        Ok(reply)
    }

    async fn stream(&self, request: &ChatRequest) -> Result<ChatStream> {
        self.check()?;
        self.add(tokens_of(request));
        self.model.stream(request).await
    }
}

/// Estimates the tokens of the messages of a request.
fn tokens_of(request: &ChatRequest) -> u64 {
    request.messages.iter().map(|message| message.content.len() as u64).sum::<u64>() / TOKEN_BYTES
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use memory_engine_core::{ManualClock, Timestamp};

    use super::*;
    use crate::{
        reply::Usage,
        request::Message,
        scripted::{ScriptedModel, ScriptedReply},
    };

    const NOON: i64 = MICROS_PER_DAY / 2;

    #[test]
    fn calls_end_at_the_limit_and_begin_again_the_next_day() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(NOON)));
        let mut reply = ChatReply::new("yes");
        reply.usage = Some(Usage { input_tokens: 40, output_tokens: 20 });
        let replies = std::iter::repeat_n(ScriptedReply::Reply(reply), 4);
        let model = DailyBudget::new(ScriptedModel::replying(replies), 100, clock.clone());
        let ask = || futures::executor::block_on(model.complete(&ChatRequest::new([Message::user("?")])));
        assert!(ask().is_ok() && ask().is_ok(), "60 tokens are below the limit");
        assert_eq!(ask().unwrap_err().kind(), ErrorKind::RateLimited);
        clock.advance(Duration::from_micros(NOON as u64));
        assert!(ask().is_ok());
    }

    #[test]
    fn a_service_that_reports_nothing_is_counted_by_length() {
        let model = DailyBudget::new(
            ScriptedModel::replying(["a".repeat(400), String::new()]),
            100,
            ManualClock::new(Timestamp::from_micros(NOON)),
        );
        let ask = || futures::executor::block_on(model.complete(&ChatRequest::new([Message::user("b")])));
        assert!(ask().is_ok());
        assert!(ask().is_err());
    }
}
