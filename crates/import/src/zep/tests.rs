use serde_json::{Value, json};

use super::*;

const EPISODE: &str = "0199aaaa-0000-7000-8000-000000000010";

fn rows_of(text: &str) -> Vec<(String, Result<Vec<Value>, String>)> {
    let now = "2026-03-01T00:00:00Z".parse().unwrap();
    let turns = |row: Row| {
        let turns = row.turns.map(|turns| turns.into_iter().map(|turn| Value::Object(turn.keys)).collect());
        (row.place, turns.map_err(|error| error.to_string()))
    };
    read_at(text.as_bytes(), now).unwrap().rows.map(|row| turns(row.unwrap())).collect()
}

fn turns(file: &Value) -> Vec<Value> {
    rows_of(&file.to_string()).into_iter().flat_map(|(_, turns)| turns.unwrap()).collect()
}

fn episode(source: &str, content: &str) -> Value {
    json!({"uuid": EPISODE, "name": "e", "group_id": "lin", "source": source, "source_description": "chat",
        "content": content, "valid_at": "2026-02-01T00:00:00Z", "created_at": "2026-02-02T00:00:00Z"})
}

fn edge(uuid: &str, more: &Value) -> Value {
    let mut edge = json!({"uuid": uuid, "group_id": "lin", "name": "LIVES_IN", "fact": "林住在里斯本",
        "source_node_uuid": "n1", "target_node_uuid": "n2", "created_at": "2026-02-02T00:00:00Z",
        "fact_embedding": [0.5]});
    edge.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    edge
}

#[test]
fn messages_of_every_version_become_turns() {
    let v2 =
        json!({"messages": [{"uuid": "a", "role": "Lin", "role_type": "user", "content": "你好", "created_at": "t"}]});
    let expected = json!({"text": "你好", "role": "user", "speaker": "Lin", "id": "a", "time": "t"});
    assert_eq!(turns(&v2), [expected]);
    let v3 = json!({"user_id": "lin", "thread_id": "t1", "messages": [
        {"uuid": "a", "role": "user", "name": "Lin", "content": "你好", "created_at": "t", "metadata": {"a": 1}},
        {"uuid": "b", "role": "system", "content": "x"}, {"uuid": "c", "role": "tool", "content": "x"},
        {"uuid": "d", "role": "function", "content": "x"}, {"uuid": "e", "role": "assistant", "content": " "},
    ]});
    let expected = json!({"text": "你好", "role": "user", "speaker": "Lin", "id": "a", "time": "t", "user": "lin",
        "session": "t1", "metadata": {"a": 1}});
    assert_eq!(turns(&v3), [expected]);
    let v4 = json!({"items": [{"uuid": "a", "role": "assistant", "content": "hi", "thread_uuid": "t2",
        "created_at": "t", "reference_time": "r"}]});
    let expected = json!({"text": "hi", "role": "assistant", "id": "a", "time": "r", "session": "t2"});
    assert_eq!(turns(&v4), [expected]);
    let other = json!([{"uuid": "a", "role": "narrator", "content": "It rains."}]);
    assert_eq!(turns(&other)[0], json!({"text": "It rains.", "role": "participant", "speaker": "narrator", "id": "a"}));
}

#[test]
fn conversations_of_an_episode_are_split_at_their_speakers() {
    let spoken = |content: &str| {
        let turns = turns(&json!([episode("message", content)]));
        let text = |turn: &Value, key: &str| turn[key].as_str().unwrap_or("-").to_owned();
        let part = |turn| [text(turn, "role"), text(turn, "speaker"), text(turn, "text"), text(turn, "id")].join("|");
        turns.iter().map(part).collect::<Vec<String>>()
    };
    assert_eq!(spoken("user: 我住在上海"), [format!("user|-|我住在上海|{EPISODE}")]);
    assert_eq!(spoken("林：搬家了"), [format!("participant|林|搬家了|{EPISODE}")]);
    assert_eq!(spoken("林：今天 10: 30 出发"), [format!("participant|林|今天 10: 30 出发|{EPISODE}")]);
    assert_eq!(spoken("user:see note: x"), [format!("user|-|see note: x|{EPISODE}")]);
    let two = [format!("user|Lin|two: lines\nNote: not a name|{EPISODE}/1"), format!("assistant|-|ok|{EPISODE}/3")];
    assert_eq!(spoken("Lin (user): two: lines\nNote: not a name\nsystem: hidden\nassistant: ok"), two);
    assert_eq!(spoken("no speaker here"), [format!("participant|-|no speaker here|{EPISODE}")]);
    assert_eq!(spoken("https://example.com"), [format!("participant|-|https://example.com|{EPISODE}")]);
}

