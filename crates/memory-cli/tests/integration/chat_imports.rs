//! Imports of chats and notes of other programs: ChatGPT, Claude, Claude Code, Codex, WhatsApp, Markdown.

use std::fs;

use serde_json::{Value, json};

use crate::cli_fixture::CliFixture;

/// Imports a file of the fixture for Lin. Returns the report and the errors on standard error.
fn import(cli: &CliFixture, name: &str, more: &[&str]) -> (Value, String) {
    let path = cli.path(name);
    let arguments = ["import", path.to_str().unwrap(), "--user", "lin", "--timezone", "UTC", "--json"];
    let result = cli.run(&[&arguments, more].concat());
    let report = result.stdout.lines().last().unwrap_or_else(|| panic!("{result:?}"));
    (serde_json::from_str(report).unwrap(), result.stderr)
}

fn added_unchanged_bad(report: &Value) -> [u64; 3] {
    ["added", "unchanged", "bad_lines"].map(|key| report[key].as_u64().unwrap())
}

/// Returns the first hit of a query.
fn first(cli: &CliFixture, query: &str) -> Value {
    cli.run(&["search", query, "--user", "lin", "--json"]).json()["hits"][0]["record"].clone()
}

fn chatgpt_message(id: &str, role: &str, text: &str, parent: &str) -> Value {
    let content = json!({"content_type": "text", "parts": [text]});
    let message = json!({"id": id, "author": {"role": role}, "create_time": 1_772_395_200, "content": content});
    json!({"id": id, "message": message, "parent": parent, "children": []})
}

#[test]
fn exports_of_chatgpt_and_claude_are_recognised_and_imported_once() {
    let cli = CliFixture::new();
    let chatgpt = json!([
        {"title": "Holiday", "conversation_id": "c1", "current_node": "b", "mapping": {
            "a": chatgpt_message("a", "user", "我十月要去冰岛自驾", ""),
            "b": chatgpt_message("b", "assistant", "冰岛十月路面会结冰。", "a"),
        }},
        {"title": "Broken", "mapping": []},
    ]);
    cli.write("conversations.json", chatgpt.to_string());
    let (report, errors) = import(&cli, "conversations.json", &[]);
    assert_eq!(added_unchanged_bad(&report), [2, 0, 1]);
    assert!(errors.contains("--format chatgpt") && errors.contains("conversation 2 (Broken)"), "{errors}");
    assert_eq!(added_unchanged_bad(&import(&cli, "conversations.json", &[]).0), [0, 2, 1]);
    let found = first(&cli, "自驾去哪里");
    assert_eq!((&found["text"], &found["scope"]["session"]), (&json!("我十月要去冰岛自驾"), &json!("c1")));
    assert_eq!(
        (&found["occurred_at"], &found["metadata"]["title"]),
        (&json!("2026-03-01T20:00:00Z"), &json!("Holiday"))
    );

    let claude = json!([{"uuid": "d1", "name": "Bread", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "My sourdough never rises.", "created_at": "2026-03-02T08:00:00Z"},
        {"uuid": "m2", "sender": "assistant", "text": "Feed it twice a day.", "created_at": "2026-03-02T08:00:05Z"},
    ]}]);
    cli.write("claude.json", claude.to_string());
    let (report, errors) = import(&cli, "claude.json", &[]);
    assert_eq!(added_unchanged_bad(&report), [2, 0, 0]);
    assert!(errors.contains("--format claude"), "{errors}");
    assert_eq!(first(&cli, "sourdough")["scope"]["session"], "d1");
}

#[test]
fn a_cut_export_keeps_the_conversations_before_the_cut() {
    let cli = CliFixture::new();
    let conversation = json!({"title": "A", "conversation_id": "c1", "current_node": "a", "mapping": {
        "a": chatgpt_message("a", "user", "The spare key is under the fern.", ""),
    }});
    cli.write("conversations.json", format!("[{conversation}, {{\"title\": \"B\", \"mapp"));
    let result = cli.run(&["import", "conversations.json", "--user", "lin"]);
    result.assert_fails(&["conversations.json", "conversation 2", "the file ends within it"]);
    assert_eq!(first(&cli, "spare key")["text"], "The spare key is under the fern.");
}

