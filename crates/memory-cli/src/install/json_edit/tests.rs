use serde_json::json;

use super::*;

fn field() -> JsonEntry {
    JsonEntry::Field {
        path: vec!["mcpServers", "memory"],
        value: json!({ "command": "memory", "args": ["mcp", "--db", "a"] }),
    }
}

fn element(command: &str) -> JsonEntry {
    JsonEntry::Element {
        path: vec!["hooks", "Stop"],
        value: json!({ "hooks": [{ "type": "command", "command": command }] }),
        marker: " hook stop ".into(),
    }
}

const SETTINGS: &str = r#"{
  // What I like.
  "model": "opus", /* best */
  "mcpServers": {
    "docs": { "command": "npx", "args": ["docs"] }
  },
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "say done" }] }
    ]
  },
  "last": [1, 2,],
}
"#;

#[test]
fn comments_order_and_other_keys_stay() {
    let new = install(SETTINGS, &[field(), element("m hook stop --db a")]).unwrap();
    for line in SETTINGS.lines().filter(|line| line.contains("//") || line.contains("/*") || line.contains("last")) {
        assert!(new.contains(line), "{line} is not in:\n{new}");
    }
    let value = parse(&new).unwrap().to_serde_value().unwrap();
    assert_eq!(value["mcpServers"]["memory"]["args"], json!(["mcp", "--db", "a"]));
    assert_eq!(value["mcpServers"]["docs"]["command"], "npx");
    assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 2);
}

#[test]
fn a_second_run_changes_nothing_and_a_changed_entry_is_replaced() {
    let entries = [field(), element("m hook stop --db a")];
    let new = install(SETTINGS, &entries).unwrap();
    assert_eq!(install(&new, &entries).unwrap(), new);
    let moved = install(&new, &[field(), element("m hook stop --db b")]).unwrap();
    let hooks = parse(&moved).unwrap().to_serde_value().unwrap()["hooks"]["Stop"].clone();
    assert_eq!(hooks[1]["hooks"][0]["command"], "m hook stop --db b");
    assert_eq!(hooks.as_array().unwrap().len(), 2);
}

#[test]
fn uninstalling_gives_back_the_text() {
    let entries = [field(), element("m hook stop --db a")];
    for old in [
        SETTINGS,
        "{\n  \"a\": 1\n}\n",
        "{\n\t\"mcpServers\": {\n\t\t\"docs\": {}\n\t}\n}",
        "{\r\n  \"a\": {}\r\n}\r\n",
        "{\"a\":1}",
        "// only a comment\n{\n  \"b\": [] // end\n}\n",
    ] {
        let new = install(old, &entries).unwrap();
        assert_ne!(new, old);
        let value = |text: &str| parse(text).unwrap().to_serde_value().unwrap();
        let back = uninstall(&new, &entries).unwrap();
        assert_eq!(value(&back), value(old), "{new}");
        assert_eq!(
            back.lines().filter(|line| line.contains("//")).count(),
            old.lines().filter(|l| l.contains("//")).count()
        );
    }
}

#[test]
fn uninstalling_from_a_multi_line_file_gives_back_its_bytes() {
    let entries = [field(), element("m hook stop --db a")];
    for old in [SETTINGS, "{\n  \"a\": 1\n}\n", "{\n\t\"mcpServers\": {\n\t\t\"docs\": {}\n\t}\n}"] {
        assert_eq!(uninstall(&install(old, &entries).unwrap(), &entries).unwrap(), old);
    }
}

#[test]
fn nothing_is_left_of_a_new_file() {
    let version = JsonEntry::Required { path: vec!["version"], value: json!(1) };
    let entries = [version, element("m hook stop --db a")];
    for old in ["", "{}", " \n"] {
        let new = install(old, &entries).unwrap();
        assert_eq!(parse(&new).unwrap().to_serde_value().unwrap()["version"], 1);
        assert_eq!(uninstall(&new, &entries).unwrap(), "", "{new}");
    }
}

#[test]
fn a_server_of_another_program_with_the_same_name_stays() {
    let old = r#"{
  "mcpServers": { "memory": { "command": "npx", "args": ["-y", "server-memory"] } }
}
"#;
    let error = install(old, &[field()]).unwrap_err().to_string();
    assert!(error.contains("\"mcpServers.memory\" exists already"), "{error}");
    assert_eq!(uninstall(old, &[field()]).unwrap(), old);
}

#[test]
fn a_hook_of_the_user_in_the_same_group_stays() {
    let old = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [{ "command": "say done" }, { "type": "command", "command": "m hook stop --db a" }] }
    ]
  }
}
"#;
    let commands = |text: &str| {
        let hooks = parse(text).unwrap().to_serde_value().unwrap()["hooks"]["Stop"].clone();
        let groups = hooks.as_array().unwrap().clone();
        let hooks: Vec<Value> = groups.iter().flat_map(|group| group["hooks"].as_array().unwrap().clone()).collect();
        hooks.iter().map(|hook| hook["command"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(commands(&uninstall(old, &[element("m hook stop --db a")]).unwrap()), ["say done"]);
    let moved = install(old, &[element("m hook stop --db b")]).unwrap();
    assert_eq!(commands(&moved), ["say done", "m hook stop --db b"]);
    assert_eq!(install(&moved, &[element("m hook stop --db b")]).unwrap(), moved);
}

#[test]
fn files_that_cannot_be_changed_are_refused() {
    let error = |text: &str| format!("{:#}", install(text, &[field()]).unwrap_err());
    assert!(error("{\n  \"a\": \n").contains("line 3"), "{}", error("{\n  \"a\": \n"));
    assert!(error("[1]").contains("not a JSON object"));
    assert!(error(r#"{"mcpServers": []}"#).contains("\"mcpServers\" is not an object"));
    let error = install(r#"{"hooks": {"Stop": 1}}"#, &[element("m hook stop x")]).unwrap_err().to_string();
    assert!(error.contains("\"Stop\" is not a list"), "{error}");
}