#[test]
fn other_episodes_are_notes() {
    let notes = turns(&json!({"episodes": [episode("text", "The lease ends."), episode("fact_triple", "{}")]}));
    let expected = json!({"text": "The lease ends.", "kind": "note", "id": EPISODE, "user": "lin",
        "time": "2026-02-01T00:00:00Z", "metadata": {"zep.episode": "e", "zep.source": "chat"}});
    assert_eq!(notes, [expected]);
}

#[test]
fn edges_are_facts_with_their_validity() {
    let nodes = json!([{"uuid": "n1", "name": "林", "summary": "", "labels": []},
        {"uuid": "n2", "name": "Lisbon", "summary": "", "labels": []}]);
    let edges = json!([
        edge("a", &json!({"valid_at": "2026-02-01T00:00:00Z", "episodes": [EPISODE, "unknown"]})),
        edge("b", &json!({"valid_at": "2025-01-01T00:00:00Z", "invalid_at": "2026-02-01T00:00:00Z"})),
        edge("c", &json!({"expired_at": "2026-02-03T00:00:00Z"})),
        edge("d", &json!({"invalid_at": "2027-01-01T00:00:00Z"})),
    ]);
    let turns = turns(&json!({"nodes": nodes, "episodes": [episode("text", "x")], "edges": edges}));
    let expected = json!({"text": "林住在里斯本", "kind": "fact", "id": "a", "user": "lin", "time": "2026-02-01T00:00:00Z",
        "valid_from": "2026-02-01T00:00:00Z", "entities": ["林", "Lisbon"], "derived_from": [EPISODE],
        "metadata": {"zep.relation": "LIVES_IN", "zep.source_node": "n1", "zep.target_node": "n2"}});
    assert_eq!(turns[1], expected);
    let validity = |turn: &Value| ["state", "valid_until"].map(|key| turn[key].as_str().unwrap_or("-").to_owned());
    assert_eq!(validity(&turns[2]), ["superseded", "2026-02-01T00:00:00Z"]);
    assert_eq!(validity(&turns[3]), ["superseded", "2026-02-03T00:00:00Z"]);
    assert_eq!(validity(&turns[4]), ["-", "2027-01-01T00:00:00Z"]);
}

#[test]
fn the_default_graph_is_no_user() {
    let mut default = episode("text", "x");
    default["group_id"] = json!("_");
    assert_eq!(turns(&json!([default]))[0].get("user"), None);
}

#[test]
fn pages_are_partial() {
    let is_partial = |answer: Value| read(answer.to_string().as_bytes()).unwrap().notice.is_some();
    let messages = json!([{"role": "user", "content": "a"}]);
    assert!(is_partial(json!({"messages": messages, "total_count": 2})));
    assert!(is_partial(json!({"items": messages, "next_cursor": "x"})));
    assert!(!is_partial(json!({"messages": messages, "total_count": 1, "next_cursor": null})));
}

#[test]
fn broken_rows_have_a_line_and_other_files_are_errors() {
    let rows =
        rows_of("[{\"role\": \"user\", \"content\": \"a\"},\n{\"source_node_uuid\": \"n\"},\n7,\n{\"content\": 7}]");
    let errors: Vec<_> = rows.iter().map(|(place, turns)| (place.as_str(), turns.as_ref().err())).collect();
    assert_eq!((errors[0], errors[1].0, errors[3].0), (("line 1", None), "line 2", "line 4"));
    assert!(errors[1].1.unwrap().contains("no \"fact\""), "{errors:?}");
    assert!(errors[2].1.unwrap().contains("no JSON object"), "{errors:?}");
    assert!(errors[3].1.unwrap().contains("\"content\" is no text"), "{errors:?}");
    let error = |text: &str| read(text.as_bytes()).err().unwrap().to_string();
    assert!(error("{\"messages\": [\n}").starts_with("line 2"), "{}", error("{\"messages\": [\n}"));
    for text in ["", "{}", "[]", "{\"messages\": []}", "[{\"text\": \"a\"}]"] {
        assert!(error(text).contains("no message, episode or edge"), "{text}");
    }
}
