//! Anthropic's messages and OpenAI's responses: passed through to an upstream that speaks them, and converted for one that
//! speaks only chat completions.

use axum::http::StatusCode;
use memory_engine::{MemoryEngine, Record};
use memory_engine_server::BlockPlacement;
use serde_json::{Value, json};

use crate::{
    gateway::fixtures::{Answer, Chat, lin, patient_options, user},
    support::Served,
};

const OWNER: [(&str, &str); 2] = [("x-user-id", "lin"), ("x-session-id", "monday")];
/// A question that recalls, after a turn so that it is not the first one of the conversation.
const QUESTION: &str = "上次说过：我对海鲜过敏吗";

async fn chat() -> Chat {
    Chat::with_placement(BlockPlacement::Message).await
}

fn messages_request(model: &str, messages: &[Value]) -> Value {
    json!({ "model": model, "max_tokens": 100, "messages": messages })
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

/// Returns the data of the events of a stream.
fn events(answer: &Answer) -> Vec<Value> {
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Returns the joined texts of the deltas of a stream.
fn text(events: &[Value]) -> String {
    let delta = |event: &Value| event["delta"]["text"].as_str().or(event["delta"].as_str()).map(str::to_owned);
    events.iter().filter_map(delta).collect()
}

fn texts(turns: Vec<Record>) -> Vec<String> {
    turns.into_iter().map(|turn| turn.text).collect()
}

#[tokio::test]
async fn messages_pass_through_with_the_block_behind_the_cached_prefix() {
    messages_pass_through(BlockPlacement::Message, "/messages/2/content/1").await;
    messages_pass_through(BlockPlacement::System, "/system/1").await;
}

/// `place` is the expected place of the block in the request to the upstream.
async fn messages_pass_through(placement: BlockPlacement, place: &str) {
    let chat = Chat::with_placement(placement).await;
    chat.remember("我对海鲜过敏，上次吃虾进了医院").await;
    let marked = |text: &str| json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
    let question = json!({ "role": "user", "content": marked(QUESTION) });
    let mut body =
        messages_request("native-echo", &[user("hello"), json!({ "role": "assistant", "content": "hi" }), question]);
    body["system"] = marked("Be brief.");
    body["top_k"] = json!(5);
    let answer = chat.get("v1/messages", &body, &[&OWNER[..], &[("anthropic-version", "2023-06-01")]].concat()).await;
    assert_eq!(answer.json()["content"][0]["text"], format!("好的: {QUESTION}"), "{}", answer.body);
    assert_eq!(answer.header("x-memory-rule"), "recall");
    let received = &chat.served.received_natively;
    let sent = String::from_utf8(received.last_bytes().to_vec()).unwrap();
    let part = received.last().pointer(place).unwrap().clone();
    let block = part["text"].as_str().unwrap();
    assert!(block.contains("海鲜过敏") && part.get("cache_control").is_none(), "{sent}");
    // Everything outside of the block is what the client sent.
    let added = format!(r#",{{"type":"text","text":{}}}"#, json!(block));
    assert_eq!(sent.replace(&added, ""), body.to_string());
    let headers = received.last_headers();
    assert_eq!(headers["anthropic-version"], "2023-06-01");
    assert!(headers.get("x-memory-key").is_none() && headers.get("x-user-id").is_none());
    assert_eq!(texts(chat.turns("monday").await), [QUESTION, &format!("好的: {QUESTION}")]);
}

#[tokio::test]
async fn streams_of_both_dialects_are_stored_when_they_have_ended() {
    let chat = chat().await;
    let answer =
        chat.get("v1/messages", &streamed(messages_request("native-echo", &[user("我住在柏林")])), &OWNER).await;
    assert_eq!(text(&events(&answer)), "好的: 我住在柏林");
    assert_eq!(types(&events(&answer)).last(), Some(&"message_stop"));
    assert_eq!(texts(chat.turns("monday").await), ["我住在柏林", "好的: 我住在柏林"]);

    let body = json!({ "model": "native-echo", "input": "我养猫", "stream": true });
    let answer = chat.get("v1/responses", &body, &[("x-user-id", "lin"), ("x-session-id", "tuesday")]).await;
    assert_eq!(text(&events(&answer)), "好的: 我养猫");
    assert_eq!(types(&events(&answer)).last(), Some(&"response.completed"));
    assert_eq!(texts(chat.turns("tuesday").await), ["我养猫", "好的: 我养猫"]);
}

#[tokio::test]
async fn a_turn_with_tools_is_stored_with_its_answer() {
    let chat = chat().await;
    let question = user("柏林天气");
    let first = chat
        .get("v1/messages", &streamed(messages_request("native-tools", std::slice::from_ref(&question))), &OWNER)
        .await;
    assert!(first.body.contains("tool_use"), "{}", first.body);
    assert!(chat.turns("monday").await.is_empty());
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1", "name": "weather", "input": {} }] });
    let result =
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny" }] });
    chat.get("v1/messages", &messages_request("native-tools", &[question, call, result]), &OWNER).await;
    assert_eq!(texts(chat.turns("monday").await), ["柏林天气", "好的: 柏林天气"]);
}

#[tokio::test]
async fn replies_that_break_off_are_marked() {
    let chat = chat().await;
    for (path, body) in [
        ("v1/messages", messages_request("native-cut", &[user("x")])),
        ("v1/responses", json!({ "model": "native-cut", "input": "x" })),
    ] {
        let session = path.replace('/', "-");
        let owner = [("x-user-id", "lin"), ("x-session-id", session.as_str())];
        let answer = chat.get(path, &streamed(body), &owner).await;
        let last = events(&answer).pop().unwrap();
        assert_eq!(last["type"], "error", "{}", answer.body);
        assert!(last.to_string().contains("broke off before its end"), "{last}");
        let turns = chat.turns(&session).await;
        assert_eq!((turns.len(), &turns[1].metadata["partial"]), (2, &json!("broken_off")), "{path}");
    }
}

#[tokio::test]
async fn a_response_continues_the_session_of_the_one_before() {
    let chat = chat().await;
    let ask = async |input: Value, previous: Option<&str>| {
        let body = json!({ "model": "native-echo", "input": input, "previous_response_id": previous });
        chat.get("v1/responses", &body, &[("x-user-id", "lin")]).await
    };
    let first = ask(json!("我住在柏林"), None).await;
    let session = first.header("x-memory-session").to_owned();
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let second = ask(json!("我养猫"), Some(&id)).await;
    assert_eq!(second.header("x-memory-session"), session);
    let id = second.json()["id"].as_str().unwrap().to_owned();
    let third = ask(json!([user("我换了工作")]), Some(&id)).await;
    assert_eq!(third.header("x-memory-session"), session);
    let turns = chat.turns(&session).await;
    let rounds: Vec<_> = turns.iter().map(|turn| turn.source.round.unwrap()).collect();
    assert_eq!(rounds, [1, 1, 2, 2, 3, 3], "{turns:?}");
    assert_eq!(turns[4].text, "我换了工作");
    // The response of another user is not known.
    let body = json!({ "model": "native-echo", "input": "hi", "previous_response_id": id });
    let other = chat.get("v1/responses", &body, &[("x-user-id", "mei")]).await;
    assert_ne!(other.header("x-memory-session"), session);
}

#[tokio::test]
async fn a_response_is_found_by_its_id_after_a_restart() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let before = Chat::of(Served::with_both_upstreams(engine.clone(), patient_options()).await);
    let body = json!({ "model": "native-echo", "input": "我住在柏林" });
    let first = before.get("v1/responses", &body, &OWNER).await;
    let after = Chat::of(Served::with_both_upstreams(engine, patient_options()).await);
    let body = json!({ "model": "native-echo", "input": "我养猫", "previous_response_id": first.json()["id"] });
    let second = after.get("v1/responses", &body, &[("x-user-id", "lin")]).await;
    assert_eq!(second.header("x-memory-session"), "monday");
    assert_eq!(after.turns("monday").await.len(), 4);
}

#[tokio::test]
async fn a_request_that_stores_nothing_is_continued_as_well() {
    let chat = chat().await;
    let ask = async |input: &str, previous: &Value, memory: &str| {
        let body = json!({ "model": "native-echo", "input": input, "previous_response_id": previous });
        chat.get("v1/responses", &body, &[("x-user-id", "lin"), ("x-memory", memory)]).await
    };
    let first = ask("我住在柏林", &Value::Null, "on").await;
    let session = first.header("x-memory-session").to_owned();
    let second = ask("随便聊聊", &first.json()["id"], "read").await;
    let third = ask("我养猫", &second.json()["id"], "on").await;
    assert_eq!(third.header("x-memory-session"), session);
    let texts = texts(chat.turns(&session).await);
    assert_eq!(texts, ["我住在柏林", "好的: 我住在柏林", "我养猫", "好的: 我养猫"]);
}

#[tokio::test]
async fn a_retracted_reply_is_no_message_of_the_conversation() {
    let engine = MemoryEngine::builder().in_memory().build().await.unwrap();
    let before = Chat::of(Served::with_both_upstreams(engine.clone(), patient_options()).await);
    let first = before.get("v1/responses", &json!({ "model": "native-echo", "input": "我住在柏林" }), &OWNER).await;
    let reply = before.turns("monday").await.pop().unwrap();
    engine.history().retract(&lin(), &[reply.id], "edited").await.unwrap();
    let after = Chat::of(Served::with_both_upstreams(engine, patient_options()).await);
    let body = json!({ "model": "native-echo", "input": "我养猫", "previous_response_id": first.json()["id"] });
    let second = after.get("v1/responses", &body, &[("x-user-id", "lin")]).await;
    assert_eq!(second.header("x-memory-session"), "monday");
    assert_eq!(texts(after.turns("monday").await), ["我住在柏林", "我养猫", "好的: 我养猫"]);
}

#[tokio::test]
async fn a_tool_result_continues_the_response_that_called_the_tool() {
    let chat = chat().await;
    let body = json!({ "model": "native-tools", "input": "柏林天气" });
    let first = chat.get("v1/responses", &body, &OWNER).await;
    let output = json!([{ "type": "function_call_output", "call_id": "call_1", "output": "sunny" }]);
    let body = json!({ "model": "native-tools", "input": output, "previous_response_id": first.json()["id"] });
    chat.get("v1/responses", &body, &[("x-user-id", "lin")]).await;
    let texts = texts(chat.turns("monday").await);
    assert_eq!(texts, ["柏林天气", "好的:"]);
}

#[tokio::test]
async fn stored_responses_and_token_counts_pass_through() {
    let chat = chat().await;
    let body = json!({ "model": "native-echo", "input": "hello" });
    let id = chat.get("v1/responses", &body, &OWNER).await.json()["id"].as_str().unwrap().to_owned();
    let stored = chat.get(&format!("v1/responses/{id}/input_items"), &Value::Null, &OWNER).await;
    assert_eq!(stored.json()["id"], format!("{id}/input_items"), "the scripted upstream repeats the path");
    let body = messages_request("native-echo", &[user("hello")]);
    let counted = chat.get("v1/messages/count_tokens", &body, &OWNER).await;
    assert_eq!(counted.json(), json!({ "input_tokens": 7 }));
    // An estimate, without memories and without an upstream.
    let body = messages_request("echo", &[user("hello, how are you today?")]);
    let estimated = chat.get("v1/messages/count_tokens", &body, &OWNER).await.json()["input_tokens"].as_u64().unwrap();
    assert!((6..40).contains(&estimated), "{estimated}");
    assert!(chat.served.received.requests.lock().is_empty());
}

#[tokio::test]
async fn an_upstream_of_chat_completions_serves_messages() {
    messages_are_converted(BlockPlacement::Message).await;
    messages_are_converted(BlockPlacement::System).await;
}

async fn messages_are_converted(placement: BlockPlacement) {
    let chat = Chat::with_placement(placement).await;
    chat.remember("我对海鲜过敏，上次吃虾进了医院").await;
    let mut body =
        messages_request("echo", &[user("hello"), json!({ "role": "assistant", "content": "hi" }), user(QUESTION)]);
    body["system"] = json!("Be brief.");
    let answer = chat.get("v1/messages", &body, &[&OWNER[..], &[("anthropic-version", "2023-06-01")]].concat()).await;
    assert_eq!((answer.status, &answer.json()["type"]), (StatusCode::OK, &json!("message")), "{}", answer.body);
    assert_eq!(answer.json()["content"][0]["text"], format!("好的: {QUESTION}"));
    let sent = chat.served.received.last();
    assert_eq!(sent["max_tokens"], 100);
    let mut places = [(0, "Be brief."), (3, QUESTION)];
    if placement == BlockPlacement::Message {
        places.reverse();
    }
    let [(place, words), (other_place, unchanged)] = places;
    let block = sent["messages"][place]["content"].as_str().unwrap().strip_prefix(words).unwrap();
    assert!(block.starts_with("\n\n") && block.contains("海鲜过敏"), "{sent}");
    assert_eq!(sent["messages"][other_place]["content"], unchanged);
    assert!(chat.served.received.last_headers().get("anthropic-version").is_none());
    assert_eq!(texts(chat.turns("monday").await), [QUESTION, &format!("好的: {QUESTION}")]);

    let streamed = chat.get("v1/messages", &streamed(messages_request("echo", &[user("我养猫")])), &OWNER).await;
    let events = events(&streamed);
    assert_eq!(text(&events), "好的: 我养猫");
    assert_eq!((types(&events)[0], *types(&events).last().unwrap()), ("message_start", "message_stop"));
}

#[tokio::test]
async fn an_upstream_of_chat_completions_serves_responses() {
    let chat = chat().await;
    let body = json!({ "model": "echo", "instructions": "Be brief.", "input": "我住在柏林" });
    let answer = chat.get("v1/responses", &body, &OWNER).await;
    assert_eq!(answer.json()["output"][0]["content"][0]["text"], "好的: 我住在柏林", "{}", answer.body);
    assert_eq!(chat.served.received.last()["messages"][0], json!({ "role": "system", "content": "Be brief." }));
    let streamed = chat
        .get(
            "v1/responses",
            &json!({ "model": "tools", "input": "柏林天气", "stream": true,
        "tools": [{ "type": "function", "name": "weather", "parameters": {}, "strict": false }] }),
            &OWNER,
        )
        .await;
    let events = events(&streamed);
    let done = events.iter().find(|event| event["type"] == "response.function_call_arguments.done").unwrap();
    assert_eq!(done["arguments"], r#"{"city":"柏林"}"#);
    assert_eq!(types(&events).last(), Some(&"response.completed"));
    assert_eq!(texts(chat.turns("monday").await), ["我住在柏林", "好的: 我住在柏林"]);
}

#[tokio::test]
async fn converted_streams_report_their_faults() {
    let chat = chat().await;
    for model in ["cut", "break", "fails", "broken"] {
        for (path, body) in [
            ("v1/messages", messages_request(model, &[user("x")])),
            ("v1/responses", json!({ "model": model, "input": "x" })),
        ] {
            let answer = chat.get(path, &streamed(body), &OWNER).await;
            let events = events(&answer);
            let last = *types(&events).last().unwrap();
            assert!(matches!(last, "error" | "response.failed"), "{model} {path}: {}", answer.body);
            assert!(text(&events).starts_with("我正"), "{model} {path}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn refusals_have_the_form_of_the_dialect() {
    let chat = chat().await;
    let ask = async |path: &str, body: Value| chat.get(path, &body, &OWNER).await;
    let hello = [user("hello")];
    for model in ["limited", "native-limited"] {
        let limited = ask("v1/messages", messages_request(model, &hello)).await;
        assert_eq!((limited.status, limited.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "7"));
        assert_eq!(limited.json()["error"]["type"], "rate_limit_error", "{}", limited.body);
        assert_eq!(limited.json()["error"]["message"], "slow down");
    }
    let mut thinking = messages_request("echo", &hello);
    thinking["top_k"] = json!(5);
    let refused = ask("v1/messages", thinking).await;
    assert_eq!((refused.status, &refused.json()["type"]), (StatusCode::BAD_REQUEST, &json!("error")));
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("`top_k`"), "{}", refused.body);

    let body = json!({ "model": "echo", "input": "x", "previous_response_id": "resp_1" });
    let refused = ask("v1/responses", body).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(
        refused.json()["error"]["message"].as_str().unwrap().contains("`previous_response_id`"),
        "{}",
        refused.body
    );

    let refused = ask("v1/chat/completions", json!({ "model": "native-echo", "messages": hello })).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(
        message,
        "the upstream 'native' does not speak the dialect 'chat'; add 'chat' to its `dialects` if it does, or choose a \
         model of another upstream"
    );
    for value in ["never", "读"] {
        let headers = [OWNER[0], ("x-memory", value)];
        let refused = chat.get("v1/messages", &messages_request("native-echo", &hello), &headers).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{value}");
        assert!(refused.body.contains("X-Memory must be"), "{}", refused.body);
    }

    let page = ask("v1/messages", messages_request("html", &hello)).await;
    assert_eq!((page.status, &page.json()["type"]), (StatusCode::BAD_GATEWAY, &json!("error")), "{}", page.body);
    let broken = ask("v1/messages", b"[]".iter().map(|b| json!(b)).collect()).await;
    assert_eq!(
        (broken.status, &broken.json()["error"]["type"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request_error"))
    );
}

#[tokio::test]
async fn the_session_of_claude_code_is_not_a_user() {
    let chat = chat().await;
    let mut body = messages_request("native-echo", &[user("我养猫")]);
    body["metadata"] = json!({ "user_id": "user_0f3a_account_7c1d_session_2b9e" });
    let answer = chat.get("v1/messages", &body, &[("x-user-id", "lin")]).await;
    assert_eq!(answer.header("x-memory-session"), "2b9e");
    let scope = lin().with_session("2b9e").unwrap();
    assert_eq!(chat.served.engine.scan(&scope, &memory_engine::ScanQuery::oldest(9)).await.unwrap().records.len(), 2);
}
