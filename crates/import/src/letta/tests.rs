use serde_json::{Value, json};

use super::*;

fn rows(file: &Value) -> Vec<(String, Result<Vec<Value>, String>)> {
    rows_of(&file.to_string())
}

fn rows_of(text: &str) -> Vec<(String, Result<Vec<Value>, String>)> {
    let turns = |row: Row| {
        let turns = row.turns.map(|turns| turns.into_iter().map(|turn| Value::Object(turn.keys)).collect());
        (row.place, turns.map_err(|error| error.to_string()))
    };
    read(text.as_bytes()).unwrap().map(|row| turns(row.unwrap())).collect()
}

fn texts(file: &Value) -> Vec<String> {
    let turns = rows(file).into_iter().flat_map(|(_, turns)| turns.unwrap());
    turns.map(|turn| turn["text"].as_str().unwrap().to_owned()).collect()
}

fn agent(messages: &Value) -> Value {
    json!({"name": "sam", "agent_type": "letta_v1_agent", "block_ids": ["block-0"], "messages": messages})
}

fn message(role: &str, text: &str, more: &Value) -> Value {
    let mut message = json!({"id": "message-1", "role": role, "content": [{"type": "text", "text": text}],
        "created_at": "2026-02-16T12:00:00+00:00"});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

#[test]
fn only_words_of_the_participants_are_turns() {
    let none = json!({});
    let call =
        |name: &str, arguments: &str| json!({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]});
    let part = json!({"content": [{"type": "reasoning", "reasoning": "x"},
        {"type": "tool_call", "id": "c", "name": "send_message", "input": {"message": "In a part."}}]});
    let messages = json!([
        message("system", "You are Sam.", &none),
        message("user", "{\"type\": \"heartbeat\", \"reason\": \"Timer\", \"time\": \"2026\"}", &none),
        message("user", "{\"type\": \"login\", \"last_login\": \"Never\", \"time\": \"2026\"}", &none),
        message("user", "{\"type\": \"user_message\", \"message\": \"我住在上海\", \"time\": \"2026\"}", &none),
        message("user", "{\"type\": \"circle\"}", &none),
        message("user", "<system-reminder>x</system-reminder>", &none),
        message("assistant", "A thought.", &call("send_message", "{\"message\": \"Shanghai!\"}")),
        message("assistant", "A search.", &call("archival_memory_search", "{\"query\": \"a\"}")),
        message("assistant", "A broken call.", &call("send_message", "{\"mess")),
        message(
            "assistant",
            "Bootup sequence complete. Persona activated.",
            &call("send_message", "{\"message\": \"Hi\"}")
        ),
        message("assistant", "Plain words.", &none),
        message("assistant", "", &part),
        message("tool", "{\"status\": \"OK\"}", &none),
        message("approval", "yes", &none),
        message("summary", "Before, there was more.", &none),
        message("user", "", &json!({"content": "Words without parts."})),
    ]);
    let file = json!({"agents": [agent(&messages)], "blocks": []});
    let expected =
        ["我住在上海", "{\"type\": \"circle\"}", "Shanghai!", "Plain words.", "In a part.", "Words without parts."];
    assert_eq!(texts(&file), expected);
}

#[test]
fn ids_are_those_of_every_file() {
    let global = "message-7c9e6679-7425-40de-944b-e07fc1f90ae7";
    let messages = json!([
        message("user", "one", &json!({"name": "Lin"})),
        message("user", "two", &json!({})),
        message("user", "three", &json!({"id": global, "conversation_id": "c1"})),
    ]);
    let rows = rows(&json!({"agents": [agent(&messages)], "blocks": []}));
    let turns: Vec<&Value> = rows.iter().map(|(_, turns)| &turns.as_ref().unwrap()[0]).collect();
    let expected = json!({"text": "one", "role": "user", "agent": "sam", "speaker": "Lin", "sequence": 1,
        "time": "2026-02-16T12:00:00+00:00", "id": "sam/2026-02-16T12:00:00+00:00/user"});
    assert_eq!(turns[0], &expected);
    assert_eq!(turns[1]["id"], "sam/2026-02-16T12:00:00+00:00/user/2");
    assert_eq!((&turns[2]["id"], &turns[2]["session"]), (&json!(global), &json!("c1")));
}

