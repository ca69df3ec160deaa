//! `memory review`.

use serde_json::Value;

use crate::cli_fixture::CliFixture;

const REVIEW_FACTS: &[(&str, &str)] = &[("MEMORY_DIGEST", "rules"), ("MEMORY_REVIEW", "facts=review")];

/// Returns a fixture in which three facts wait.
fn fixture() -> CliFixture {
    let cli = CliFixture::new();
    for (time, text) in [(1, "I live in Porto."), (2, "我对海鲜过敏。"), (3, "I'm allergic to walnuts.")] {
        let time = format!("2026-03-0{time}");
        cli.run_with(REVIEW_FACTS, &["add", text, "--user", "lin", "--time", &time]).ok();
    }
    cli
}

fn waiting(cli: &CliFixture, arguments: &[&str]) -> Vec<Value> {
    let page = cli.run(&[&["review", "list", "--user", "lin", "--json"], arguments].concat()).json();
    page["pending"].as_array().unwrap().clone()
}

fn id(pending: &Value) -> &str {
    pending["record"]["id"].as_str().unwrap()
}

fn values(cli: &CliFixture) -> Vec<String> {
    let facts = cli.run(&["facts", "--user", "lin", "--json"]).json();
    let value = |fact: &Value| fact["metadata"]["value"].as_str().unwrap().to_owned();
    facts.as_array().unwrap().iter().map(value).collect()
}

#[test]
fn memories_are_listed_accepted_rejected_and_edited() {
    let cli = fixture();
    assert!(values(&cli).is_empty());
    let table = cli.run(&["review", "list", "--user", "lin", "--timezone", "UTC", "-n", "2"]).ok();
    for text in ["2026-03-01", "rule_facts", "en.", "I live in Porto.", "我对海鲜过敏。", "2 of 3 shown; --after"]
    {
        assert!(table.contains(text), "{text}: {table}");
    }
    let [home, seafood, walnuts] = waiting(&cli, &[]).try_into().unwrap();
    assert_eq!(waiting(&cli, &["--since", "2026-03-02", "--until", "2026-03-03"]), std::slice::from_ref(&seafood));
    assert_eq!(waiting(&cli, &["--source", "summaries"]), [] as [Value; 0]);
    let accepted = cli.run(&["review", "accept", id(&seafood), "--user", "lin"]).ok();
    assert!(accepted.contains("1 memory accepted"), "{accepted}");
    let edited = cli.run(&["review", "edit", id(&home), "I live in Braga", "--user", "lin"]).ok();
    assert!(edited.contains("Braga"), "{edited}");
    let rejected = cli.run(&["review", "reject", "--all", "--user", "lin", "--reason", "no"]).ok();
    assert!(rejected.contains("1 memory rejected"), "{rejected}");
    assert_eq!(values(&cli), ["Braga", "海鲜"]);
    let hits = cli.run(&["search", "对什么过敏？", "--user", "lin", "--kind", "fact", "--json"]).json();
    assert_eq!(hits["hits"][0]["record"]["id"], seafood["record"]["id"]);
    let restore = rejected.split('`').nth(1).unwrap().strip_prefix("memory ").unwrap();
    let restored = cli.run(&restore.split(' ').collect::<Vec<_>>()).ok();
    assert!(restored.contains("1 record restored"), "{restored}");
    assert_eq!(id(&waiting(&cli, &[])[0]), id(&walnuts));
    cli.run(&["review", "accept", "--all", "--kind", "fact", "--user", "lin", "--json"]).ok();
    assert_eq!(values(&cli).len(), 3);
    let none = cli.run(&["review", "list", "--user", "lin"]).ok();
    assert!(none.contains("no memories wait"), "{none}");
}

#[test]
fn imports_wait_and_copies_keep_the_state() {
    let cli = CliFixture::new();
    let file = cli.write("turns.jsonl", crate::cli_fixture::TURNS);
    let file = file.to_str().unwrap();
    let report = cli.run(&["import", file, "--review", "imports=review"]).ok();
    assert!(report.contains("4 records wait for `memory review`"), "{report}");
    assert_eq!(waiting(&cli, &["--source", "imports"]).len(), 3);
    let again = cli.run(&["import", file, "--review", "imports=review", "--update", "--json"]).ok();
    assert!(again.contains("\"added\":0,"), "{again}");
    assert_eq!(waiting(&cli, &["--source", "imports"]).len(), 3);
    let exported = cli.run(&["export"]).ok();
    let other = CliFixture::new();
    other.import(&other.write("all.jsonl", exported));
    assert_eq!(waiting(&other, &[]).len(), 3, "an export contains the state");
    cli.run(&["copy", "--from", "memory.db", "--to", "copy.db"]).ok();
    let copied = cli.run(&["review", "list", "--user", "lin", "--db", "copy.db", "--json"]).json();
    assert_eq!(copied["total"], 3);
    let refused = cli.run(&["import", file, "--review", "imports=reject", "--db", "empty.db"]);
    refused.assert_fails(&["rejects imports"]);
}

#[test]
fn wrong_arguments_are_explained() {
    let cli = fixture();
    let fact = waiting(&cli, &[]).remove(0);
    cli.run(&["review", "accept", id(&fact), "--user", "lin"]).ok();
    for (arguments, expected) in [
        (vec!["review", "accept", id(&fact), "--user", "lin"], "is not pending"),
        (vec!["review", "reject", id(&fact), "--user", "lin"], "is not pending"),
        (vec!["review", "edit", id(&fact), "Lisbon", "--user", "lin"], "not pending"),
        (vec!["review", "edit", id(&fact), "Lisbon", "--user", "mo"], "not within"),
        (vec!["review", "accept", "no-such-id", "--user", "lin"], "nothing was accepted"),
        (vec!["review", "accept", id(&fact)], "--user"),
        (vec!["review", "accept", id(&fact), "--kind", "fact", "--user", "lin"], "need --all"),
        (vec!["review", "accept", "--user", "lin"], "<IDS>"),
        (vec!["review", "list", "--source", "rules"], "rule_facts"),
        (vec!["import", "x.jsonl", "--review", "imports"], "SOURCE=MODE"),
    ] {
        cli.run(&arguments).assert_fails(&[expected]);
    }
}
