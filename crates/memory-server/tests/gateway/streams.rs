//! Streams that end, break off or are cancelled.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::given::{Chat, content, patient, said, streamed, to, user};

#[tokio::test]
async fn k12_a_stream_comes_as_the_service_sent_it_and_its_turn_is_stored_before_its_end() {
    let chat = Chat::new().await;
    let answer = chat.ask(&streamed("echo", &[user("早上好")])).await;
    assert_eq!(content(&answer.body, "content"), "好的: 早上好");
    assert!(answer.body.ends_with("data: [DONE]\n\n") && answer.body.contains("\"system_fingerprint\":\"fp\""));
    assert_eq!((answer.header("x-accel-buffering"), answer.header("x-request-id")), ("no", "req_1"));
    assert_eq!((answer.header("set-cookie"), answer.header("content-type")), ("", "text/event-stream"));
    // No waiting: the answer has ended, so it is there.
    assert_eq!(chat.texts().await, ["早上好", "好的: 早上好"]);
}

#[tokio::test]
async fn k12_thoughts_and_calls_of_tools_are_passed_on_and_only_what_was_said_is_stored() {
    let chat = Chat::new().await;
    let thought = chat.ask(&streamed("thinker", &[user("好累")])).await;
    assert_eq!(content(&thought.body, "reasoning_content"), "她累了");
    assert_eq!(chat.texts().await, ["好累", "早点休息"]);

    let history = [user("好累"), said("早点休息"), user("柏林天气如何")];
    let call = chat.ask(&streamed("tools", &history)).await;
    assert!(call.body.contains(r#""arguments":"{\"city\":""#) && call.body.contains(r#""finish_reason":"tool_calls""#));
    assert_eq!(chat.turns("monday").await.len(), 2, "a call is no answer yet");
    let called = json!({ "role": "assistant", "content": null, "reasoning_content": "", "tool_calls": [{ "id": "call_1", "type": "function", "function": { "name": "weather", "arguments": "{}" } }] });
    let tool = json!({ "role": "tool", "tool_call_id": "call_1", "content": "sunny, 20" });
    let answered = [&history[..], &[called.clone(), tool]].concat();
    chat.ask(&streamed("tools", &answered)).await;
    assert_eq!(chat.served.seen.last()["messages"][3], called, "reasoning in the history is the client's affair");
    assert_eq!(chat.texts().await[2..], ["柏林天气如何", "好的: 柏林天气如何"]);
}

#[tokio::test]
async fn odd_but_proper_streams_are_understood_and_several_choices_too() {
    let chat = Chat::new().await;
    let odd = chat.ask(&streamed("odd", &[user("在吗")])).await;
    assert!(
        odd.body.starts_with(": hello\r\n\r\n")
            && odd.body.contains("\"delta\":null")
            && odd.body.contains("\"total_tokens\":3")
    );
    assert!(!odd.body.contains("[DONE]") && !odd.body.contains("\"error\""), "an ending is not made up: {}", odd.body);
    assert_eq!(chat.texts().await, ["在吗", "你好😀"]);
    let mut two = streamed("echo", &[user("在吗"), said("你好😀"), user("选一个")]);
    two["n"] = json!(2);
    let two = chat.ask(&two).await;
    assert!(two.body.contains("\"content\":\"two\""));
    assert_eq!(chat.texts().await[2..], ["选一个", "one"]);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_error_and_its_turn_is_partial() {
    for (model, code) in [("cut", "stream_broken"), ("break", "stream_broken"), ("fails", "")] {
        let chat = Chat::new().await;
        let answer = chat.ask(&streamed(model, &[user("说说看")])).await;
        assert!(!answer.body.contains("[DONE]"), "{model}");
        let events: Vec<Value> =
            answer.body.lines().filter_map(|l| serde_json::from_str(l.strip_prefix("data: ")?).ok()).collect();
        let lines = answer.body.lines().filter(|line| line.starts_with("data:")).count();
        assert_eq!(lines, events.len(), "{model}: no half of an event gets through");
        let error = &events.last().unwrap()["error"];
        assert_eq!((error["code"].as_str().unwrap_or_default(), error["message"].is_string()), (code, true), "{model}");
        let turns = chat.await_turns(2).await;
        assert!(turns[1].text.starts_with("我正") && turns[1].metadata["partial"].is_string(), "{:?}", turns[1]);
        // The client asks again, and gets all of it this time.
        chat.ask(&streamed("echo", &[user("说说看")])).await;
        let turns = chat.turns("monday").await;
        assert_eq!((turns.len(), turns[1].text.as_str(), turns[1].metadata.get("partial")), (2, "好的: 说说看", None));
    }
}

#[tokio::test]
async fn a_client_that_is_gone_stops_the_service_and_what_it_heard_is_kept_as_partial() {
    let chat = Chat::new().await;
    let headers = [("x-user-id", "lin"), ("x-session-id", "monday")];
    let mut reply = chat.send("v1/chat/completions", &streamed("drip", &[user("说个没完")]), &headers).await;
    let mut heard = String::new();
    while heard.matches("嗯").count() < 3 {
        heard.push_str(std::str::from_utf8(&reply.next().await.unwrap().unwrap()).unwrap());
    }
    drop(reply);
    let turns = chat.await_turns(2).await;
    assert!(turns[1].text.starts_with("嗯嗯嗯"));
    assert_eq!(turns[1].metadata["partial"], "client_gone");
    assert_eq!(*chat.served.seen.hung_up.lock(), 1);
}

#[tokio::test]
async fn a_plain_call_that_is_given_up_stops_the_service_too() {
    let chat = Chat::new().await;
    let headers = [("x-user-id", "lin"), ("x-session-id", "monday")];
    let body = to("silent", &[user("我下周搬去柏林")]);
    let sent = chat.send("v1/chat/completions", &body, &headers);
    assert!(tokio::time::timeout(Duration::from_millis(300), sent).await.is_err());
    let turns = chat.await_turns(1).await;
    assert_eq!((turns.len(), turns[0].text.as_str()), (1, "我下周搬去柏林"));
    for _ in 0..100 {
        if *chat.served.seen.hung_up.lock() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the service still works for nobody");
}

#[tokio::test]
async fn a_silent_model_is_covered_by_comments_and_nothing_is_held_back_meanwhile() {
    let chat = Chat::with(patient().with_keep_alive(Duration::from_millis(100))).await;
    let headers = [("x-session-id", "monday"), ("x-user-id", "lin")];
    let mut reply = chat.send("v1/chat/completions", &streamed("pause", &[user("等等")]), &headers).await;
    let first = reply.next().await.unwrap().unwrap();
    let began = Instant::now();
    assert!(first.starts_with(b"data: "));
    let rest = String::from_utf8(reply.rest(1 << 20).await.unwrap().to_vec()).unwrap();
    // The first piece did not wait for the end of the model's silence, however busy the machine is.
    assert!(began.elapsed() > Duration::from_millis(100), "{:?}", began.elapsed());
    assert!(rest.matches(": keep-alive\n\n").count() >= 2, "{rest}");
    assert_eq!(content(&rest, "content"), "一下");
}

#[tokio::test]
async fn what_is_too_long_to_be_held_is_passed_on_as_it_is_and_its_turn_is_partial() {
    let chat = Chat::with(patient().with_max_bytes(1 << 20, 500)).await;
    let answer = chat.ask(&streamed("long", &[user("说长一点")])).await;
    let said = format!("开头{}结尾", "长".repeat(400));
    assert_eq!(content(&answer.body, "content"), said);
    assert!(answer.body.ends_with("data: [DONE]\n\n") && !answer.body.contains("\"error\""));
    // Before its end was told, as any other turn.
    let turns = chat.turns("monday").await;
    assert_eq!((turns.len(), &turns[1].metadata["partial"]), (2, &json!("too_long")));
    assert!(turns[1].text.starts_with("开头") && turns[1].text.len() <= 500 && !turns[1].text.contains("结尾"));

    let plain = chat.ask(&to("echo", &[user(&"很长".repeat(200))])).await;
    assert_eq!(plain.status.as_u16(), 502, "nothing of it can be passed on before its end");
}
