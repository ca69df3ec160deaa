//! Streams that end, break off or are cancelled.

use std::{pin::pin, time::Duration};

use futures::future::{Either, select};
use serde_json::{Value, json};

use crate::support::wait_until;

use super::fixtures::{Chat, assistant, patient_options, request, stream_text, streamed_request, user};

#[tokio::test]
async fn k12_a_stream_is_forwarded_and_stored_before_its_end() {
    let chat = Chat::new().await;
    let answer = chat.ask(&streamed_request("echo", &[user("早上好")])).await;
    assert_eq!(stream_text(&answer.body, "content"), "好的: 早上好");
    assert!(answer.body.ends_with("data: [DONE]\n\n") && answer.body.contains("\"system_fingerprint\":\"fp\""));
    assert_eq!((answer.header("x-accel-buffering"), answer.header("x-request-id")), ("no", "req_1"));
    assert_eq!((answer.header("set-cookie"), answer.header("content-type")), ("", "text/event-stream"));
    // The response has ended, so the turn is already stored.
    assert_eq!(chat.texts().await, ["早上好", "好的: 早上好"]);
}

#[tokio::test]
async fn k12_thoughts_and_tool_calls_are_forwarded_but_not_stored() {
    let chat = Chat::new().await;
    let thought = chat.ask(&streamed_request("thinker", &[user("好累")])).await;
    assert_eq!(stream_text(&thought.body, "reasoning_content"), "她累了");
    assert_eq!(chat.texts().await, ["好累", "早点休息"]);

    let history = [user("好累"), assistant("早点休息"), user("柏林天气如何")];
    let call = chat.ask(&streamed_request("tools", &history)).await;
    assert!(call.body.contains(r#""arguments":"{\"city\":""#) && call.body.contains(r#""finish_reason":"tool_calls""#));
    assert_eq!(chat.turns("monday").await.len(), 2, "a tool call is not the answer yet");
    let weather = json!({ "id": "call_1", "type": "function", "function": { "name": "weather", "arguments": "{}" } });
    let called = json!({ "role": "assistant", "content": null, "reasoning_content": "", "tool_calls": [weather] });
    let tool = json!({ "role": "tool", "tool_call_id": "call_1", "content": "sunny, 20" });
    let answered = [&history[..], &[called.clone(), tool]].concat();
    chat.ask(&streamed_request("tools", &answered)).await;
    assert_eq!(chat.served.received.last()["messages"][3], called, "the history is forwarded unchanged");
    assert_eq!(chat.texts().await[2..], ["柏林天气如何", "好的: 柏林天气如何"]);
}

#[tokio::test]
async fn unusual_streams_and_several_choices_are_read() {
    let chat = Chat::new().await;
    let odd = chat.ask(&streamed_request("odd", &[user("在吗")])).await;
    assert!(
        odd.body.starts_with(": hello\r\n\r\n")
            && odd.body.contains("\"delta\":null")
            && odd.body.contains("\"total_tokens\":3")
    );
    assert!(!odd.body.contains("[DONE]") && !odd.body.contains("\"error\""), "no end marker is added: {}", odd.body);
    assert_eq!(chat.texts().await, ["在吗", "你好😀"]);
    let mut two = streamed_request("echo", &[user("在吗"), assistant("你好😀"), user("选一个")]);
    two["n"] = json!(2);
    let two = chat.ask(&two).await;
    assert!(two.body.contains("\"content\":\"two\""));
    assert_eq!(chat.texts().await[2..], ["选一个", "one"]);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_a_partial_turn() {
    for (model, code) in [("cut", "stream_broken"), ("break", "stream_broken"), ("fails", "")] {
        let chat = Chat::new().await;
        let answer = chat.ask(&streamed_request(model, &[user("说说看")])).await;
        assert!(!answer.body.contains("[DONE]"), "{model}");
        let events: Vec<Value> =
            answer.body.lines().filter_map(|l| serde_json::from_str(l.strip_prefix("data: ")?).ok()).collect();
        let lines = answer.body.lines().filter(|line| line.starts_with("data:")).count();
        assert_eq!(lines, events.len(), "{model}: no incomplete event is passed on");
        let error = &events.last().unwrap()["error"];
        assert_eq!((error["code"].as_str().unwrap_or_default(), error["message"].is_string()), (code, true), "{model}");
        let turns = chat.await_turns(2).await;
        assert!(turns[1].text.starts_with("我正") && turns[1].metadata["partial"].is_string(), "{:?}", turns[1]);
        // The client repeats the question, and gets a complete reply.
        chat.ask(&streamed_request("echo", &[user("说说看")])).await;
        let turns = chat.turns("monday").await;
        assert_eq!((turns.len(), turns[1].text.as_str(), turns[1].metadata.get("partial")), (2, "好的: 说说看", None));
    }
}

#[tokio::test]
async fn a_disconnected_client_aborts_the_stream() {
    let chat = Chat::new().await;
    let headers = [("x-user-id", "lin"), ("x-session-id", "monday")];
    let mut reply = chat.send("v1/chat/completions", &streamed_request("drip", &[user("说个没完")]), &headers).await;
    let mut received = String::new();
    while received.matches("嗯").count() < 3 {
        received.push_str(std::str::from_utf8(&reply.next().await.unwrap().unwrap()).unwrap());
    }
    drop(reply);
    let turns = chat.await_turns(2).await;
    assert!(turns[1].text.starts_with("嗯嗯嗯"));
    assert_eq!(turns[1].metadata["partial"], "client_gone");
    chat.await_aborted().await;
}

#[tokio::test]
async fn a_disconnected_client_aborts_a_plain_request() {
    let chat = Chat::new().await;
    let headers = [("x-user-id", "lin"), ("x-session-id", "monday")];
    let body = request("silent", &[user("我下周搬去柏林")]);
    let sent = chat.send("v1/chat/completions", &body, &headers);
    // The upstream never responds.
    let is_received =
        wait_until("the upstream has the request", async || !chat.served.received.requests.lock().is_empty());
    assert!(matches!(select(pin!(sent), pin!(is_received)).await, Either::Right(_)));
    let turns = chat.await_turns(1).await;
    assert_eq!((turns.len(), turns[0].text.as_str()), (1, "我下周搬去柏林"));
    chat.await_aborted().await;
}

#[tokio::test]
async fn comments_are_sent_while_the_model_is_silent() {
    let mut options = patient_options();
    options.keep_alive = Duration::from_millis(100);
    let chat = Chat::with_options(options).await;
    let headers = [("x-session-id", "monday"), ("x-user-id", "lin")];
    let mut reply = chat.send("v1/chat/completions", &streamed_request("pause", &[user("等等")]), &headers).await;
    let first = reply.next().await.unwrap().unwrap();
    assert!(first.starts_with(b"data: "));
    // The model is silent until the test ends its pause: the first chunk and the comments do not wait for that.
    let mut comments = String::new();
    while comments.matches(": keep-alive\n\n").count() < 2 {
        comments.push_str(std::str::from_utf8(&reply.next().await.unwrap().unwrap()).unwrap());
    }
    assert_eq!(stream_text(&comments, "content"), "");
    chat.served.received.pause.notify_one();
    let rest = String::from_utf8(reply.rest(1 << 20).await.unwrap().to_vec()).unwrap();
    assert_eq!(stream_text(&rest, "content"), "一下");
}

#[tokio::test]
async fn a_too_long_event_is_forwarded_and_its_turn_partial() {
    let mut options = patient_options();
    options.max_request_bytes = 1 << 20;
    options.max_reply_bytes = 500;
    let chat = Chat::with_options(options).await;
    let answer = chat.ask(&streamed_request("long", &[user("说长一点")])).await;
    let text = format!("开头{}结尾", "长".repeat(400));
    assert_eq!(stream_text(&answer.body, "content"), text);
    assert!(answer.body.ends_with("data: [DONE]\n\n") && !answer.body.contains("\"error\""));
    // The turn is stored before the end of the response, as any other turn.
    let turns = chat.turns("monday").await;
    assert_eq!((turns.len(), &turns[1].metadata["partial"]), (2, &json!("too_long")));
    assert!(turns[1].text.starts_with("开头") && turns[1].text.len() <= 500 && !turns[1].text.contains("结尾"));

    let plain = chat.ask(&request("echo", &[user(&"很长".repeat(200))])).await;
    assert_eq!(plain.status.as_u16(), 502, "a plain reply that is too long is refused as a whole");
}
