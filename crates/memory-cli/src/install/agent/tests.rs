use std::{collections::BTreeSet, fs, path::Path};

use jiff::Zoned;

use super::*;
use crate::install::setup::Connection;

const ALL_PARTS: [Part; 3] = [Part::Mcp, Part::Hooks, Part::Instructions];

fn by_command() -> Setup {
    let connection = Connection::Command { program: "/opt/bin/memory".into(), database: "/home/lin/memory.db".into() };
    Setup { connection, user: "lin".into() }
}

fn by_server() -> Setup {
    let connection = Connection::Server {
        program: "/opt/bin/memory".into(),
        url: "http://127.0.0.1:8765".into(),
        key_env: Some("MEMORY_TOKEN".into()),
    };
    Setup { connection, user: "lin".into() }
}

/// Installs into an empty home, and returns the texts of all files.
fn installed(agent: InstallAgent, setup: &Setup, folder: &Path) -> Vec<(String, String)> {
    let files = agent.files(&Places::in_home(folder), setup, &ALL_PARTS);
    files
        .iter()
        .map(|edit| {
            edit.plan(false).unwrap().write(&Zoned::now()).unwrap();
            let name = edit.path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&edit.path).unwrap())
        })
        .collect()
}

#[test]
fn each_agent_gets_its_files_and_loses_them_again() {
    for agent in InstallAgent::value_variants() {
        for setup in [by_command(), by_server()] {
            let folder = tempfile::tempdir().unwrap();
            let places = Places::in_home(folder.path());
            let files = installed(*agent, &setup, folder.path());
            for edit in agent.files(&places, &setup, &ALL_PARTS) {
                assert!(!edit.plan(false).unwrap().is_changed(), "{agent:?}: {}", edit.path.display());
                let removed = edit.plan(true).unwrap();
                assert_eq!(removed.new, None, "{agent:?}: {}", edit.path.display());
                removed.write(&Zoned::now()).unwrap();
                assert!(!edit.path.exists());
            }
            let names: BTreeSet<&String> = files.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), files.len(), "{agent:?} has a file twice");
        }
    }
}

#[test]
fn the_command_is_in_the_format_of_each_agent() {
    let mcp = |agent: InstallAgent| {
        let folder = tempfile::tempdir().unwrap();
        installed(agent, &by_command(), folder.path()).remove(0)
    };
    let arguments = json!(["mcp", "--db", "/home/lin/memory.db", "--user", "lin"]);
    for (agent, file, servers) in [
        (InstallAgent::ClaudeCode, ".claude.json", "mcpServers"),
        (InstallAgent::Cursor, ".cursor/mcp.json", "mcpServers"),
        (InstallAgent::Windsurf, ".codeium/windsurf/mcp_config.json", "mcpServers"),
        (InstallAgent::Gemini, ".gemini/settings.json", "mcpServers"),
    ] {
        let (name, text) = mcp(agent);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(name, file);
        assert_eq!(value[servers]["memory"]["command"], "/opt/bin/memory", "{agent:?}");
        assert_eq!(value[servers]["memory"]["args"], arguments, "{agent:?}");
    }
    let (_, text) = mcp(InstallAgent::Vscode);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["servers"]["memory"]["type"], "stdio");
    let (_, text) = mcp(InstallAgent::Opencode);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["mcp"]["memory"]["command"][1], "mcp");
    let (name, text) = mcp(InstallAgent::Codex);
    assert_eq!(name, ".codex/config.toml");
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["mcp_servers"]["memory"]["args"][4].as_str(), Some("lin"));
    let (name, text) = mcp(InstallAgent::Continue);
    assert_eq!(name, ".continue/mcpServers/memory.yaml");
    assert!(text.contains("    command: \"/opt/bin/memory\"\n    args:\n      - \"mcp\"\n"), "{text}");
}

#[test]
fn a_server_is_named_by_its_address_and_the_variable_of_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let claude = installed(InstallAgent::ClaudeCode, &by_server(), folder.path());
    let value: Value = serde_json::from_str(&claude[0].1).unwrap();
    let expected = json!({
        "type": "http",
        "url": "http://127.0.0.1:8765/mcp?user_id=lin",
        "headers": { "Authorization": "Bearer ${MEMORY_TOKEN}" },
    });
    assert_eq!(value["mcpServers"]["memory"], expected);
    let codex = installed(InstallAgent::Codex, &by_server(), folder.path());
    assert!(codex[0].1.contains("bearer_token_env_var = \"MEMORY_TOKEN\""), "{}", codex[0].1);
    assert!(codex[1].1.contains("hook stop --agent codex --server http://127.0.0.1:8765 --user lin"), "{}", codex[1].1);
    assert_eq!(InstallAgent::ClaudeDesktop.files(&Places::in_home(folder.path()), &by_server(), &ALL_PARTS), []);
}

#[test]
fn hooks_are_in_the_format_of_each_agent() {
    let folder = tempfile::tempdir().unwrap();
    let claude = installed(InstallAgent::ClaudeCode, &by_command(), folder.path());
    let value: Value = serde_json::from_str(&claude[1].1).unwrap();
    let names: Vec<&String> = value["hooks"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]);
    let hook = &value["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    let command = "/opt/bin/memory hook user-prompt --agent claude-code --db /home/lin/memory.db --user lin";
    assert_eq!(hook, &json!({ "type": "command", "command": command, "timeout": 5 }));
    let cursor = installed(InstallAgent::Cursor, &by_command(), folder.path());
    let value: Value = serde_json::from_str(&cursor[1].1).unwrap();
    assert_eq!(value["version"], 1);
    assert!(
        value["hooks"]["afterAgentResponse"][0]["command"].as_str().unwrap().contains(" hook stop --agent cursor ")
    );
}

#[test]
fn a_project_has_files_of_its_own() {
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut places = Places::in_home(home.path());
    places.project = Some(project.path().to_owned());
    for agent in [InstallAgent::ClaudeCode, InstallAgent::Codex, InstallAgent::Cursor, InstallAgent::Vscode] {
        let files = agent.files(&places, &by_command(), &ALL_PARTS);
        assert!(files.iter().all(|edit| edit.path.starts_with(project.path())), "{agent:?}: {files:?}");
    }
    let rules = InstallAgent::Cursor.files(&places, &by_command(), &[Part::Instructions]);
    assert!(rules[0].path.ends_with(".cursor/rules/memory.mdc"));
}
