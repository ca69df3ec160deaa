//! Parses JSON replies, and retries once if a reply cannot be parsed.

mod json;

use memory_engine_core::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;

use crate::{
    chat::ChatModel,
    reply::{ChatReply, FinishReason, Usage},
    request::{ChatRequest, Message},
};

/// A parsed reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structured<T> {
    /// The value.
    pub value: T,
    /// The tokens used by all attempts together, if the service reports them.
    pub usage: Option<Usage>,
    /// Number of attempts: 1 or 2.
    pub attempts: u32,
}

/// Parses the first JSON value in a text that is a `T`.
///
/// Common deviations of models are tolerated: reasoning in `<think>` tags, prose, code fences, comments, trailing
/// commas, line breaks inside strings. Missing parts are not repaired: truncated JSON is an error.
///
/// # Errors
/// `InvalidInput` if there is no JSON, or it is truncated or of another form. The message contains the position and no
/// text of the reply.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    json::read(text).map_err(|error| Error::invalid("structured output", error.to_string()))
}

/// Asks a model for a reply in the form of [`ChatRequest::output`]. If the reply cannot be parsed, asks again with the
/// error.
///
/// # Errors
/// The error of the model; `InvalidInput` if the second reply cannot be parsed either, or if the first was truncated at
/// the maximum number of tokens or by a content filter, which a second attempt would not change.
pub async fn ask<T: DeserializeOwned>(
    model: &(impl ChatModel + ?Sized),
    mut request: ChatRequest,
) -> Result<Structured<T>> {
    let reply = model.complete(&request).await?;
    let mut usage = reply.usage;
    let parse_error = match json::read(&reply.text) {
        Ok(value) => return Ok(Structured { value, usage, attempts: 1 }),
        Err(error) => error,
    };
    reject_truncated(&reply)?;
    let retry_prompt = format!(
        "That could not be read: {}. Answer with the JSON alone, nothing before or after it.",
        parse_error.detail()
    );
    request.messages.extend([Message::assistant(reply.text), Message::user(retry_prompt)]);
    let reply = model.complete(&request).await?;
    if let Some(second) = reply.usage {
        *usage.get_or_insert_default() += second;
    }
    reject_truncated(&reply).or_else(|e| json::read::<T>(&reply.text).map(drop).map_err(|_| e))?;
    Ok(Structured { value: parse(&reply.text)?, usage, attempts: 2 })
}

fn reject_truncated(reply: &ChatReply) -> Result<()> {
    let message = match reply.finish {
        FinishReason::Length => "the reply was truncated at the maximum number of tokens; raise this limit",
        FinishReason::ContentFilter => "the content filter of the service withheld the reply",
        FinishReason::Stop | FinishReason::Other(_) => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidInput, "structured output", message))
}

#[cfg(test)]
mod tests;
