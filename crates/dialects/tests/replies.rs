//! Replies and errors, and the way of a reply back into the next request.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use memory_engine_dialects::{messages, responses};
use proptest::prelude::*;
use serde_json::{Value, json};

fn completion(message: &Value, finish_reason: &str) -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1_700_000_000, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 16}, "completion_tokens_details": {"reasoning_tokens": 2}}})
}

fn tool_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn messages_reply() {
    let calls = [tool_call("c1", "f", "{\"a\":1}"), tool_call("", "g", "")];
    let chat = completion(&json!({"role": "assistant", "content": "好", "tool_calls": calls}), "stop");
    let expected = json!({"id": "msg_7", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "text", "text": "好"},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "call_7_1", "name": "g", "input": {}}],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 16,
            "output_tokens": 9}});
    assert_eq!(messages::reply(&chat).unwrap(), expected);
}

#[test]
fn responses_reply() {
    let request = json!({"model": "alias", "input": "x", "instructions": "I", "metadata": {"k": "v"}});
    let message = json!({"role": "assistant", "content": "好", "tool_calls": [tool_call("c1", "f", "{}")]});
    let reply = responses::reply(&request, &completion(&message, "tool_calls")).unwrap();
    let part = json!({"type": "output_text", "text": "好", "annotations": [], "logprobs": []});
    let expected = json!([
        {"type": "message", "id": "msg_7_0", "role": "assistant", "status": "completed", "content": [part]},
        {"type": "function_call", "id": "fc_7_1", "call_id": "c1", "name": "f", "arguments": "{}",
            "status": "completed"}]);
    assert_eq!(reply["output"], expected);
    assert_eq!(reply["id"], "resp_7");
    assert_eq!(reply["status"], "completed");
    assert_eq!(reply["instructions"], "I");
    assert_eq!(reply["metadata"], json!({"k": "v"}));
    assert_eq!(
        reply["usage"],
        json!({"input_tokens": 20, "output_tokens": 9, "total_tokens": 29,
        "input_tokens_details": {"cached_tokens": 16, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 2}})
    );
}

#[test]
fn finish_reasons() {
    let rows = [
        ("stop", "end_turn", "completed", Value::Null),
        ("length", "max_tokens", "incomplete", json!({"reason": "max_output_tokens"})),
        ("content_filter", "refusal", "incomplete", json!({"reason": "content_filter"})),
    ];
    for (finish_reason, stop_reason, status, details) in rows {
        let chat = completion(&json!({"content": "x"}), finish_reason);
        assert_eq!(messages::reply(&chat).unwrap()["stop_reason"], stop_reason);
        let response = responses::reply(&json!({}), &chat).unwrap();
        assert_eq!((&response["status"], &response["incomplete_details"]), (&json!(status), &details));
    }
    let mut chat = completion(&json!({"content": "x"}), "stop");
    chat["choices"][0]["stop_reason"] = json!("END");
    let reply = messages::reply(&chat).unwrap();
    assert_eq!((&reply["stop_reason"], &reply["stop_sequence"]), (&json!("stop_sequence"), &json!("END")));
}

#[test]
fn unusable_replies() {
    assert_eq!(messages::reply(&json!({"choices": []})).unwrap_err().field(), "choices[0].message");
    let chat = completion(&json!({"tool_calls": [tool_call("c", "f", "[1")]}), "tool_calls");
    assert!(
        messages::reply(&chat).unwrap_err().to_string().ends_with("must be a JSON object in the reply of the upstream")
    );
    let chat = completion(&json!({"tool_calls": [tool_call("c", "", "{}")]}), "tool_calls");
    assert_eq!(
        responses::reply(&json!({}), &chat).unwrap_err().field(),
        "choices[0].message.tool_calls[0].function.name"
    );
}

#[test]
fn errors() {
    let body = json!({"error": {"message": "no", "type": "t", "param": "p", "code": "c"}});
    let rows = [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
    ];
    for (status, kind) in rows {
        let expected = json!({"type": "error", "error": {"type": kind, "message": "no"}});
        assert_eq!(messages::error(status, &body), expected);
    }
    assert_eq!(responses::error(400, &body), body);
    let detail = json!({"detail": "too long"});
    let expected = json!({"message": "too long", "type": "invalid_request_error", "param": null, "code": null});
    assert_eq!(responses::error(422, &detail)["error"], expected);
    assert_eq!(messages::error(502, &json!("<html>"))["error"]["type"], "api_error");
}

