//! The chat model: whole replies, streams, and streams that break off.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use std::time::Duration;

use futures::TryStreamExt;
use memory_engine_core::ErrorKind;
use memory_engine_http_models::{ChatOptions, HttpChatModel, JsonMode};
use memory_engine_llm::{ChatModel, ChatReply, ChatRequest, FinishReason, Message, OutputSchema, Usage, structured};
use serde_json::{Value, json};
use support::{client, endpoint, raw, shown};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

fn model(base: &str, options: ChatOptions) -> HttpChatModel {
    HttpChatModel::new(client(), endpoint(base), options).unwrap()
}

fn asking() -> ChatRequest {
    ChatRequest::new([Message::system("be brief"), Message::user("海鲜？")])
}

async fn serving(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

fn said(message: Value) -> ResponseTemplate {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10});
    ResponseTemplate::new(200).set_body_json(json!({"id": "x", "choices": [choice], "usage": usage}))
}

async fn body(server: &MockServer) -> Value {
    server.received_requests().await.unwrap()[0].body_json().unwrap()
}

/// A stream of these events, closed properly.
async fn events(events: &[&str]) -> MockServer {
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    serving(ResponseTemplate::new(200).set_body_raw(stream, "text/event-stream")).await
}

fn piece(delta: &str) -> String {
    format!(r#"{{"id":"x","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
}

const END: &str = r#"{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#;
const COST: &str = r#"{"id":"x","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;

async fn streamed(base: &str) -> Result<ChatReply, memory_engine_core::Error> {
    ChatReply::collect(model(base, ChatOptions::new("m")).stream(&asking()).await?).await
}

#[tokio::test]
async fn a_reply_keeps_its_reasoning_apart() {
    for name in ["reasoning_content", "reasoning"] {
        let server = serving(said(json!({"role": "assistant", "content": "虾。", name: "想想"}))).await;
        let reply = model(&server.uri(), ChatOptions::new("m")).complete(&asking()).await.unwrap();
        let usage = Some(Usage { input_tokens: 7, output_tokens: 3 });
        let expected = ChatReply { reasoning: Some("想想".into()), usage, ..ChatReply::new("虾。") };
        assert_eq!(reply, expected);
        let messages = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "海鲜？"}]);
        assert_eq!(body(&server).await, json!({"model": "m", "messages": messages}));
    }
}

