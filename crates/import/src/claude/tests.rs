use super::*;

fn turns(conversations: &Value) -> Vec<ImportedTurn> {
    rows(std::io::Cursor::new(conversations.to_string())).flat_map(|row| row.unwrap().turns.unwrap()).collect()
}

#[test]
fn messages_of_both_sides_are_read() {
    let turns = turns(&json!([{
        "uuid": "c1", "name": "Tea", "created_at": "2024-01-01T00:00:00Z", "account": {"uuid": "me"},
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "我只喝绿茶", "created_at": "2024-01-01T00:00:01.5Z",
             "content": [{"type": "text", "text": "我只喝绿茶"}],
             "attachments": [{"file_name": "menu.txt", "extracted_content": "secret menu"}], "files": []},
            {"uuid": "m2", "sender": "assistant", "text": "all of it", "created_at": "2024-01-01T00:00:09Z",
             "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "name": "search", "input": {}},
                {"type": "tool_result", "content": []},
                {"type": "text", "text": "Green tea."},
             ]},
            {"uuid": "m3", "sender": "human", "text": "old format", "created_at": "2024-01-01T00:00:10Z"},
            {"uuid": "m4", "sender": "human", "text": "", "content": []},
        ],
    }]));
    let texts: Vec<&str> = turns.iter().map(|turn| turn.keys["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["我只喝绿茶", "Let me look.\nGreen tea.", "old format"]);
    let keys = &turns[0].keys;
    assert_eq!((&keys["role"], &keys["id"], &keys["session"]), (&json!("user"), &json!("m1"), &json!("c1")));
    assert_eq!(keys["time"], "2024-01-01T00:00:01.5Z");
    assert_eq!(keys["metadata"], json!({"title": "Tea", "attachments": ["menu.txt"]}));
}

#[test]
fn another_file_is_refused() {
    let error = rows("[{\"mapping\": {}}]".as_bytes()).last().unwrap().unwrap_err().to_string();
    assert!(error.contains("\"chat_messages\"") && error.contains("mapping"), "{error}");
}