/// An assistant message of text and tool calls; at least one of them.
fn message() -> impl Strategy<Value = Value> {
    let arguments = prop::collection::btree_map("[a-z\"\\\\]{1,4}", ".*", 0..3)
        .prop_map(|fields| serde_json::to_string(&fields).unwrap());
    let calls = prop::collection::vec(("[a-z_]{1,8}", arguments), 0..4);
    (".{1,20}", calls).prop_map(|(content, calls)| {
        let mut message = json!({"role": "assistant", "content": content});
        if !calls.is_empty() {
            let calls = calls.iter().enumerate();
            let calls = calls.map(|(index, (name, arguments))| tool_call(&format!("c{index}"), name, arguments));
            message["tool_calls"] = calls.collect();
        }
        message
    })
}

/// The chunks of a stream of `message`, with `size` characters in each.
fn chunks(message: &Value, size: usize) -> Vec<Value> {
    let pieces = |text: &str| -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(size).map(|piece| piece.iter().collect()).collect()
    };
    let mut deltas: Vec<Value> = Vec::new();
    for text in pieces(message["content"].as_str().unwrap()) {
        deltas.push(json!({"content": text}));
    }
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let name = &call["function"]["name"];
        deltas.push(json!({"tool_calls": [{"index": index, "id": call["id"], "function": {"name": name}}]}));
        for text in pieces(call["function"]["arguments"].as_str().unwrap()) {
            deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}));
        }
    }
    let chunk = |delta| json!({"id": "chatcmpl-7", "model": "m", "choices": [{"index": 0, "delta": delta}]});
    let mut chunks: Vec<Value> = deltas.into_iter().map(chunk).collect();
    chunks.push(json!({"id": "chatcmpl-7", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    chunks
}

proptest! {
    #[test]
    fn reply_survives_messages(message in message()) {
        let reply = messages::reply(&completion(&message, "stop")).unwrap();
        let request = json!({"model": "m", "messages": [{"role": "assistant", "content": reply["content"]}]});
        prop_assert_eq!(&messages::chat_request(&request).unwrap()["messages"][0], &message);
    }

    #[test]
    fn reply_survives_responses(message in message()) {
        let reply = responses::reply(&json!({}), &completion(&message, "stop")).unwrap();
        let request = json!({"model": "m", "input": reply["output"]});
        prop_assert_eq!(&responses::chat_request(&request).unwrap()["messages"], &json!([message]));
    }

    #[test]
    fn streams_have_the_content_of_the_reply(message in message(), size in 1_usize..5) {
        let reply = completion(&message, "stop");
        let mut stream = responses::EventStream::new(&json!({}));
        for chunk in chunks(&message, size) {
            stream.push(&chunk);
        }
        let events = stream.finish();
        let output = &events.last().unwrap()["response"]["output"];
        prop_assert_eq!(output, &responses::reply(&json!({}), &reply).unwrap()["output"]);

        let mut stream = messages::EventStream::new();
        let mut events: Vec<Value> = chunks(&message, size).iter().flat_map(|chunk| stream.push(chunk)).collect();
        events.extend(stream.finish());
        let expected = messages::reply(&reply).unwrap();
        let mut texts = vec![String::new(); expected["content"].as_array().unwrap().len()];
        for event in events.iter().filter(|event| event["type"] == "content_block_delta") {
            let delta = event["delta"]["text"].as_str().or_else(|| event["delta"]["partial_json"].as_str());
            texts[usize::try_from(event["index"].as_u64().unwrap()).unwrap()].push_str(delta.unwrap());
        }
        for (text, block) in texts.iter().zip(expected["content"].as_array().unwrap()) {
            if block["type"] == "text" {
                prop_assert_eq!(text.as_str(), block["text"].as_str().unwrap());
            } else {
                prop_assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), &block["input"]);
            }
        }
    }
}
