//! Golden streams: chunks of a chat upstream, and the events that follow from them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use memory_engine_dialects::{messages, responses};
use serde_json::{Value, json};

fn chunk(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})
}

fn call(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
}

fn usage_chunk() -> Value {
    json!({"id": "chatcmpl-7", "model": "m", "choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 9,
        "total_tokens": 29, "prompt_tokens_details": {"cached_tokens": 16}}})
}

/// Text, then two tool calls whose arguments are interleaved.
fn text_and_calls() -> Vec<Value> {
    vec![
        chunk(&json!({"role": "assistant", "content": ""}), None),
        chunk(&json!({"content": "我看"}), None),
        chunk(&json!({"content": "看"}), None),
        chunk(&call(0, Some("call_a"), Some("weather"), ""), None),
        chunk(&call(0, None, None, "{\"city\":"), None),
        chunk(&call(1, Some("call_b"), Some("time"), "{"), None),
        chunk(&call(0, None, None, "\"上海\"}"), None),
        chunk(&call(1, None, None, "}"), None),
        chunk(&json!({}), Some("tool_calls")),
        usage_chunk(),
    ]
}

fn messages_events(chunks: &[Value]) -> Vec<Value> {
    let mut stream = messages::EventStream::new();
    let mut events: Vec<Value> = chunks.iter().flat_map(|chunk| stream.push(chunk)).collect();
    events.extend(stream.finish());
    assert_eq!(stream.finish(), Vec::<Value>::new(), "a stream ends once");
    assert_eq!(stream.push(&chunk(&json!({"content": "late"}), None)), Vec::<Value>::new());
    events
}

fn responses_events(chunks: &[Value]) -> Vec<Value> {
    let mut stream = responses::EventStream::new(&json!({"model": "m", "input": "hi", "temperature": 0.5}));
    let mut events: Vec<Value> = chunks.iter().flat_map(|chunk| stream.push(chunk)).collect();
    events.extend(stream.finish());
    assert_eq!(stream.finish(), Vec::<Value>::new(), "a stream ends once");
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    events
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn messages_text_and_calls() {
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let tool = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let start =
        |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let json_delta = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
    let expected = [
        json!({"type": "message_start", "message": {"id": "msg_7", "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 0,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}}}),
        start(0, json!({"type": "text", "text": ""})),
        delta(0, json!({"type": "text_delta", "text": "我看"})),
        delta(0, json!({"type": "text_delta", "text": "看"})),
        json!({"type": "content_block_stop", "index": 0}),
        start(1, tool("call_a", "weather")),
        delta(1, json_delta("{\"city\":")),
        delta(1, json_delta("\"上海\"}")),
        json!({"type": "content_block_stop", "index": 1}),
        start(2, tool("call_b", "time")),
        delta(2, json_delta("{}")),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {
            "input_tokens": 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 16, "output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(messages_events(&text_and_calls()), expected);
}

#[test]
fn responses_text_and_calls() {
    let events = responses_events(&text_and_calls());
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds(&events), expected);
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["temperature"], 0.5);
    assert_eq!(response["output"][0]["content"][0]["text"], "我看看");
    assert_eq!(response["output"][1]["arguments"], "{\"city\":\"上海\"}");
    assert_eq!(response["output"][2]["call_id"], "call_b");
    assert_eq!(response["usage"]["input_tokens"], 20);
    assert_eq!(response["usage"]["input_tokens_details"]["cached_tokens"], 16);
    // Every event of an item has the id of the item.
    for event in &events {
        let item = event["output_index"].as_u64().map(|index| &response["output"][usize::try_from(index).unwrap()]);
        let id = event.get("item_id").or_else(|| event["item"].get("id"));
        assert_eq!(id, item.map(|item| &item["id"]));
    }
}

#[test]
fn early_end_is_an_error() {
    let chunks = [chunk(&json!({"content": "half"}), None)];
    let events = messages_events(&chunks);
    assert_eq!(kinds(&events), ["message_start", "content_block_start", "content_block_delta", "error"]);
    assert_eq!(events[3]["error"]["type"], "api_error");
    let events = responses_events(&chunks);
    assert_eq!(events.last().unwrap()["type"], "response.failed");
    assert_eq!(events.last().unwrap()["response"]["status"], "failed");
    assert_eq!(events.last().unwrap()["response"]["error"]["code"], "server_error");
    assert_eq!(kinds(&messages_events(&[])), ["error"]);
    assert_eq!(kinds(&responses_events(&[])), ["error"]);
}

#[test]
fn error_chunk_ends_the_stream() {
    let error = json!({"error": {"message": "overloaded", "code": 503}});
    let events = messages_events(&[chunk(&json!({"content": "a"}), None), error.clone()]);
    assert_eq!(events.last().unwrap()["error"], json!({"type": "overloaded_error", "message": "overloaded"}));
    let events = responses_events(&[chunk(&json!({"content": "a"}), None), error]);
    assert_eq!(events.last().unwrap()["response"]["error"]["message"], "overloaded");
}

#[test]
fn call_without_name_is_an_error() {
    let chunks = [chunk(&call(0, Some("c"), None, "{}"), Some("tool_calls"))];
    assert_eq!(messages_events(&chunks)[1]["error"]["message"], "The upstream sent a tool call without a name.");
    assert_eq!(responses_events(&chunks)[2]["type"], "response.failed");
}

#[test]
fn length_is_incomplete() {
    let chunks = [chunk(&json!({"content": "abc"}), Some("length"))];
    assert_eq!(messages_events(&chunks)[4]["delta"]["stop_reason"], "max_tokens");
    let events = responses_events(&chunks);
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
}

#[test]
fn refusal_is_a_part_of_its_own() {
    let chunks = [chunk(&json!({"refusal": "No."}), Some("stop"))];
    assert_eq!(messages_events(&chunks)[2]["delta"]["text"], "No.");
    let events = responses_events(&chunks);
    assert_eq!(events[3]["part"], json!({"type": "refusal", "refusal": ""}));
    assert_eq!(events[4]["type"], "response.refusal.delta");
    assert_eq!(events[5]["refusal"], "No.");
}
