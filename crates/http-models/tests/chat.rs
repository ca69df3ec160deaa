//! The chat model: whole replies, streams, and streams that break off.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

mod support;

use std::time::Duration;

use futures::TryStreamExt;
use memory_engine_core::ErrorKind;
use memory_engine_http_models::{ChatOptions, HttpChatModel, JsonMode};
use memory_engine_llm::{ChatModel, ChatReply, ChatRequest, FinishReason, Message, OutputSchema, Usage, structured};
use serde_json::{Value, json};
use support::{client, endpoint, impatient_client, raw, shown};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

fn model(base: &str, options: ChatOptions) -> HttpChatModel {
    HttpChatModel::new(client(), endpoint(base), options).unwrap()
}

fn request() -> ChatRequest {
    ChatRequest::new([Message::system("be brief"), Message::user("海鲜？")])
}

async fn server_with(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(response).mount(&server).await;
    server
}

fn completion(message: Value) -> ResponseTemplate {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10});
    ResponseTemplate::new(200).set_body_json(json!({"id": "x", "choices": [choice], "usage": usage}))
}

async fn body(server: &MockServer) -> Value {
    server.received_requests().await.unwrap()[0].body_json().unwrap()
}

/// A server that sends these events and closes the stream.
async fn server_with_events(events: &[&str]) -> MockServer {
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    server_with(ResponseTemplate::new(200).set_body_raw(stream, "text/event-stream")).await
}

fn chunk(delta: &str) -> String {
    format!(r#"{{"id":"x","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
}

const FINISH: &str = r#"{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#;
const USAGE: &str = r#"{"id":"x","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;

async fn streamed(base: &str) -> Result<ChatReply, memory_engine_core::Error> {
    ChatReply::collect(model(base, ChatOptions::new("m")).stream(&request()).await?).await
}

#[tokio::test]
async fn reasoning_is_separate_from_the_text() {
    for name in ["reasoning_content", "reasoning"] {
        let server = server_with(completion(json!({"role": "assistant", "content": "虾。", name: "想想"}))).await;
        let reply = model(&server.uri(), ChatOptions::new("m")).complete(&request()).await.unwrap();
        let usage = Some(Usage { input_tokens: 7, output_tokens: 3 });
        let expected = ChatReply { reasoning: Some("想想".into()), usage, ..ChatReply::new("虾。") };
        assert_eq!(reply, expected);
        let messages = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "海鲜？"}]);
        assert_eq!(body(&server).await, json!({"model": "m", "messages": messages}));
    }
}