#[test]
fn another_container_is_an_error_that_says_what_it_contains() {
    let cli = CliFixture::new();
    cli.write("user.json", r#"{"id": "x", "email": "lin@example.org"}"#);
    let import = |name: &str| cli.run(&["import", name, "--format", "chatgpt", "--user", "lin"]);
    import("user.json").assert_fails(&["user.json", "no conversation", "the keys email, id"]);
    fs::create_dir(cli.path("photos")).unwrap();
    cli.write("photos/list.json", "[]");
    import("photos").assert_fails(&["no conversations.json", "list.json"]);
}

/// A prompt that was stored by the hooks, with what the agent adds, and a reply with thoughts.
#[test]
fn only_own_words_are_imported() {
    let cli = CliFixture::new();
    let turns = json!([
        {"role": "user", "text": "<system-reminder>a dentist</system-reminder>\nThe staging port is 5544."},
        {"role": "assistant", "text": "<think>Port of staging.</think>\n记住了。"},
        {"role": "user", "text": "[Request interrupted by user]"},
    ]);
    cli.write("turns.json", serde_json::to_string_pretty(&turns).unwrap());
    let (report, errors) = import(&cli, "turns.json", &[]);
    assert_eq!((added_unchanged_bad(&report), &report["passed_over"]), ([2, 0, 0], &json!(1)), "{errors}");
    assert_eq!(first(&cli, "staging port")["text"], "The staging port is 5544.");
    assert_eq!(first(&cli, "记住了")["text"], "记住了。");
}

#[test]
fn transcripts_of_coding_agents_are_imported() {
    let cli = CliFixture::new();
    fs::create_dir_all(cli.path("projects/-home-lin-app")).unwrap();
    let line = |kind: &str, id: &str, content: Value| {
        let message = json!({"role": kind, "content": content});
        json!({"type": kind, "uuid": id, "sessionId": "s1", "timestamp": "2026-03-01T20:00:00Z", "message": message})
    };
    let lines = [
        line("user", "u1", json!("Deploys go through the blue cluster.")),
        line("assistant", "a1", json!([{"type": "text", "text": "Let me check."}])),
        line("user", "u2", json!([{"type": "tool_result", "content": "ok"}])),
        line("assistant", "a2", json!([{"type": "text", "text": "Noted."}])),
    ];
    cli.write("projects/-home-lin-app/s1.jsonl", lines.map(|line| line.to_string()).join("\n"));
    let (report, errors) = import(&cli, "projects", &["--format", "claude-code"]);
    assert_eq!(added_unchanged_bad(&report), [2, 0, 0], "{errors}");
    assert_eq!(first(&cli, "which cluster for deploys")["id"], first(&cli, "blue cluster")["id"]);

    let message = |role: &str, kind: &str, text: &str| {
        let payload = json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        json!({"timestamp": "2026-03-01T20:00:00Z", "type": "response_item", "payload": payload})
    };
    let lines = [
        json!({"timestamp": "2026-03-01T20:00:00Z", "type": "session_meta", "payload": {"id": "0199"}}),
        message("user", "input_text", "<environment_context>x</environment_context>"),
        message("user", "input_text", "数据库密码放在保险柜里"),
        message("assistant", "output_text", "好的。"),
    ];
    cli.write("rollout.jsonl", lines.map(|line| line.to_string()).join("\n"));
    let (report, _) = import(&cli, "rollout.jsonl", &["--format", "codex"]);
    assert_eq!(added_unchanged_bad(&report), [2, 0, 0]);
    assert_eq!(first(&cli, "密码在哪里")["scope"]["session"], "0199");
}

#[test]
fn a_whatsapp_chat_is_recognised() {
    let cli = CliFixture::new();
    let chat = "31/12/2025, 23:58 - Messages are end-to-end encrypted.\n31/12/2025, 23:59 - Anna: 我对花生过敏\n\
        01/01/2026, 00:01 - Lin: I bought the fireworks\nand the wine\n";
    cli.write("WhatsApp Chat with Anna.txt", chat);
    let (report, errors) = import(&cli, "WhatsApp Chat with Anna.txt", &["--me", "Lin", "--format", "whatsapp"]);
    assert_eq!(added_unchanged_bad(&report), [2, 0, 0], "{errors}");
    let (report, errors) = import(&cli, "WhatsApp Chat with Anna.txt", &[]);
    assert_eq!(added_unchanged_bad(&report), [0, 2, 0]);
    assert!(errors.contains("--format whatsapp"), "{errors}");
    let found = first(&cli, "fireworks");
    assert_eq!((&found["text"], &found["role"]), (&json!("I bought the fireworks\nand the wine"), &json!("user")));
    let found = first(&cli, "花生");
    assert_eq!((&found["speaker"], &found["role"]), (&json!("Anna"), &json!("participant")));
    assert_eq!(found["occurred_at"], "2025-12-31T23:59:00Z");
    cli.run(&["import", "x.jsonl", "--me", "Lin"]).assert_fails(&["x.jsonl"]);
}

#[test]
fn a_folder_of_notes_is_imported_and_updated() {
    let cli = CliFixture::new();
    fs::create_dir(cli.path("notes")).unwrap();
    cli.write("notes/bike.md", "---\ntitle: Bike\ndate: 2026-01-05\ntags: [bike]\n---\nThe frame number is 4711.\n");
    cli.write("notes/plain.md", "车胎压力两个半大气压\n");
    let (report, errors) = import(&cli, "notes", &["--format", "markdown", "--dry-run"]);
    assert_eq!(added_unchanged_bad(&report), [2, 0, 0], "{errors}");
    assert_eq!(added_unchanged_bad(&import(&cli, "notes", &["--format", "markdown"]).0), [2, 0, 0]);
    let found = first(&cli, "frame number");
    assert_eq!((&found["kind"], &found["tags"]), (&json!("note"), &json!(["bike"])));
    assert_eq!((&found["metadata"]["title"], &found["occurred_at"]), (&json!("Bike"), &json!("2026-01-05T00:00:00Z")));
    cli.write("notes/bike.md", "---\ntitle: Bike\ndate: 2026-01-05\n---\nThe frame number is 4712.\n");
    let (report, _) = import(&cli, "notes", &["--format", "markdown", "--update"]);
    assert_eq!((&report["updated"], &report["unchanged"]), (&json!(1), &json!(1)));
    cli.run(&["import", "-", "--format", "markdown"]).assert_fails(&["standard input"]);
}
