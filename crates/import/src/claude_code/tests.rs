use std::fs;

use serde_json::json;

use super::*;

/// Reads a transcript with these lines. Returns role and text of each turn.
fn read(lines: &[Value]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("-home-lin-project");
    fs::create_dir(&project).unwrap();
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(project.join("5f0c.jsonl"), text.join("\n")).unwrap();
    let rows = rows(folder.path()).unwrap().0;
    let turns = rows.flat_map(|row| row.unwrap().turns.unwrap());
    let field = |turn: &crate::ImportedTurn, key: &str| turn.keys[key].as_str().unwrap().to_owned();
    turns.map(|turn| (field(&turn, "role"), field(&turn, "text"))).collect()
}

fn line(kind: &str, content: Value) -> Value {
    json!({
        "type": kind, "uuid": "u", "sessionId": "5f0c", "timestamp": "2026-03-01T20:00:00.000Z", "isSidechain": false,
        "cwd": "/home/lin/project", "message": {"role": kind, "content": content},
    })
}

fn with(mut line: Value, key: &str) -> Value {
    line[key] = json!(true);
    line
}

#[test]
fn prompts_and_the_last_reply_are_read() {
    let turns = read(&[
        json!({"type": "summary", "summary": "Parser", "leafUuid": "x"}),
        line("user", json!("fix the parser")),
        line("assistant", json!([{"type": "thinking", "thinking": "hm"}])),
        line("assistant", json!([{"type": "text", "text": "Let me look."}])),
        line("assistant", json!([{"type": "tool_use", "id": "t", "name": "Read", "input": {}}])),
        line("user", json!([{"type": "tool_result", "tool_use_id": "t", "content": "fn main() {}"}])),
        line("assistant", json!([{"type": "text", "text": "It is fixed."}])),
        line("user", json!([{"type": "text", "text": "谢谢，再写个测试"}])),
    ]);
    let expected = [("user", "fix the parser"), ("assistant", "It is fixed."), ("user", "谢谢，再写个测试")];
    assert_eq!(turns, expected.map(|(role, text)| (role.to_owned(), text.to_owned())));
}

#[test]
fn what_the_user_has_not_written_is_skipped() {
    let turns = read(&[
        with(line("user", json!("meta")), "isMeta"),
        with(line("user", json!("sub-agent")), "isSidechain"),
        with(line("user", json!("summary")), "isCompactSummary"),
        line("user", json!("<command-name>/clear</command-name>")),
        line("user", json!("<local-command-stdout>x</local-command-stdout>")),
        line("user", json!("[Request interrupted by user]")),
        line("system", json!("notice")),
        line("user", json!("<system-reminder>x</system-reminder>real words")),
    ]);
    assert_eq!(turns, [("user".to_owned(), "real words".to_owned())]);
}

#[test]
fn ids_sessions_and_bad_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, format!("{}\n{{\n", line("user", json!("hello")))).unwrap();
    let rows: Vec<_> = rows(&path).unwrap().0.map(Result::unwrap).collect();
    let turn = &rows[0].turns.as_ref().unwrap()[0];
    assert_eq!((&turn.keys["id"], &turn.keys["session"]), (&json!("u"), &json!("5f0c")));
    assert_eq!(turn.keys["time"], "2026-03-01T20:00:00.000Z");
    assert_eq!(rows[1].place, "line 2");
    assert!(rows[1].turns.is_err());
    assert!(super::rows(&folder.path().join("none")).is_err());
}
