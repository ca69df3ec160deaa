//! Answers that are data: reading them out of what a model says, and asking again when they cannot be read.

mod json;

use memory_engine_core::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;

use crate::{
    chat::ChatModel,
    reply::{ChatReply, FinishReason, Usage},
    request::{ChatRequest, Message},
};

/// An answer that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structured<T> {
    /// The answer.
    pub value: T,
    /// The tokens used by all attempts together, if the service reports them.
    pub usage: Option<Usage>,
    /// Number of attempts: 1 or 2.
    pub attempts: u32,
}

/// Reads the first JSON value in a text that is a `T`.
///
/// What models put around or into JSON is tolerated: thoughts in `<think>` tags, prose, code fences, comments, trailing
/// commas, line breaks inside strings. What is missing is never made up: an answer that breaks off is an error.
///
/// # Errors
/// `InvalidInput`, saying whether there is no JSON, it breaks off, or it is another JSON than was asked for, and where.
/// The message repeats nothing of the text.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    json::read(text).map_err(|fault| Error::invalid("structured output", fault.to_string()))
}

/// Asks a model for an answer in the form that [`ChatRequest::output`] describes. If the answer cannot be read, asks
/// once again with the error.
///
/// # Errors
/// The error of the model; `InvalidInput` if the second answer cannot be read either, or if the first was cut off at
/// the maximum number of tokens, which a second attempt would not change.
pub async fn ask<T: DeserializeOwned>(
    model: &(impl ChatModel + ?Sized),
    mut request: ChatRequest,
) -> Result<Structured<T>> {
    let reply = model.complete(&request).await?;
    let mut usage = reply.usage;
    let fault = match json::read(&reply.text) {
        Ok(value) => return Ok(Structured { value, usage, attempts: 1 }),
        Err(fault) => fault,
    };
    refuse_half(&reply)?;
    let again =
        format!("That could not be read: {}. Answer with the JSON alone, nothing before or after it.", fault.detail());
    request.messages.extend([Message::assistant(reply.text), Message::user(again)]);
    let reply = model.complete(&request).await?;
    if let Some(second) = reply.usage {
        *usage.get_or_insert_default() += second;
    }
    refuse_half(&reply).or_else(|e| json::read::<T>(&reply.text).map(drop).map_err(|_| e))?;
    Ok(Structured { value: parse(&reply.text)?, usage, attempts: 2 })
}

fn refuse_half(reply: &ChatReply) -> Result<()> {
    let why = match reply.finish {
        FinishReason::Length => "the answer was cut off at the maximum number of tokens; raise it",
        FinishReason::ContentFilter => "the service held the answer back",
        FinishReason::Stop | FinishReason::Other(_) => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidInput, "structured output", why))
}

#[cfg(test)]
mod tests;
