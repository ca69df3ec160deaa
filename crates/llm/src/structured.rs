//! Answers that are data: reading them out of what a model says, and asking again when they cannot be read.

mod json;

use memory_engine_core::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;

use crate::{ChatModel, ChatReply, ChatRequest, FinishReason, Message, Usage};

/// An answer that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structured<T> {
    /// The answer.
    pub value: T,
    /// What all attempts cost together, where the service tells.
    pub usage: Option<Usage>,
    /// How often the model was asked: 1 or 2.
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

/// Asks a model for an answer of the form that [`ChatRequest::output`] describes, and once more, saying what was wrong,
/// when the first answer cannot be read.
///
/// # Errors
/// Whatever the model reports; `InvalidInput` when the second answer cannot be read either, or when it was cut off at
/// the most tokens, which asking again would not change.
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
        FinishReason::Length => "the answer was cut off at the most tokens; allow more",
        FinishReason::ContentFilter => "the service held the answer back",
        FinishReason::Stop | FinishReason::Other(_) => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidInput, "structured output", why))
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::{Answer, OutputSchema, ScriptedModel};

    #[derive(Debug, PartialEq, Deserialize)]
    struct Fact {
        subject: String,
        rounds: Vec<u32>,
    }

    fn asking() -> ChatRequest {
        ChatRequest::new([Message::user("who?")]).with_output(OutputSchema::new("fact", json!({"type": "object"})))
    }

    fn ask_scripted(script: Vec<Answer>) -> (Result<Structured<Fact>>, ScriptedModel) {
        let model = ScriptedModel::replying(script);
        (block_on(ask(&model, asking())), model)
    }

    fn costing(text: &str, finish: FinishReason) -> Answer {
        let usage = Some(Usage { input_tokens: 10, output_tokens: 5 });
        Answer::Reply(ChatReply { usage, finish, ..ChatReply::new(text) })
    }

    #[test]
    fn a_first_answer_that_reads_is_the_answer() {
        let (answer, model) = ask_scripted(vec![r#"{"subject": "小王", "rounds": [1]}"#.into()]);
        let answer = answer.unwrap();
        assert_eq!((answer.attempts, answer.value), (1, Fact { subject: "小王".into(), rounds: vec![1] }));
        assert_eq!(model.requests(), [asking()]);
    }

    #[test]
    fn an_answer_that_does_not_read_is_asked_for_once_more_with_what_was_wrong() {
        let script = vec![
            costing(r#"{"subject": "Wang", "rounds": ["one"]}"#, FinishReason::Stop),
            costing(r#"{"subject": "Wang", "rounds": [1]}"#, FinishReason::Stop),
        ];
        let (answer, model) = ask_scripted(script);
        let answer = answer.unwrap();
        assert_eq!((answer.attempts, answer.usage), (2, Some(Usage { input_tokens: 20, output_tokens: 10 })));
        let messages = &model.requests()[1].messages;
        assert_eq!(messages.len(), 3);
        assert!(messages[2].content.contains("expected u32"), "{}", messages[2].content);
    }

    #[test]
    fn two_answers_that_do_not_read_are_an_error_that_repeats_nothing_of_them() {
        let (answer, model) = ask_scripted(vec!["no".into(), r#"{"subject": 7, "rounds": "my secret"}"#.into()]);
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), model.requests().len()), (ErrorKind::InvalidInput, 2));
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }

    #[test]
    fn an_answer_cut_off_at_the_most_tokens_is_not_asked_for_again() {
        let (answer, model) = ask_scripted(vec![costing(r#"{"subject": "Wa"#, FinishReason::Length)]);
        assert!(answer.unwrap_err().message().contains("most tokens"));
        assert_eq!(model.requests().len(), 1);
    }

    #[test]
    fn what_the_model_reports_is_passed_on() {
        let (answer, _) = ask_scripted(vec![Answer::Fail(ErrorKind::RateLimited)]);
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::RateLimited);
    }
}