#[tokio::test]
async fn reasoning_in_tags_is_separated() {
    let server = server_with(completion(json!({"content": "<think>想想</think>\n虾。"}))).await;
    let reply = model(&server.uri(), ChatOptions::new("m")).complete(&request()).await.unwrap();
    assert_eq!((reply.reasoning.as_deref(), reply.text.as_str()), (Some("想想"), "虾。"));
    let server =
        server_with_events(&[&chunk(r#"{"content":"<think>想"}"#), &chunk(r#"{"content":"</think>虾"}"#), FINISH])
            .await;
    let reply = streamed(&server.uri()).await.unwrap();
    assert_eq!((reply.reasoning.as_deref(), reply.text.as_str()), (Some("想"), "虾"));
}

#[tokio::test]
async fn all_request_parameters_are_sent() {
    let server = server_with(completion(json!({"content": [{"type": "text", "text": "{}"}]}))).await;
    let options =
        ChatOptions::new("m").with_max_tokens_field("max_completion_tokens").with_field("enable_thinking", false);
    let request = request()
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
async fn the_schema_is_in_the_prompt_without_schema_support() {
    for (mode, format) in [(JsonMode::Object, json!({"type": "json_object"})), (JsonMode::Prompt, Value::Null)] {
        let server = server_with(completion(json!({"content": "```json\n[1, 2,]\n```"}))).await;
        let model = model(&server.uri(), ChatOptions::new("m").with_json_mode(mode));
        let request = request().with_output(OutputSchema::new("list", json!({"type": "array"})));
        assert_eq!(structured::ask::<Vec<u32>>(&model, request).await.unwrap().value, [1, 2]);
        let body = body(&server).await;
        assert_eq!(body["response_format"], format);
        let prompt = body["messages"][0]["content"].as_str().unwrap();
        assert!(
            prompt.starts_with("be brief") && prompt.contains(r#"{"type":"array"}"#) && prompt.contains("JSON"),
            "{prompt}"
        );
    }
}

#[tokio::test]
async fn a_stream_has_deltas_finish_reason_and_usage() {
    let pieces = [chunk(r#"{"role":"assistant","content":""}"#), chunk(r#"{"content":null,"reasoning_content":"想"}"#)];
    let text = [chunk(r#"{"content":"虾"}"#), chunk(r#"{"content":"。"}"#)];
    let server = server_with_events(&[&pieces[0], &pieces[1], &text[0], &text[1], FINISH, USAGE, "[DONE]"]).await;
    let stream = model(&server.uri(), ChatOptions::new("m")).stream(&request()).await.unwrap();
    let deltas: Vec<_> = stream.try_collect().await.unwrap();
    let texts: Vec<&str> = deltas.iter().map(|delta| delta.text.as_str()).collect();
    assert_eq!(texts, ["", "虾", "。", "", ""]);
    assert_eq!((deltas[0].reasoning.as_str(), deltas[3].finish.clone()), ("想", Some(FinishReason::Stop)));
    assert_eq!(deltas[4].usage, Some(Usage { input_tokens: 7, output_tokens: 3 }));
    let body = body(&server).await;
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({"include_usage": true})));
}

#[tokio::test]
async fn a_stream_without_done_is_complete_after_its_finish_reason() {
    let server = server_with_events(&[&chunk(r#"{"content":"虾"}"#), FINISH]).await;
    assert_eq!(streamed(&server.uri()).await.unwrap(), ChatReply::new("虾"));
}

#[tokio::test]
async fn a_stream_without_finish_reason_is_an_error() {
    let server = server_with_events(&[&chunk(r#"{"content":"虾"}"#)]).await;
    let error = streamed(&server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.message().contains("broke off"), "{error}");
    let server = server_with_events(&[&chunk(r#"{"content":"虾"}"#), "[DONE]"]).await;
    assert_eq!(streamed(&server.uri()).await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_cut_stream_yields_its_deltas_and_an_error() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let event = format!("data: {}\n\n", chunk(r#"{"content":"虾"}"#));
    let base = raw(format!("{head}{:x}\r\n{event}\r\n40\r\ndata: {{", event.len())).await;
    let mut stream = model(&base, ChatOptions::new("m")).stream(&request()).await.unwrap();
    assert_eq!(stream.try_next().await.unwrap().unwrap().text, "虾");
    assert_eq!(stream.try_next().await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(stream.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn an_error_in_a_stream_does_not_quote_text() {
    let server =
        server_with_events(&[&chunk(r#"{"content":"虾"}"#), r#"{"error":{"message":"my diary","code":"overloaded"}}"#])
            .await;
    let error = streamed(&server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.message().contains("overloaded"), "{error}");
    assert!(!shown(&error).contains("diary"));
    let server = server_with_events(&[r#"{"my diary"#]).await;
    let error = streamed(&server.uri()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && !shown(&error).contains("diary"), "{error}");
}

#[tokio::test]
async fn a_silent_stream_times_out() {
    let server = server_with(ResponseTemplate::new(200).set_delay(Duration::from_secs(3600))).await;
    let model = HttpChatModel::new(impatient_client(), endpoint(&server.uri()), ChatOptions::new("m")).unwrap();
    assert_eq!(model.stream(&request()).await.err().unwrap().kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn a_stream_is_retried_before_its_first_delta() {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(ResponseTemplate::new(429)).up_to_n_times(1).mount(&server).await;
    let stream = format!("data: {}\n\ndata: {FINISH}\n\n", chunk(r#"{"content":"虾"}"#));
    let answer = ResponseTemplate::new(200).set_body_raw(stream, "text/event-stream");
    Mock::given(any()).respond_with(answer).mount(&server).await;
    assert_eq!(streamed(&server.uri()).await.unwrap().text, "虾");
}

#[tokio::test]
async fn a_response_without_a_message_is_rejected() {
    let server = server_with(ResponseTemplate::new(200).set_body_json(json!({"choices": []}))).await;
    let model = model(&server.uri(), ChatOptions::new("m"));
    assert_eq!(model.complete(&request()).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(model.complete(&ChatRequest::default()).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(model.name(), "m");
}
