#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::gateway::thread::Thread;

const BLOCK: &str = "---\n[记忆参考]\n\"我对海鲜过敏\"\n---";

fn body(text: &str) -> ChatBody {
    ChatBody::read(Bytes::from(text.to_owned()), Dialect::Chat).unwrap()
}

/// Returns the body with a block in its system prompt.
fn in_system(text: &str, model: Option<&str>, block: &str) -> Bytes {
    body(text).edited(model, block, BlockPlacement::System)
}

fn injected(text: &str) -> Value {
    serde_json::from_slice(&in_system(text, None, BLOCK)).unwrap()
}

#[test]
fn the_block_follows_the_system_text() {
    let found =
        injected(r#"{"messages":[{"role":"user","content":"hi"},{"content":"You are \"K\".","role":"developer"}]}"#);
    assert_eq!(found["messages"][1]["content"], format!("You are \"K\".\n\n{BLOCK}"));
    assert_eq!(found["messages"].as_array().unwrap().len(), 2);
    let empty = injected(r#"{"messages":[{"role":"system","content":""},{"role":"user","content":"hi"}]}"#);
    assert_eq!(empty["messages"][0]["content"], BLOCK);
}

#[test]
fn the_block_is_a_new_part_of_a_list() {
    for (content, parts) in [(r#"[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]"#, 2), ("[ ]", 1)] {
        let found = injected(&format!(r#"{{"messages":[{{"role":"system","content":{content}}}]}}"#));
        let content = found["messages"][0]["content"].as_array().unwrap();
        assert_eq!((content.len(), &content[parts - 1]), (parts, &json!({ "type": "text", "text": BLOCK })));
    }
}

#[test]
fn without_a_system_message_one_is_inserted_first() {
    for messages in
        [r#"[{"role":"user","content":"hi"}]"#, r#"[{"role":"system","content":null},{"role":"user"}]"#, "[]"]
    {
        let found = injected(&format!(r#"{{"messages":{messages}}}"#));
        assert_eq!(found["messages"][0], json!({ "role": "system", "content": BLOCK }));
        let before: Value = serde_json::from_str(messages).unwrap();
        assert_eq!(found["messages"].as_array().unwrap()[1..], *before.as_array().unwrap());
    }
}

#[test]
fn unedited_bytes_stay_the_same() {
    let text = r#"{ "temperature":0.10, "seed":123456789012345678901234567890,"zz":{"b":1,"a":[1e5, null]},
        "model" : "fast/gpt-4o","messages":[{"role":"user","content":"\ud83d\ude00","name":"L","x":1.50}],
        "min_p":0.05}"#;
    assert_eq!(in_system(text, None, ""), text);
    assert_eq!(in_system(text, Some("fast/gpt-4o"), ""), text);
    let renamed = in_system(text, Some("gpt-4o"), "");
    assert_eq!(renamed, text.replace("\"fast/gpt-4o\"", "\"gpt-4o\""));
    let both = in_system(text, Some("gpt-4o"), "m");
    let system = r#"[{"role":"system","content":"m"},{"role"#;
    assert_eq!(both, text.replace("\"fast/gpt-4o\"", "\"gpt-4o\"").replace(r#"[{"role"#, system));
}

#[test]
fn invalid_bodies_are_refused_and_unusual_ones_accepted() {
    for bad in ["", "[]", "nonsense", "{", r#"{"model":1,"model":2}"#] {
        assert!(ChatBody::read(Bytes::from_static(bad.as_bytes()), Dialect::Chat).is_err(), "{bad}");
    }
    for odd in
        [r#"{}"#, r#"{"messages":"hi"}"#, r#"{"messages":[1,"x",{"role":5,"content":{}}],"model":7,"stream":"yes"}"#]
    {
        let odd = body(odd);
        assert_eq!((odd.model(), odd.is_streamed(), Thread::of(odd.messages()).question()), (None, false, None));
    }
    let half = body(r#"{"messages":[{"role":"user","content":"\ud83d"}]}"#);
    assert_eq!(Thread::of(half.messages()).question(), Some("\u{fffd}"), "a lone surrogate is a replacement character");
}

#[test]
fn the_owner_is_read_from_all_supported_fields() {
    let owner = |text: &str| body(text).owner().clone();
    let named = owner(r#"{"user":"lin","metadata":{"session_id":"小雨","agent_id":7}}"#);
    assert_eq!(
        named,
        Owner { user: Some("lin".into()), agent: Some("7".into()), session: Some("小雨".into()), branch: None }
    );
    assert_eq!(owner(r#"{"user":"x","user_id":"mei","session_id":" s "}"#).user.unwrap(), "mei");
    assert!(owner(r#"{"metadata":null,"session_id":{},"agent_id":""}"#).is_empty());
    // A blank user is refused, and not missing.
    assert_eq!(owner(r#"{"user":" "}"#), Owner::user(""));
}

proptest! {
    #[test]
    fn any_block_follows_any_words_in_any_form(words in ".*", block in ".+", is_text in any::<bool>()) {
        let words = format!("I say: {words}");
        let parts = json!([{ "type": "text", "text": words, "cache_control": { "type": "ephemeral" } }]);
        let content = if is_text { json!(words) } else { parts };
        let mut request = json!({ "messages": [{ "role": "user", "content": content }], "n": 1 });
        let edited = body(&request.to_string()).edited(None, &block, BlockPlacement::Message);
        let content = &mut request["messages"][0]["content"];
        match content.as_array_mut() {
            Some(parts) => parts.push(json!({ "type": "text", "text": block })),
            None => *content = json!(format!("{words}\n\n{block}")),
        }
        prop_assert_eq!(serde_json::from_slice::<Value>(&edited).unwrap(), request);
    }

    #[test]
    fn any_block_survives_in_any_system_text(system in ".*", block in ".+", user in ".*") {
        let messages = json!([{ "role": "system", "content": system }, { "role": "user", "content": user }]);
        let request = json!({ "messages": messages });
        let edited = in_system(&request.to_string(), None, &block);
        let found: Value = serde_json::from_slice(&edited).unwrap();
        let expected = if system.is_empty() { block } else { format!("{system}\n\n{block}") };
        prop_assert_eq!(found["messages"][0]["content"].as_str(), Some(expected.as_str()));
        prop_assert_eq!(&found["messages"][1], &request["messages"][1]);
    }
}
