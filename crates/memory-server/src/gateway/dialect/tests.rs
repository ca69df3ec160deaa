use axum::body::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::{
    config::BlockPlacement,
    gateway::{body::ChatBody, thread::Speaker},
};

fn read(dialect: Dialect, body: &Value) -> ChatBody {
    ChatBody::read(Bytes::from(body.to_string()), dialect).unwrap()
}

/// Returns the body after the block `notes` has been added at its place.
fn placed(dialect: Dialect, body: &str, placement: BlockPlacement) -> String {
    let body = ChatBody::read(Bytes::from(body.to_owned()), dialect).unwrap();
    String::from_utf8(body.edited(None, "notes", placement).to_vec()).unwrap()
}

/// Returns the body after the block `notes` has been added to the system prompt.
fn edited(dialect: Dialect, body: &str) -> String {
    placed(dialect, body, BlockPlacement::System)
}

#[test]
fn block_is_the_last_system_block_of_messages() {
    for (body, expected) in [
        (r#"{ "messages":[] }"#, r#"{"system":"notes", "messages":[] }"#),
        (r#"{"system":null,"messages":[]}"#, r#"{"system":"notes","messages":[]}"#),
        (r#"{"system":"","messages":[]}"#, r#"{"system":"notes","messages":[]}"#),
        (r#"{"system":[],"messages":[]}"#, r#"{"system":[{"type":"text","text":"notes"}],"messages":[]}"#),
        (
            r#"{"messages":[],"system":"Be \u0062rief."}"#,
            r#"{"messages":[],"system":[{"type":"text","text":"Be \u0062rief."},{"type":"text","text":"notes"}]}"#,
        ),
        (
            r#"{"system":[{"text":"a","cache_control":{}} ],"messages":[]}"#,
            r#"{"system":[{"text":"a","cache_control":{}} ,{"type":"text","text":"notes"}],"messages":[]}"#,
        ),
    ] {
        assert_eq!(edited(Dialect::Messages, body), expected);
    }
}

#[test]
fn block_is_the_end_of_the_instructions_of_responses() {
    for (body, expected) in [
        (r#"{"input":"hi"}"#, r#"{"instructions":"notes","input":"hi"}"#),
        (r#"{"input":"hi","instructions":null}"#, r#"{"input":"hi","instructions":"notes"}"#),
        (r#"{"instructions":"Be brief.","input":"hi"}"#, r#"{"instructions":"Be brief.\n\nnotes","input":"hi"}"#),
    ] {
        assert_eq!(edited(Dialect::Responses, body), expected);
    }
}

#[test]
fn a_system_prompt_of_an_invalid_type_is_left_to_the_upstream() {
    for (dialect, body) in [
        (Dialect::Messages, r#"{"system":{"text":"a"},"messages":[]}"#),
        (Dialect::Messages, r#"{"system":5,"messages":[]}"#),
        (Dialect::Responses, r#"{"instructions":["a"],"input":"hi"}"#),
    ] {
        assert_eq!(edited(dialect, body), body);
    }
}

/// Returns the body after the block `notes` has been added to the message that asks.
fn in_message(dialect: Dialect, body: &str) -> String {
    placed(dialect, body, BlockPlacement::Message)
}

/// The dialects, each with the field of its messages, the type of a text part, and the messages of a tool loop.
const MESSAGE_FORMS: [(Dialect, &str, &str, &str); 3] = [
    (
        Dialect::Chat,
        "messages",
        "text",
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"t"}]},{"role":"tool","content":"rain"}"#,
    ),
    (
        Dialect::Messages,
        "messages",
        "text",
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"w","input":{}}]},
           {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"rain"},
           {"type":"text","text":"<system-reminder>a</system-reminder>","cache_control":{"type":"ephemeral"}}]}"#,
    ),
    (
        Dialect::Responses,
        "input",
        "input_text",
        r#"{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"c"},
           {"type":"function_call_output","call_id":"c","output":"rain"}"#,
    ),
];

#[test]
fn block_ends_the_message_that_asks() {
    for (dialect, field, kind, tool_loop) in MESSAGE_FORMS {
        let part = |more: &str| format!(r#"{{"type":"{kind}","text":"h\u0069"{more}}}"#);
        let added = format!(r#",{{"type":"{kind}","text":"notes"}}"#);
        let image = r#"[{"type":"image", "url":"data:,"}"#;
        let (plain, marked) = (part(""), part(r#", "cache_control":{"type":"ephemeral"}"#));
        let contents = [
            (r#""h\u0069""#.to_owned(), r#""h\u0069\n\nnotes""#.to_owned()),
            (format!("[{plain}]"), format!("[{plain}{added}]")),
            (format!("[{plain}, {marked} ]"), format!("[{plain}, {marked} {added}]")),
            (format!("{image},{marked}]"), format!("{image},{marked}{added}]")),
            (format!("{image}]"), format!("{image}{added}]")),
        ];
        for (content, expected) in contents {
            for end in [String::new(), format!(",{tool_loop}"), r#", {"role":"system","content":"Note"}"#.to_owned()] {
                let body = |content: &str| {
                    let history = r#"{"role":"user","content":"first"}, {"role":"assistant","content":"yes"}"#;
                    let question = format!(r#"{{"content":{content},"role":"user"}}"#);
                    format!(r#"{{ "seed":1.50,"{field}":[ {history},{question}{end} ],"x":[1e5, null]}}"#)
                };
                assert_eq!(in_message(dialect, &body(&content)), body(&expected), "{dialect:?} {end}");
            }
        }
    }
    assert_eq!(in_message(Dialect::Responses, r#"{"input":"h\u0069"}"#), r#"{"input":"h\u0069\n\nnotes"}"#);
}

#[test]
fn without_a_message_that_can_take_it_the_block_is_in_the_system_prompt() {
    for (dialect, field, _, tool_loop) in MESSAGE_FORMS {
        for messages in [
            "",
            tool_loop,
            r#"{"role":"user","content":null}"#,
            r#"{"role":"user"}"#,
            r#"{"role":"user","content":" "}"#,
            r#"{"role":"user","content":"a","content":"b"}"#,
            r#"{"role":"user","content":{"text":"hi"}}"#,
            r#"{"role":"user","content":"<system-reminder>a</system-reminder>"},5"#,
        ] {
            let body = format!(r#"{{"{field}":[{messages}]}}"#);
            let in_system = edited(dialect, &body);
            assert!(in_system.contains("notes"), "{in_system}");
            assert_eq!(in_message(dialect, &body), in_system);
        }
    }
    // The service would keep it with the message.
    for input in [r#""hi""#, r#"[{"role":"user","content":"hi"}]"#] {
        for history in [r#""previous_response_id":"r""#, r#""conversation":"c""#, r#""conversation":{"id":"c"}"#] {
            let body = format!(r#"{{"input":{input},{history}}}"#);
            let expected = format!(r#"{{"instructions":"notes","input":{input},{history}}}"#);
            assert_eq!(in_message(Dialect::Responses, &body), expected);
        }
    }
}

#[test]
fn a_cache_mark_of_the_whole_request_stays_before_the_block() {
    let mark = r#"{"type":"ephemeral","ttl":"1h"}"#;
    let text = |more: &str| format!(r#"{{"type":"text","text":"hi"{more}}}"#);
    let notes = r#"{"type":"text","text":"notes"}"#;
    let marked = format!(r#"{{"type":"text","cache_control":{mark},"text":"hi"}}"#);
    let own = text(r#","cache_control":{"type":"ephemeral"}"#);
    let body = |mark: &str, messages: &str| format!(r#"{{"cache_control":{mark},"messages":[{messages}]}}"#);
    let user = |content: &str| format!(r#"{{"role":"user","content":{content}}}"#);
    let moved = [
        (r#""hi""#.to_owned(), format!("[{},{notes}]", text(&format!(r#","cache_control":{mark}"#)))),
        (format!("[{}]", text("")), format!("[{marked},{notes}]")),
        (format!("[{own}]"), format!("[{own},{notes}]")),
        (
            format!("[{}]", text(r#","cache_control":null"#)),
            format!("[{},{notes}]", text(&format!(r#","cache_control":{mark}"#))),
        ),
    ];
    for (content, expected) in moved {
        let body_after = body("null", &user(&expected));
        assert_eq!(in_message(Dialect::Messages, &body(mark, &user(&content))), body_after);
    }
    // The last message has the mark, and the prefix before the block is the same as in the first request.
    let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"rain"}]}"#;
    for content in [r#""hi""#.to_owned(), format!("[{}]", text(""))] {
        let expected = format!("{},{result}", user(&format!("[{},{notes}]", text(""))));
        let sent = body(mark, &format!("{},{result}", user(&content)));
        assert_eq!(in_message(Dialect::Messages, &sent), body(mark, &expected));
    }
}

#[test]
fn words_of_a_person_with_the_result_of_a_tool_are_read() {
    let speaker = |texts: &[&str]| {
        let mut parts = vec![json!({ "type": "tool_result", "tool_use_id": "t", "content": "rain" })];
        parts.extend(texts.iter().map(|text| json!({ "type": "text", "text": text })));
        let body = json!({ "messages": [{ "role": "user", "content": parts }] });
        read(Dialect::Messages, &body).messages()[0].speaker
    };
    assert_eq!(speaker(&["<system-reminder>a</system-reminder>"]), Speaker::Tool);
    assert_eq!(speaker(&["[Request interrupted by user for tool use]"]), Speaker::Tool);
    assert_eq!(speaker(&["[Request interrupted by user for tool use]", "改用 SQLite"]), Speaker::User);
}

#[test]
fn messages_are_read() {
    let body = json!({ "system": "Be brief.", "messages": [
        { "role": "user", "content": "What is the weather in Porto?" },
        { "role": "assistant", "content": [
            { "type": "thinking", "thinking": "The user wants the weather." },
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "t", "name": "weather", "input": {} },
        ] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "rain" }] },
    ] });
    let body = read(Dialect::Messages, &body);
    let read: Vec<(Speaker, String, bool)> =
        body.messages().iter().map(|m| (m.speaker, m.text(), m.calls_tools)).collect();
    let read: Vec<(Speaker, &str, bool)> =
        read.iter().map(|(speaker, text, calls)| (*speaker, &**text, *calls)).collect();
    assert_eq!(
        read,
        [
            (Speaker::User, "What is the weather in Porto?", false),
            (Speaker::Assistant, "I look.", true),
            (Speaker::Tool, "", false)
        ]
    );
}

#[test]
fn input_items_are_read() {
    let body = json!({ "input": [
        { "role": "developer", "content": "Be brief." },
        { "type": "message", "role": "user", "content": [
            { "type": "input_text", "text": "Weather?" }, { "type": "input_image", "image_url": "data:," },
        ] },
        { "type": "reasoning", "summary": [] },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look." }] },
        { "type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c", "output": "rain" },
    ] });
    let body = read(Dialect::Responses, &body);
    let read: Vec<(Speaker, String, bool)> =
        body.messages().iter().map(|m| (m.speaker, m.text(), m.calls_tools)).collect();
    let read: Vec<(Speaker, &str, bool)> =
        read.iter().map(|(speaker, text, calls)| (*speaker, &**text, *calls)).collect();
    assert_eq!(
        read,
        [
            (Speaker::System, "Be brief.", false),
            (Speaker::User, "Weather?", false),
            (Speaker::Assistant, "I look.", true),
            (Speaker::Assistant, "", true),
            (Speaker::Tool, "", false),
        ]
    );
    let text = read_text(&json!({ "input": "你好" }));
    assert_eq!(text, "你好");
}

fn read_text(body: &Value) -> String {
    read(Dialect::Responses, body).messages()[0].text()
}

#[test]
fn user_id_of_claude_code_names_a_session() {
    let owner =
        |id: &str| read(Dialect::Messages, &json!({ "messages": [], "metadata": { "user_id": id } })).owner().clone();
    for id in ["user_0f3a_account_7c1d_session_2b9e", r#"{"device_id":"0f3a","account_uuid":"","session_id":"2b9e"}"#] {
        let owner = owner(id);
        assert_eq!((owner.user, owner.session.as_deref()), (None, Some("2b9e")), "{id}");
    }
    for id in [
        "lin",
        "user_lin",
        "user_a_session_b",
        "{}",
        r#"{"session_id":"2b9e"}"#,
        r#"{"device_id":"0f3a","session_id":""}"#,
    ] {
        assert_eq!((owner(id).user.as_deref(), owner(id).session), (Some(id), None));
    }
}

#[test]
fn continued_responses_and_conversations_are_named() {
    let body = read(Dialect::Responses, &json!({ "input": "and now?", "previous_response_id": "resp_1" }));
    assert_eq!(
        (body.continued_id(), body.conversation_id(), body.owner().session.as_deref()),
        (Some("resp_1"), None, None)
    );
    for conversation in [json!("conv_1"), json!({ "id": "conv_1" })] {
        let body = read(Dialect::Responses, &json!({ "input": "and now?", "conversation": conversation }));
        assert_eq!(body.continued_id(), Some("conv_1"));
        assert_eq!((body.conversation_id(), body.owner().session.as_deref()), (Some("conv_1"), Some("conv_1")));
    }
}

/// Adds the events of a stream to a reply.
fn streamed(dialect: Dialect, events: &[Value]) -> ReplyAccumulator {
    let mut reply = ReplyAccumulator::new(1000);
    for event in events {
        dialect.add_event(&mut reply, &event.to_string());
    }
    reply
}

#[test]
fn streamed_messages_are_collected() {
    let text = |index: u64, text: &str| {
        let delta = json!({ "type": "text_delta", "text": text });
        json!({ "type": "content_block_delta", "index": index, "delta": delta })
    };
    let events = [
        json!({ "type": "message_start", "message": { "content": [] } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "Hm." } }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "" } }),
        text(1, "Take "),
        text(1, "a coat."),
        text(2, "好的"),
    ];
    let reply = streamed(Dialect::Messages, &events);
    assert_eq!((reply.text(), reply.is_complete(), reply.calls_tools()), ("Take a coat.\n好的", false, false));
    let call = json!({ "type": "tool_use", "id": "t", "name": "w" });
    let end = [
        json!({ "type": "content_block_start", "index": 3, "content_block": call }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
    ];
    let reply = streamed(Dialect::Messages, &[&events[..], &end[..]].concat());
    assert!(reply.is_complete() && reply.calls_tools() && !reply.has_failed());
    assert!(streamed(Dialect::Messages, &[json!({ "type": "error", "error": {} })]).has_failed());
}

#[test]
fn streamed_responses_are_collected() {
    let events = [
        json!({ "type": "response.created", "response": { "id": "resp_7", "status": "in_progress" } }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Take " }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a coat." }),
    ];
    let reply = streamed(Dialect::Responses, &events);
    assert_eq!((reply.text(), reply.response_id(), reply.is_complete()), ("Take a coat.", Some("resp_7"), false));
    let end = [
        json!({ "type": "response.output_item.done", "item": { "type": "function_call" } }),
        json!({ "type": "response.completed", "response": { "id": "resp_7", "status": "completed" } }),
    ];
    let reply = streamed(Dialect::Responses, &[&events[..], &end[..]].concat());
    assert!(reply.is_complete() && reply.calls_tools());
    assert!(streamed(Dialect::Responses, &[json!({ "type": "response.failed", "response": {} })]).has_failed());
}

#[test]
fn bodies_are_collected() {
    let collect = |dialect: Dialect, body: Value| {
        let mut reply = ReplyAccumulator::new(1000);
        dialect.add_body(&mut reply, &Bytes::from(body.to_string()));
        (reply.text().to_owned(), reply.is_complete(), reply.calls_tools())
    };
    let content = json!([{ "type": "text", "text": "A" }, { "type": "text", "text": "B" }]);
    let message = json!({ "type": "message", "content": content, "stop_reason": "end_turn" });
    assert_eq!(collect(Dialect::Messages, message), ("A\nB".into(), true, false));
    let tool = json!({ "type": "message", "content": [{ "type": "tool_use", "id": "t" }] });
    assert_eq!(collect(Dialect::Messages, tool), (String::new(), true, true));
    assert_eq!(collect(Dialect::Messages, json!({ "type": "error" })), (String::new(), false, false));

    let output = json!([
        { "type": "reasoning", "content": [{ "type": "reasoning_text", "text": "Hm." }] },
        { "type": "message", "content": [{ "type": "output_text", "text": "A" }] },
    ]);
    let response = json!({ "id": "resp_7", "status": "completed", "output": output });
    assert_eq!(collect(Dialect::Responses, response), ("A".into(), true, false));
    let background = json!({ "id": "resp_7", "status": "queued", "output": [] });
    assert_eq!(collect(Dialect::Responses, background), (String::new(), false, false));
}