#[test]
fn blocks_belong_to_their_agent() {
    let other = json!({"name": "ann", "agent_type": "memgpt_agent", "block_ids": ["block-1"], "messages": []});
    let background = json!({"name": "sam-sleeptime", "agent_type": "sleeptime_agent", "block_ids": ["block-0"]});
    let mut sam = agent(&json!([]));
    sam["block_ids"] = json!(["block-0", "block-1"]);
    let file = json!({"agents": [sam, other, background], "created_at": "2026-02-17T00:00:00Z", "blocks": [
        {"id": "block-0", "label": "human", "value": "\n住在上海\n", "description": "About the person."},
        {"id": "block-1", "label": "house", "value": "Rules of the house."},
        {"id": "block-2", "label": "empty", "value": " "},
    ]});
    let rows = rows(&file);
    let human = json!({"text": "住在上海", "kind": "note", "id": "sam/block/human", "agent": "sam", "tags": ["human"],
        "time": "2026-02-17T00:00:00Z", "metadata": {"description": "About the person."}});
    assert_eq!(rows[0].1, Ok(vec![human]));
    let house = &rows[1].1.as_ref().unwrap()[0];
    assert_eq!((&house["id"], house.get("agent")), (&json!("/block/house"), None), "shared blocks have no agent");
    assert_eq!(rows[2].1, Ok(Vec::new()));
}

#[test]
fn blocks_with_one_label_have_different_ids() {
    let block = |label: &str| json!({"label": label, "value": label});
    let file = json!({"agents": [agent(&json!([]))], "blocks": [block("a"), block("a"), block("a/3"), block("a")]});
    let ids: Vec<String> =
        rows(&file).into_iter().map(|(_, turns)| turns.unwrap()[0]["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, ["/block/a", "/block/a/2", "/block/a/3", "/block/a/4"]);
}

#[test]
fn the_older_format_has_one_agent_and_times_in_utc() {
    let mut message = message("user", "hello", &json!({}));
    message["created_at"] = json!("2025-04-01T03:47:27.492924");
    let file = json!({"agent_type": "memgpt_agent", "name": "skipper", "messages": [message],
        "core_memory": [{"label": "human", "value": "Sails.", "updated_at": "2025-04-02T00:00:00"}]});
    let rows = rows(&file);
    assert_eq!(rows[0].1.as_ref().unwrap()[0]["time"], "2025-04-01T03:47:27.492924Z");
    let block = &rows[1].1.as_ref().unwrap()[0];
    assert_eq!((&block["id"], &block["time"]), (&json!("skipper/block/human"), &json!("2025-04-02T00:00:00Z")));
}

#[test]
fn agents_in_the_background_have_no_conversation() {
    let mut background = agent(&json!([message("user", "a copied conversation", &json!({}))]));
    background["agent_type"] = json!("sleeptime_agent");
    let blocks = json!([{"id": "block-0", "label": "human", "value": "Sails."}]);
    assert_eq!(texts(&json!({"agents": [background], "blocks": blocks})), ["Sails."]);
}

#[test]
fn passages_are_notes() {
    let passages = json!([{"id": "passage-7c9e6679-7425-40de-944b-e07fc1f90ae7", "text": "The key is under the fern.",
        "tags": ["home"], "metadata": {"a": 1}, "created_at": "2026-02-16T12:00:00Z", "embedding": [0.5]},
        {"id": "x"}]);
    let rows = rows(&passages);
    let expected = json!({"text": "The key is under the fern.", "kind": "note", "tags": ["home"], "metadata": {"a": 1},
        "id": "passage-7c9e6679-7425-40de-944b-e07fc1f90ae7", "time": "2026-02-16T12:00:00Z"});
    assert_eq!(rows[0].1, Ok(vec![expected]));
    assert!(rows[1].1.as_ref().unwrap_err().contains("no \"text\""), "{rows:?}");
}

#[test]
fn a_file_in_a_string_is_read() {
    let file = json!({"agents": [agent(&json!([message("user", "hello", &json!({}))]))], "blocks": []});
    assert_eq!(rows(&Value::String(file.to_string())), rows(&file));
}

#[test]
fn broken_rows_have_a_place_and_other_files_are_errors() {
    let file = "{\"agents\": [\n{\"name\": \"sam\", \"messages\": [\n{\"content\": \"a\"}]},\n7],\n\"blocks\": []}";
    let rows = rows_of(file);
    assert_eq!(rows[0], ("line 3, message 1".into(), Err("\"role\" is no text".into())));
    assert_eq!(rows[1], ("line 4, agent 2".into(), Err("the value is not a Letta agent".into())));
    let error = |text: &str| read(text.as_bytes()).err().unwrap().to_string();
    assert!(error("{\"agents\": [\n}").starts_with("line 2, column 1"), "{}", error("{\"agents\": [\n}"));
    for text in ["", "{}", "[]", "7", "\"a\"", "{\"agents\": 7}", "{\"agents\": [], \"blocks\": []}"] {
        assert!(error(text).contains("agent file of Letta") || error(text).contains("no JSON"), "{text}");
    }
}