#[tokio::test]
async fn a_thought_in_tags_is_reasoning_too() {
    let server = serving(said(json!({"content": "<think>想想</think>\n虾。"}))).await;
    let reply = model(&server.uri(), ChatOptions::new("m")).complete(&asking()).await.unwrap();
    assert_eq!((reply.reasoning.as_deref(), reply.text.as_str()), (Some("想想"), "虾。"));
    let server = events(&[&piece(r#"{"content":"<think>想"}"#), &piece(r#"{"content":"</think>虾"}"#), END]).await;
    let reply = streamed(&server.uri()).await.unwrap();
    assert_eq!((reply.reasoning.as_deref(), reply.text.as_str()), (Some("想"), "虾"));
}

#[tokio::test]
async fn everything_that_a_request_says_is_sent() {
    let server = serving(said(json!({"content": [{"type": "text", "text": "{}"}]}))).await;
    let options =
        ChatOptions::new("m").with_max_tokens_field("max_completion_tokens").with_field("enable_thinking", false);
    let request = asking()
        .with_temperature(0.0)
        .with_max_tokens(50)
        .with_stop(["\n\n"])
        .with_output(OutputSchema::new("fact", json!({"type": "object"})));
    assert_eq!(model(&server.uri(), options).complete(&request).await.unwrap().text, "{}");
    let body = body(&server).await;
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(body["max_completion_tokens"], 50);
    assert_eq!(body["stop"], json!(["\n\n"]));
    assert_eq!(body["enable_thinking"], false);
    let schema = json!({"name": "fact", "schema": {"type": "object"}, "strict": false});
    assert_eq!(body["response_format"], json!({"type": "json_schema", "json_schema": schema}));
}

#[tokio::test]
async fn a_service_without_schemas_is_told_the_schema_in_words() {
    for (mode, format) in [(JsonMode::Object, json!({"type": "json_object"})), (JsonMode::Prompt, Value::Null)] {
        let server = serving(said(json!({"content": "```json\n[1, 2,]\n```"}))).await;
        let model = model(&server.uri(), ChatOptions::new("m").with_json_mode(mode));
        let request = asking().with_output(OutputSchema::new("list", json!({"type": "array"})));
        assert_eq!(structured::ask::<Vec<u32>>(&model, request).await.unwrap().value, [1, 2]);
        let body = body(&server).await;
        assert_eq!(body["response_format"], format);
        let told = body["messages"][0]["content"].as_str().unwrap();
        assert!(
            told.starts_with("be brief") && told.contains(r#"{"type":"array"}"#) && told.contains("JSON"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn a_stream_comes_in_pieces_with_its_end_and_its_cost() {
    let pieces = [piece(r#"{"role":"assistant","content":""}"#), piece(r#"{"content":null,"reasoning_content":"想"}"#)];
    let text = [piece(r#"{"content":"虾"}"#), piece(r#"{"content":"。"}"#)];
    let server = events(&[&pieces[0], &pieces[1], &text[0], &text[1], END, COST, "[DONE]"]).await;
    let stream = model(&server.uri(), ChatOptions::new("m")).stream(&asking()).await.unwrap();
    let deltas: Vec<_> = stream.try_collect().await.unwrap();
    let texts: Vec<&str> = deltas.iter().map(|delta| delta.text.as_str()).collect();
    assert_eq!(texts, ["", "虾", "。", "", ""]);
    assert_eq!((deltas[0].reasoning.as_str(), deltas[3].finish.clone()), ("想", Some(FinishReason::Stop)));
    assert_eq!(deltas[4].usage, Some(Usage { input_tokens: 7, output_tokens: 3 }));
    let body = body(&server).await;
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({"include_usage": true})));
}

#[tokio::test]
async fn a_stream_without_the_last_word_is_whole_after_its_finish_reason() {
    let server = events(&[&piece(r#"{"content":"虾"}"#), END]).await;
    assert_eq!(streamed(&server.uri()).await.unwrap(), ChatReply::new("虾"));
}

#[tokio::test]
async fn a_stream_that_ends_early_but_properly_is_an_error() {
    let server = events(&[&piece(r#"{"content":"虾"}"#)]).await;
    let error = streamed(&server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.message().contains("broke off"), "{error}");
    let server = events(&[&piece(r#"{"content":"虾"}"#), "[DONE]"]).await;
    assert_eq!(streamed(&server.uri()).await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_stream_that_is_cut_gives_its_pieces_and_then_an_error() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let event = format!("data: {}\n\n", piece(r#"{"content":"虾"}"#));
    let base = raw(format!("{head}{:x}\r\n{event}\r\n40\r\ndata: {{", event.len())).await;
    let mut stream = model(&base, ChatOptions::new("m")).stream(&asking()).await.unwrap();
    assert_eq!(stream.try_next().await.unwrap().unwrap().text, "虾");
    assert_eq!(stream.try_next().await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(stream.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn an_error_inside_a_stream_is_an_error_that_repeats_nothing() {
    let server =
        events(&[&piece(r#"{"content":"虾"}"#), r#"{"error":{"message":"my diary","code":"overloaded"}}"#]).await;
    let error = streamed(&server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.message().contains("overloaded"), "{error}");
    assert!(!shown(&error).contains("diary"));
    let server = events(&[r#"{"my diary"#]).await;
    let error = streamed(&server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && !shown(&error).contains("diary"), "{error}");
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_given_up() {
    let server = serving(ResponseTemplate::new(200).set_delay(Duration::from_secs(30))).await;
    assert_eq!(streamed(&server.uri()).await.unwrap_err().kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn a_stream_is_asked_for_again_before_its_first_piece() {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(ResponseTemplate::new(429)).up_to_n_times(1).mount(&server).await;
    let stream = format!("data: {}\n\ndata: {END}\n\n", piece(r#"{"content":"虾"}"#));
    let answer = ResponseTemplate::new(200).set_body_raw(stream, "text/event-stream");
    Mock::given(any()).respond_with(answer).mount(&server).await;
    assert_eq!(streamed(&server.uri()).await.unwrap().text, "虾");
}

#[tokio::test]
async fn an_answer_without_a_message_is_refused() {
    let server = serving(ResponseTemplate::new(200).set_body_json(json!({"choices": []}))).await;
    let model = model(&server.uri(), ChatOptions::new("m"));
    assert_eq!(model.complete(&asking()).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(model.complete(&ChatRequest::default()).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(model.name(), "m");
}
