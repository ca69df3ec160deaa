//! `memory audit`.

use serde_json::Value;

use crate::cli_fixture::{CliFixture, TURNS};

const USER: [(&str, &str); 1] = [("USER", "root")];

fn lines(output: &str) -> Vec<Value> {
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn list(cli: &CliFixture, arguments: &[&str]) -> Vec<Value> {
    lines(&cli.run(&[&["audit", "list", "--json"], arguments].concat()).ok())
}

fn actions(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect()
}

#[test]
fn commands_are_logged_once_the_log_has_begun() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    assert!(cli.run(&["audit", "list"]).ok().contains("memory audit start"));
    cli.run_with(&USER, &["audit", "start"]).ok();
    let added = cli.run_with(&USER, &["add", "家里的钥匙在门垫下面", "--user", "lin"]).ok();
    assert!(!added.is_empty());
    cli.run_with(&USER, &["forget", "1", "--user", "lin", "--yes"]);
    cli.run_with(&USER, &["export", "--user", "mo"]).ok();

    let entries = list(&cli, &["--limit", "100"]);
    let found = actions(&entries);
    assert_eq!(found.first(), Some(&"export"), "{entries:?}");
    assert_eq!(found.last(), Some(&"start"), "{entries:?}");
    assert!(found.contains(&"write"), "{entries:?}");
    for entry in entries.iter().filter(|entry| entry["operation"] != "background") {
        assert_eq!(entry["key"], "cli:root", "{entry}");
    }
    let exported = list(&cli, &["--action", "export"]);
    assert_eq!(exported[0]["scope"]["user"], "mo");
    assert_eq!(list(&cli, &["--user", "mo"]).len(), 1);
    assert_eq!(list(&cli, &["--key", "engine", "--action", "start"]).len(), 0);
    let all = cli.run(&["audit", "export"]).ok();
    assert!(!all.contains("钥匙"), "{all}");
    assert_eq!(lines(&all).len(), entries.len());
    let shown = cli.run(&["audit", "list"]).ok();
    assert!(shown.contains("cli:root") && shown.contains("user mo"), "{shown}");
}

#[test]
fn a_log_is_verified_against_a_noted_entry() {
    let cli = CliFixture::new();
    cli.run(&["audit", "verify"]).assert_fails(&["does not exist"]);
    cli.run(&["add", "before the log", "--user", "lin"]).ok();
    let unlogged = cli.run(&["audit", "verify"]);
    assert!(!unlogged.success && unlogged.stdout.contains("there is no log"), "{unlogged:?}");
    cli.run(&["audit", "start"]).ok();
    let noted = cli.run(&["audit", "head"]).ok();
    let noted = noted.trim();
    assert!(noted.starts_with("1:"), "{noted}");
    cli.run(&["add", "one", "--user", "lin"]).ok();
    let verified = cli.run(&["audit", "verify", "--expect", noted]).ok();
    assert!(verified.contains("the log is intact"), "{verified}");
    let other = format!("2{}", &noted[1..]);
    let failed = cli.run(&["audit", "verify", "--expect", &other]);
    assert!(!failed.success && failed.stdout.contains("entry 2 is not the expected one"), "{failed:?}");
    cli.run(&["audit", "verify", "--expect", "latest"]).assert_fails(&["SEQUENCE:HASH"]);
}

#[test]
fn old_entries_are_pruned_for_the_whole_tenant() {
    let cli = CliFixture::new();
    cli.run(&["audit", "start"]).ok();
    cli.run(&["add", "one", "--user", "lin"]).ok();
    cli.run(&["audit", "prune", "--keep-days", "1", "--user", "lin"]).assert_fails(&["leave out --user"]);
    cli.run(&["audit", "prune"]).assert_fails(&["--before"]);
    assert_eq!(cli.run(&["audit", "prune", "--keep-days", "1", "--json"]).json()["removed"], 0);
    let pruned = cli.run(&["audit", "prune", "--before", "2999-01-01", "--json"]).json();
    assert!(pruned["removed"].as_u64().unwrap() >= 2, "{pruned}");
    assert_eq!(actions(&list(&cli, &[])), ["prune"]);
    assert!(cli.run(&["audit", "verify"]).ok().contains("were pruned"));
}
