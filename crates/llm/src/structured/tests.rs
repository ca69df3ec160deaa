use futures::executor::block_on;
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::{
    request::OutputSchema,
    scripted::{ScriptedModel, ScriptedReply},
};

#[derive(Debug, PartialEq, Deserialize)]
struct Fact {
    subject: String,
    rounds: Vec<u32>,
}

fn request() -> ChatRequest {
    ChatRequest::new([Message::user("who?")]).with_output(OutputSchema::new("fact", json!({"type": "object"})))
}

fn ask_scripted(script: Vec<ScriptedReply>) -> (Result<Structured<Fact>>, ScriptedModel) {
    let model = ScriptedModel::replying(script);
    (block_on(ask(&model, request())), model)
}

fn reply_with_usage(text: &str, finish: FinishReason) -> ScriptedReply {
    let usage = Some(Usage { input_tokens: 10, output_tokens: 5 });
    ScriptedReply::Reply(ChatReply { usage, finish, ..ChatReply::new(text) })
}

#[test]
fn a_valid_first_reply_is_returned() {
    let (answer, model) = ask_scripted(vec![r#"{"subject": "小王", "rounds": [1]}"#.into()]);
    let answer = answer.unwrap();
    assert_eq!((answer.attempts, answer.value), (1, Fact { subject: "小王".into(), rounds: vec![1] }));
    assert_eq!(model.requests(), [request()]);
}

#[test]
fn an_invalid_reply_is_retried_with_the_error() {
    let script = vec![
        reply_with_usage(r#"{"subject": "Wang", "rounds": ["one"]}"#, FinishReason::Stop),
        reply_with_usage(r#"{"subject": "Wang", "rounds": [1]}"#, FinishReason::Stop),
    ];
    let (answer, model) = ask_scripted(script);
    let answer = answer.unwrap();
    assert_eq!((answer.attempts, answer.usage), (2, Some(Usage { input_tokens: 20, output_tokens: 10 })));
    let messages = &model.requests()[1].messages;
    assert_eq!(messages.len(), 3);
    assert!(messages[2].content.contains("expected u32"), "{}", messages[2].content);
}

#[test]
fn two_invalid_replies_are_an_error_without_quotes() {
    let (answer, model) = ask_scripted(vec!["no".into(), r#"{"subject": 7, "rounds": "my secret"}"#.into()]);
    let error = answer.unwrap_err();
    assert_eq!((error.kind(), model.requests().len()), (ErrorKind::InvalidInput, 2));
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}

#[test]
fn a_truncated_reply_is_not_retried() {
    let (answer, model) = ask_scripted(vec![reply_with_usage(r#"{"subject": "Wa"#, FinishReason::Length)]);
    assert!(answer.unwrap_err().message().contains("maximum number of tokens"));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn model_errors_are_returned() {
    let (answer, _) = ask_scripted(vec![ScriptedReply::Fail(ErrorKind::RateLimited)]);
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::RateLimited);
}
