use serde_json::json;

use super::*;

fn message(id: &str, role: &str, content: Value) -> Value {
    json!({
        "id": id, "author": {"role": role, "name": null}, "create_time": 1_704_067_200.5, "content": content,
        "recipient": "all", "metadata": {},
    })
}

fn text(text: &str) -> Value {
    json!({"content_type": "text", "parts": [text]})
}

fn node(message: Value, parent: Option<&str>, children: &[&str]) -> Value {
    json!({"id": message["id"], "message": message, "parent": parent, "children": children})
}

fn turns(conversations: &Value) -> Vec<ImportedTurn> {
    rows(std::io::Cursor::new(conversations.to_string())).flat_map(|row| row.unwrap().turns.unwrap()).collect()
}

fn texts(turns: &[ImportedTurn]) -> Vec<&str> {
    turns.iter().map(|turn| turn.keys["text"].as_str().unwrap()).collect()
}

/// A question with two answers, of which the second one is current.
fn conversation() -> Value {
    json!({
        "title": "Tea", "create_time": 1_704_067_200.0, "conversation_id": "c1", "current_node": "a2",
        "mapping": {
            "root": {"id": "root", "message": null, "parent": null, "children": ["s"]},
            "s": node(message("s", "system", text("")), Some("root"), &["u"]),
            "u": node(message("u", "user", text("我只喝绿茶")), Some("s"), &["a1", "a2"]),
            "a1": node(message("a1", "assistant", text("An answer that was regenerated")), Some("u"), &[]),
            "a2": node(message("a2", "assistant", text("好的，绿茶。")), Some("u"), &[]),
        },
    })
}

#[test]
fn the_current_branch_is_read() {
    let turns = turns(&json!([conversation()]));
    assert_eq!(texts(&turns), ["我只喝绿茶", "好的，绿茶。"]);
    let keys = &turns[0].keys;
    assert_eq!((&keys["role"], &keys["id"], &keys["session"]), (&json!("user"), &json!("u"), &json!("c1")));
    assert_eq!((&keys["time"], &keys["metadata"]["title"]), (&json!("2024-01-01T00:00:00.5Z"), &json!("Tea")));
}

#[test]
fn without_a_current_message_the_newest_one_ends_the_branch() {
    let mut conversation = conversation();
    conversation["current_node"] = Value::Null;
    conversation["mapping"]["a1"]["message"]["create_time"] = json!(1_704_067_300.0);
    assert_eq!(texts(&turns(&json!([conversation]))), ["我只喝绿茶", "An answer that was regenerated"]);
}

#[test]
fn only_words_of_participants_are_read() {
    let voice = json!({"content_type": "multimodal_text", "parts": [
        {"content_type": "audio_transcription", "text": "spoken words"},
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
    ]});
    let mut hidden = message("h", "user", text("hidden"));
    hidden["metadata"]["is_visually_hidden_from_conversation"] = json!(true);
    let mut call = message("t", "assistant", text("search(\"x\")"));
    call["recipient"] = json!("browser");
    let thoughts = message("th", "assistant", json!({"content_type": "thoughts", "thoughts": []}));
    let conversation = json!([{"id": "c", "current_node": "v", "mapping": {
        "h": node(hidden, None, &["t"]),
        "t": node(call, Some("h"), &["o"]),
        "o": node(message("o", "tool", text("result")), Some("t"), &["th"]),
        "th": node(thoughts, Some("o"), &["v"]),
        "v": node(message("v", "user", voice), Some("th"), &[]),
    }}]);
    assert_eq!(texts(&turns(&conversation)), ["spoken words"]);
}

#[test]
fn a_circle_of_parents_ends() {
    let conversation = json!([{"current_node": "a", "mapping": {
        "a": node(message("a", "user", text("one")), Some("b"), &[]),
        "b": node(message("b", "user", text("two")), Some("a"), &[]),
    }}]);
    assert_eq!(texts(&turns(&conversation)), ["two", "one"]);
}

#[test]
fn a_broken_conversation_does_not_stop_the_others() {
    let conversations = json!([conversation(), {"title": "broken", "mapping": 1}, conversation()]);
    let rows: Vec<Row> = rows(std::io::Cursor::new(conversations.to_string())).map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[1].place, "conversation 2 (broken)");
    assert!(rows[1].turns.is_err());
}

#[test]
fn another_file_is_refused_with_what_it_contains() {
    for (file, seen) in [
        ("[{\"uuid\": \"a\", \"size\": 1}]", "a list of objects with the keys size, uuid"),
        ("{\"id\": \"x\", \"email\": 1}", "objects with the keys email, id"),
        ("", "an empty file"),
        ("hello", "no JSON"),
        ("[1]", "plain values"),
    ] {
        let last = rows(file.as_bytes()).last().unwrap().unwrap_err().to_string();
        assert!(last.contains("\"mapping\"") && last.contains(seen), "{file}: {last}");
    }
    assert_eq!(rows("[]".as_bytes()).count(), 0);
}
