//! Each field of a request: its counterpart in Chat Completions, or the error that names it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use memory_engine_dialects::{DialectError, messages, responses};
use serde_json::{Value, json};

/// `base` with the fields of `extra`.
fn with(mut base: Value, extra: &Value) -> Value {
    for (key, value) in extra.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

fn messages_request(extra: &Value) -> Result<Value, DialectError> {
    let base = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]});
    messages::chat_request(&with(base, extra))
}

fn responses_request(extra: &Value) -> Result<Value, DialectError> {
    responses::chat_request(&with(json!({"model": "m", "input": "hi"}), extra))
}

#[test]
fn fields_of_messages() {
    let base = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]});
    let schema = json!({"type": "object", "properties": {}});
    let function = json!({"name": "f", "description": "d", "parameters": schema});
    let named = json!({"type": "function", "function": {"name": "f"}});
    let rows = [
        (json!({"temperature": 0.2, "top_p": 0.9}), json!({"temperature": 0.2, "top_p": 0.9})),
        (json!({"stop_sequences": ["a"]}), json!({"stop": ["a"]})),
        (json!({"metadata": {"user_id": "lin"}}), json!({"user": "lin"})),
        (json!({"stream": true}), json!({"stream": true, "stream_options": {"include_usage": true}})),
        (json!({"stream": false}), json!({"stream": false})),
        (
            json!({"tools": [{"name": "f", "description": "d", "input_schema": schema, "cache_control": {}}]}),
            json!({"tools": [{"type": "function", "function": function}]}),
        ),
        (json!({"tool_choice": {"type": "auto"}}), json!({"tool_choice": "auto"})),
        (json!({"tool_choice": {"type": "none"}}), json!({"tool_choice": "none"})),
        (
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}}),
            json!({"tool_choice": "required", "parallel_tool_calls": false}),
        ),
        (json!({"tool_choice": {"type": "tool", "name": "f"}}), json!({"tool_choice": named})),
        (json!({"output_config": {"effort": "low"}}), json!({"reasoning_effort": "low"})),
        (
            json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
            json!({"response_format": {"type": "json_schema",
                "json_schema": {"name": "output", "schema": schema, "strict": true}}}),
        ),
        (json!({"service_tier": "auto", "cache_control": {"type": "ephemeral"}, "speed": "fast"}), json!({})),
        (json!({"thinking": {"type": "disabled"}, "top_k": null}), json!({})),
    ];
    for (extra, expected) in rows {
        assert_eq!(messages_request(&extra).unwrap(), with(base.clone(), &expected), "{extra}");
    }
}

