use std::fs;

use super::*;

fn read(lines: &[Value]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rollout-2026-03-01T20-00-00-0199.jsonl");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&path, text.join("\n")).unwrap();
    let rows = rows(&path).unwrap().0;
    rows.flat_map(|row| row.unwrap().turns.unwrap()).map(|turn| Value::Object(turn.keys)).collect()
}

fn item(payload: Value) -> Value {
    json!({"timestamp": "2026-03-01T20:00:00.000Z", "type": "response_item", "payload": payload})
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

#[test]
fn prompts_and_the_last_reply_are_read() {
    let turns = read(&[
        json!({"timestamp": "x", "type": "session_meta", "payload": {"id": "0199", "cwd": "/p", "cli_version": "0.1"}}),
        item(message("developer", "input_text", "instructions")),
        item(message("user", "input_text", "# AGENTS.md instructions for /p")),
        item(message("user", "input_text", "<environment_context>\n<cwd>/p</cwd>\n</environment_context>")),
        item(message("user", "input_text", "fix the parser")),
        json!({"type": "event_msg", "payload": {"type": "user_message", "message": "fix the parser"}}),
        item(json!({"type": "reasoning", "summary": []})),
        item(message("assistant", "output_text", "Looking.")),
        item(json!({"type": "function_call", "name": "shell", "arguments": "{}"})),
        item(message("assistant", "output_text", "修好了。")),
    ]);
    assert_eq!(turns.len(), 2);
    let expected = json!({
        "text": "fix the parser", "role": "user", "session": "0199", "id": "0199/5", "sequence": 5,
        "time": "2026-03-01T20:00:00.000Z",
    });
    assert_eq!(turns[0], expected);
    assert_eq!((&turns[1]["text"], &turns[1]["role"]), (&json!("修好了。"), &json!("assistant")));
}

#[test]
fn older_files_have_the_items_on_the_lines() {
    let turns = read(&[
        json!({"id": "old", "timestamp": "2025-05-01T00:00:00Z", "instructions": null}),
        message("user", "input_text", "hello"),
        json!({"record_type": "state"}),
    ]);
    assert_eq!((&turns[0]["text"], &turns[0]["session"]), (&json!("hello"), &json!("old")));
}
