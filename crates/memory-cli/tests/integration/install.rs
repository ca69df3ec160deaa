//! `memory install`.

use std::fs;

use serde_json::Value;

use crate::cli_fixture::{CliFixture, CommandOutput};

/// Runs `memory install` with a home in the folder of the fixture.
fn install(cli: &CliFixture, arguments: &[&str]) -> CommandOutput {
    let mut command = cli.command(&["install"]);
    for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"] {
        command.env_remove(variable);
    }
    CommandOutput::of(command.args(arguments).env("HOME", cli.path("home")).output().unwrap())
}

#[test]
fn nothing_is_written_without_apply() {
    let cli = CliFixture::new();
    let shown = install(&cli, &["claude-code", "--user", "lin"]).ok();
    assert!(shown.contains("+++ ") && shown.contains("mcpServers") && shown.contains("Add --apply"), "{shown}");
    assert!(!cli.path("home").exists());
}

#[test]
fn applied_hooks_work() {
    let cli = CliFixture::new();
    let applied = install(&cli, &["claude-code", "--db", "m.db", "--user", "lin", "--apply"]).ok();
    assert!(applied.contains("Written.") && applied.contains("Restart the agent"), "{applied}");
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(cli.path("home/.claude/settings.json")).unwrap()).unwrap();
    let command = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().unwrap();
    let input = r#"{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "I moved to Lisbon."}"#;
    let pipeline = format!("printf '%s' '{input}' | {command}");
    let answer = std::process::Command::new("sh").args(["-c", &pipeline]).output().unwrap();
    assert_eq!(String::from_utf8(answer.stdout).unwrap().trim(), "{}");
    let stats = cli.run(&["stats", "--db", "m.db", "--user", "lin", "--json"]).json();
    assert_eq!(stats["records"], 1);

    assert!(
        install(&cli, &["claude-code", "--db", "m.db", "--user", "lin", "--apply"]).ok().contains("Nothing changes")
    );
    install(&cli, &["claude-code", "--uninstall", "--apply"]).ok();
    for file in [".claude.json", ".claude/settings.json", ".claude/CLAUDE.md"] {
        assert!(!cli.path("home").join(file).exists(), "{file}");
    }
}

#[test]
fn a_broken_file_stops_everything() {
    let cli = CliFixture::new();
    fs::create_dir_all(cli.path("home/.claude")).unwrap();
    let settings = cli.write("home/.claude/settings.json", "{\n  \"hooks\": {,\n}\n");
    install(&cli, &["claude-code", "--apply"]).assert_fails(&["settings.json", "line 2", "correct it first"]);
    assert_eq!(fs::read_to_string(settings).unwrap(), "{\n  \"hooks\": {,\n}\n");
    assert!(!cli.path("home/.claude.json").exists());
}

#[test]
fn parts_and_reports() {
    let cli = CliFixture::new();
    let report = install(&cli, &["codex", "--only", "mcp", "--json", "--apply"]).json();
    assert_eq!(report["files"].as_array().unwrap().len(), 1);
    assert_eq!((&report["files"][0]["changed"], &report["applied"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(cli.path("home/.codex/config.toml").exists());
    install(&cli, &["gemini", "--only", "hooks"]).assert_fails(&["no file for that"]);
    install(&cli, &["codex", "--project", "missing"]).assert_fails(&["missing is not a folder"]);
    install(&cli, &["codex", "--server", "https://m.example"]).assert_fails(&["--server must begin with http://"]);
    install(&cli, &["emacs"]).assert_fails(&["claude-code", "vscode"]);
}

#[test]
fn what_the_user_has_under_the_same_name_stays() {
    let cli = CliFixture::new();
    fs::create_dir_all(cli.path("home/.continue/rules")).unwrap();
    let own = r#"{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "server-memory"]}}}"#;
    let servers = cli.write("home/.claude.json", own);
    let rule = cli.write("home/.continue/rules/memory.md", "Answer briefly.\n");
    install(&cli, &["claude-code", "--apply"]).assert_fails(&[".claude.json", "exists already", "rename or remove"]);
    install(&cli, &["continue", "--apply"]).assert_fails(&["memory.md", "exists already", "rename it first"]);
    for agent in ["claude-code", "continue"] {
        install(&cli, &[agent, "--uninstall", "--apply"]).ok();
    }
    assert_eq!(fs::read_to_string(servers).unwrap(), own);
    assert_eq!(fs::read_to_string(rule).unwrap(), "Answer briefly.\n");
    assert!(!cli.path("home/.claude/settings.json").exists(), "nothing is written if one file is refused");
}

#[test]
fn wrong_names_are_refused() {
    let cli = CliFixture::new();
    install(&cli, &["codex", "--user", ""]).assert_fails(&["user"]);
    let server = ["--server", "http://127.0.0.1:8765", "--key-env", "OTHER"];
    install(&cli, &[&["codex"], &server[..]].concat()).assert_fails(&["MEMORY_TOKEN", "OTHER", "--only mcp"]);
    assert!(install(&cli, &[&["gemini"], &server[..]].concat()).ok().contains("Bearer ${OTHER}"));
}