#[test]
fn conversation_of_messages() {
    let request = json!({"model": "m", "max_tokens": 5,
        "system": [{"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "B"}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "看图"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAA="}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "t2", "name": "g", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "r"}]},
                {"type": "tool_result", "tool_use_id": "t2", "content": "broken", "is_error": true},
                {"type": "text", "text": "next"}]}]});
    let function = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!([
        {"role": "system", "content": "A\n\nB"},
        {"role": "user", "content": [
            {"type": "text", "text": "看图"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAA="}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        {"role": "assistant", "content": "ok",
            "tool_calls": [function("t1", "f", "{\"a\":1}"), function("t2", "g", "{}")]},
        {"role": "tool", "tool_call_id": "t1", "content": "r"},
        {"role": "tool", "tool_call_id": "t2", "content": "Error: broken"},
        {"role": "user", "content": "next"},
    ]);
    assert_eq!(messages::chat_request(&request).unwrap()["messages"], expected);
}

#[test]
fn fields_of_responses() {
    let base = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let schema = json!({"type": "object"});
    let format = json!({"type": "json_schema", "name": "n", "schema": schema, "strict": true});
    let rows = [
        (
            json!({"temperature": 0.2, "top_p": 0.9, "user": "u"}),
            json!({"temperature": 0.2, "top_p": 0.9, "user": "u"}),
        ),
        (json!({"metadata": {"session_id": "s"}}), json!({"metadata": {"session_id": "s"}})),
        (json!({"parallel_tool_calls": false}), json!({"parallel_tool_calls": false})),
        (json!({"max_output_tokens": 7}), json!({"max_tokens": 7})),
        (json!({"stream": true}), json!({"stream": true, "stream_options": {"include_usage": true}})),
        (
            json!({"tools": [{"type": "function", "name": "f", "parameters": schema, "strict": false}]}),
            json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": schema, "strict": false}}]}),
        ),
        (json!({"tool_choice": "required"}), json!({"tool_choice": "required"})),
        (
            json!({"tool_choice": {"type": "function", "name": "f"}}),
            json!({"tool_choice": {"type": "function", "function": {"name": "f"}}}),
        ),
        (json!({"text": {"format": {"type": "text"}, "verbosity": "low"}}), json!({"verbosity": "low"})),
        (json!({"text": {"format": {"type": "json_object"}}}), json!({"response_format": {"type": "json_object"}})),
        (
            json!({"text": {"format": format}}),
            json!({"response_format": {"type": "json_schema",
                "json_schema": {"name": "n", "schema": schema, "strict": true}}}),
        ),
        (json!({"reasoning": {"effort": "high", "summary": "auto"}}), json!({"reasoning_effort": "high"})),
        (json!({"store": true, "background": false, "truncation": "disabled", "prompt_cache_key": "k"}), json!({})),
        (json!({"include": ["reasoning.encrypted_content"], "previous_response_id": null}), json!({})),
    ];
    for (extra, expected) in rows {
        assert_eq!(responses_request(&extra).unwrap(), with(base.clone(), &expected), "{extra}");
    }
}

#[test]
fn conversation_of_responses() {
    let input = json!([
        {"role": "developer", "content": "D"},
        {"role": "user", "content": [{"type": "input_text", "text": "看图"},
            {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "s"}]},
    ]);
    let function =
        |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let expected = json!([
        {"role": "system", "content": "I"},
        {"role": "system", "content": "D"},
        {"role": "user", "content": [{"type": "text", "text": "看图"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}]},
        {"role": "assistant", "content": "ok", "tool_calls": [function("c1", "f"), function("c2", "g")]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "tool", "tool_call_id": "c2", "content": "s"},
    ]);
    let chat = responses_request(&json!({"input": input, "instructions": "I"})).unwrap();
    assert_eq!(chat["messages"], expected);
}

#[test]
fn refused_fields_of_messages() {
    let user = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let file = json!({"type": "image", "source": {"type": "file", "file_id": "f"}});
    let image_result = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image"}]});
    let rows = [
        (json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}), "thinking"),
        (json!({"top_k": 5}), "top_k"),
        (json!({"container": "c"}), "container"),
        (json!({"mcp_servers": []}), "mcp_servers"),
        (json!({"context_management": {}}), "context_management"),
        (json!({"colour": "red"}), "colour"),
        (json!({"model": null}), "model"),
        (json!({"messages": "hi"}), "messages"),
        (json!({"messages": [{"role": "tool", "content": "hi"}]}), "messages[0].role"),
        (json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}), "tools[0].type"),
        (json!({"tools": [{"name": "f"}]}), "tools[0].input_schema"),
        (json!({"tool_choice": "auto"}), "tool_choice.type"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"output_config": {"format": {"type": "xml"}}}), "output_config.format"),
        (user(json!({"type": "document"})), "messages[0].content[0]"),
        (user(json!({"type": "text"})), "messages[0].content[0].text"),
        (user(file), "messages[0].content[0].source"),
        (user(image_result), "messages[0].content[0].content[0]"),
    ];
    for (extra, field) in rows {
        let error = messages_request(&extra).unwrap_err();
        assert_eq!(error.field(), field, "{extra}");
        assert_eq!(error.body()["error"]["param"], field);
        assert!(error.to_string().contains(field));
    }
}

#[test]
fn refused_fields_of_responses() {
    let user = |part: Value| json!({"input": [{"role": "user", "content": [part]}]});
    let rows = [
        (json!({"previous_response_id": "resp_1"}), "previous_response_id"),
        (json!({"conversation": "conv_1"}), "conversation"),
        (json!({"background": true}), "background"),
        (json!({"truncation": "auto"}), "truncation"),
        (json!({"prompt": {"id": "p"}}), "prompt"),
        (json!({"include": ["message.output_text.logprobs"]}), "include"),
        (json!({"top_logprobs": 3}), "top_logprobs"),
        (json!({"colour": "red"}), "colour"),
        (json!({"input": null}), "input"),
        (json!({"tools": [{"type": "web_search"}]}), "tools[0].type"),
        (json!({"tool_choice": {"type": "mcp"}}), "tool_choice"),
        (json!({"text": {"format": {"type": "grammar"}}}), "text.format.type"),
        (json!({"input": [{"type": "item_reference", "id": "x"}]}), "input[0]"),
        (json!({"input": [{"type": "function_call", "call_id": "c"}]}), "input[0].name"),
        (json!({"input": [{"role": "tool", "content": "x"}]}), "input[0].role"),
        (user(json!({"type": "input_file", "file_id": "f"})), "input[0].content[0]"),
        (user(json!({"type": "input_image", "file_id": "f"})), "input[0].content[0]"),
    ];
    for (extra, field) in rows {
        assert_eq!(responses_request(&extra).unwrap_err().field(), field, "{extra}");
    }
}
