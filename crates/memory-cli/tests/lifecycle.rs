//! The life of a memory at the command line: what is made of it, what is taken back and brought back, branches, what
//! was given up, and that all of it outlives an export.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use desk::Desk;
use memory_engine::{
    Clock, EnrichmentOptions, Error, ErrorKind, MemoryEngine, Record, Scope, SystemClock,
    enrichment::{FactExtractor, Facts, Locale},
    testing::ManualClock,
};
use serde_json::Value;

/// A line of a conversation of Lin's.
fn line(session: &str, sequence: i64, role: &str, text: &str) -> String {
    let line = serde_json::json!({
        "user": "lin", "session": session, "id": format!("{session}{sequence}"), "sequence": sequence, "role": role,
        "time": format!("2026-03-0{}T20:{sequence:02}:00", session.len()), "text": text,
    });
    format!("{line}\n")
}

/// A conversation, and one a day later.
fn story() -> String {
    [
        line("a", 1, "user", "I live in Porto."),
        line("a", 2, "assistant", "Porto is lovely."),
        line("a", 3, "user", "我对海鲜过敏"),
        line("a", 4, "assistant", "记住了，不点虾。"),
        line("bb", 1, "user", "I live in Lisbon now."),
        line("bb", 2, "assistant", "Lisbon it is."),
    ]
    .concat()
}

/// A desk with a store to which all of it was told.
fn imported_story() -> Desk {
    let desk = Desk::new();
    desk.write("story.jsonl", story());
    desk.run(&["import", "story.jsonl", "--digest", "rules"]).ok();
    desk
}

fn shown(desk: &Desk, arguments: &[&str]) -> Vec<String> {
    let facts = desk.run(&[&["facts", "--user", "lin", "--timezone", "UTC", "--json"], arguments].concat()).json();
    facts.as_array().unwrap().iter().map(|fact| fact["shown"].as_str().unwrap().to_owned()).collect()
}

/// Returns the rules that made the facts of a user, as `memory show` prints them, in alphabetical order.
fn rules_of_facts(desk: &Desk, user: &str) -> Vec<String> {
    let facts = desk.run(&["facts", "--user", user, "--json"]).json();
    let facts = facts.as_array().unwrap().iter();
    let shown = facts.map(|fact| desk.run(&["show", fact["id"].as_str().unwrap(), "--user", user]).json());
    shown.map(|fact| fact["metadata"]["rule"].as_str().unwrap_or_default().to_owned()).collect()
}

fn exported(desk: &Desk) -> BTreeSet<String> {
    desk.run(&["export"]).ok().lines().map(str::to_owned).collect()
}

#[test]
fn facts_are_extracted_at_import_or_later() {
    let desk = Desk::new();
    desk.write("story.jsonl", story());
    desk.run(&["facts", "--user", "lin"]).refused(&["there is no memory.db"]);
    desk.run(&["import", "story.jsonl"]).ok();
    assert!(desk.run(&["facts", "--user", "lin"]).ok().contains("no facts stored"), "nothing is made unasked");
    desk.run(&["facts"]).refused(&["--user NAME"]);
    desk.run(&["digest", "--user", "lin"]).refused(&["--digest rules"]);
    let digested = desk.run(&["digest", "--user", "lin", "--digest", "rules"]).ok();
    assert!(digested.starts_with("6 turns digested"), "{digested}");

    let (now, all) = (shown(&desk, &[]).join("\n"), shown(&desk, &["--history"]).join("\n"));
    assert!(now.contains("海鲜") && now.contains("Lisbon") && !now.contains("Porto"), "{now}");
    assert!(all.contains("lived in Porto until 2026-03-02"), "{all}");
    assert!(desk.run(&["facts", "--user", "lin", "--history"]).ok().contains("lived in Porto until"));
    assert_eq!(shown(&desk, &["--agent", "kai"]), [""; 0]);

    desk.run(&["add", "我现在住在上海", "--user", "lin", "--session", "c", "--digest", "rules"]).ok();
    assert!(shown(&desk, &[]).join("\n").contains("上海"));
    desk.run_with(&[("MEMORY_DIGEST", "rules")], &["add", "I'm allergic to walnuts.", "--user", "mo"]).ok();
    assert!(desk.run(&["facts", "--user", "mo"]).ok().contains("walnuts"));
    assert_eq!(rules_of_facts(&desk, "mo"), ["en.allergy.to"]);
}

#[test]
fn retractions_are_listed_and_restored() {
    let desk = imported_story();
    let conversation = ["--user", "lin", "--session", "bb"];
    let run = |arguments: &[&str]| desk.run(&[arguments, &conversation].concat());
    assert!(desk.run(&["retractions"]).ok().contains("nothing within"));
    run(&["rewind"]).refused(&["--last", "--to"]);
    run(&["rewind", "--last", "0"]).refused(&["--last"]);
    run(&["rewind", "--last", "1", "--to", "1"]).refused(&["cannot be used with"]);
    desk.run(&["rewind", "--last", "1", "--user", "lin"]).refused(&["--session NAME"]);
    run(&["rewind", "--to", "9"]).refused(&["nothing to retract"]);
    desk.run(&["rewind", "--last", "1", "--user", "lin", "--session", "nowhere"]).refused(&["nothing to retract"]);

    let retraction = run(&["rewind", "--to", "0", "--json"]).json();
    assert_eq!(retraction["records"].as_array().unwrap().len(), 3, "two turns and a fact: {retraction}");
    let now = shown(&desk, &[]).join("\n");
    assert!(now.contains("Porto") && !now.contains("until"), "what it had replaced holds again: {now}");
    assert!(desk.run(&["search", "Lisbon", "--user", "lin"]).ok().contains("nothing found"));

    let id = retraction["id"].as_str().unwrap();
    assert!(desk.run(&["retractions", "--user", "lin"]).ok().contains(id));
    desk.run(&["restore", "the last one", "--user", "lin"])
        .refused(&["is not the id of a retraction", "memory retractions"]);
    desk.run(&["restore", id]).refused(&["--user NAME"]);
    desk.run(&["restore", id, "--user", "mo"]).refused(&["no retraction"]);
    assert_eq!(desk.run(&["restore", id, "--user", "lin"]).ok(), "3 records restored\n");
    assert!(shown(&desk, &["--history"]).join("\n").contains("lived in Porto until"));
    assert!(desk.run(&["search", "Lisbon", "--user", "lin"]).ok().contains("Lisbon now"));
    assert_eq!(desk.run(&["retractions", "--json"]).json(), serde_json::json!([]));

    run(&["retract", "bb1"]).refused(&["--reason"]);
    run(&["retract", "bb1", "bb9", "--reason", "x"]).refused(&["bb9 not within", "nothing was retracted"]);
    let answer = run(&["retract", "bb1", "--reason", "that was Mo"]).ok();
    assert!(answer.contains("2 records retracted") && answer.contains("memory restore"), "{answer}");
    run(&["retract", "bb1", "--reason", "again"]).refused(&["was retracted before"]);
    let listed = desk.run(&["retractions", "--json"]).json();
    assert_eq!((listed[0]["reason"].as_str(), listed.as_array().unwrap().len()), (Some("that was Mo"), 1));
    let record = run(&["show", "bb1"]).json();
    assert_eq!(record["state"], "revoked", "it stays stored");
}

#[test]
fn agent_turns_need_their_complete_scope() {
    let desk = Desk::new();
    desk.run(&["add", "x", "--user", "lin", "--agent", "kai", "--session", "a"]).ok();
    let conversation = ["--user", "lin", "--session", "a"];
    desk.run(&[&["rewind", "--last", "1"], &conversation[..]].concat()).refused(&["kai", "--agent"]);
    desk.run(&[&["summarize", "--digest", "rules"], &conversation[..]].concat()).refused(&["kai", "--agent"]);
    desk.run(&[&["rewind", "--last", "1", "--agent", "kai"], &conversation[..]].concat()).ok();
}

#[test]
fn branch_sees_only_turns_before_the_fork() {
    let desk = imported_story();
    let fork = |more: &[&str]| desk.run(&[&["fork", "--user", "lin", "--session", "a"], more].concat());
    fork(&["--at", "2"]).refused(&["--branch NAME"]);
    fork(&["--branch", "b"]).refused(&["--at"]);
    let begun = fork(&["--branch", "b", "--at", "2"]).ok();
    assert!(begun.contains("'b' starts after 2 of the branch without a name"), "{begun}");
    fork(&["--branch", "b", "--at", "3"]).refused(&["there is a branch \"b\" already"]);
    fork(&["--branch", "c", "--from", "c", "--at", "3"]).refused(&["from itself"]);
    let alone = fork(&["--branch", "d", "--from", "b", "--at", "1", "--alone", "--json"]).json();
    assert_eq!((alone["sees"].as_u64(), alone["parent"].as_str()), (Some(0), Some("b")));
    assert!(fork(&["--branch", "e", "--at", "0"]).ok().contains("has a sequence number up to 0"));
    let ask = |question: &str| desk.run(&["search", question, "--user", "lin", "--session", "a", "--branch", "b"]).ok();
    assert!(ask("Porto").contains("I live in Porto."));
    assert!(ask("海鲜").contains("nothing found"), "that was said after the fork");
    desk.run(&["forget", "--user", "lin", "--session", "a", "--branch", "b", "--yes"]).ok();
    fork(&["--branch", "b", "--at", "2"]).refused(&["was forgotten", "another name"]);
}

#[test]
fn summarize_covers_the_rest_of_a_session() {
    let desk = imported_story();
    let conversation = ["--user", "lin", "--session", "a"];
    let run = |arguments: &[&str]| desk.run(&[arguments, &conversation].concat());
    run(&["summarize"]).refused(&["--digest rules"]);
    let made = run(&["summarize", "--digest", "rules"]).ok();
    assert!(made.starts_with("1 summary made") && made.contains("Porto"), "{made}");
    assert_eq!(run(&["summarize", "--digest", "rules"]).ok(), "0 summaries made\n");
    let recall = run(&["search", "海鲜 Porto", "--kind", "summary", "--json"]).json();
    assert_eq!(recall["hits"][0]["record"]["derived_from"].as_array().unwrap().len(), 4);
}

/// An extractor that cannot read anything.
#[derive(Debug)]
struct Choking;

#[async_trait::async_trait]
impl FactExtractor for Choking {
    async fn extract(&self, _: &[Record], _: &Locale) -> memory_engine::Result<Facts> {
        Err(Error::new(ErrorKind::Internal, "facts", "the turn cannot be read"))
    }
}

#[tokio::test]
async fn dead_letters_are_shown_with_reason_and_remedy() {
    let desk = Desk::new();
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let builder = MemoryEngine::builder().sqlite(desk.path("memory.db")).clock(clock.clone()).background(false);
    let engine = builder.enrichment(EnrichmentOptions::default().with_facts(Arc::new(Choking))).build().await.unwrap();
    let lin = Scope::user("lin").unwrap();
    engine.remember(&lin, "I live in Porto.").await.unwrap();
    while engine.stats(&lin).await.unwrap().given_up.is_empty() {
        let _ = tokio::time::timeout(Duration::from_millis(500), engine.drain(&lin, |_| ())).await;
        clock.advance(Duration::from_secs(100));
    }
    drop(engine);

    let why = ["1 record was given up for facts", "the turn cannot be read", "`memory digest --digest rules`"];
    let (stats, doctor) = (desk.run(&["stats"]).ok(), desk.run(&["doctor"]));
    assert!(!doctor.success);
    for part in why {
        assert!(stats.contains(part) && doctor.stdout.contains(part), "'{part}' in {stats} and {doctor:?}");
    }
    let report = desk.run(&["stats", "--json"]).json();
    assert_eq!((&report["given_up"]["facts"], &report["backlog"]), (&serde_json::json!(1), &serde_json::json!({})));
    assert!(report["given_up_because"]["facts"].as_str().unwrap().contains("cannot be read"));
    let checkup: Value = serde_json::from_str(&desk.run(&["doctor", "--json"]).stdout).unwrap();
    let facts = &checkup["waiting"]["facts"];
    assert_eq!((facts["records"].as_u64(), facts["given_up"].as_u64()), (Some(0), Some(1)), "{checkup}");

    desk.run(&["digest", "--digest", "rules"]).ok();
    assert_eq!(desk.stats()["given_up"], serde_json::json!({}));
    assert!(desk.run(&["doctor"]).ok().contains("nothing is wrong"));
    assert!(desk.run(&["facts", "--user", "lin"]).ok().contains("Porto"));
}

#[test]
fn export_contains_everything_in_any_order() {
    let desk = imported_story();
    let lin = ["--user", "lin"];
    let run = |arguments: &[&str]| desk.run(&[arguments, &lin].concat()).ok();
    run(&["summarize", "--session", "a", "--digest", "rules"]);
    run(&["fork", "--session", "a", "--branch", "b", "--at", "2"]);
    // A turn without a number, which no branch inherits.
    run(&["add", "Porto has six bridges", "--session", "a", "--time", "2026-03-01"]);
    let rewound: Value = serde_json::from_str(&run(&["rewind", "--session", "bb", "--last", "2", "--json"])).unwrap();
    let retracted: Value = serde_json::from_str(&run(&["retract", "a2", "--reason", "no", "--json"])).unwrap();
    run(&["restore", retracted["id"].as_str().unwrap(), "--digest", "rules"]);
    // Edited, so that a fact and a summary are withdrawn; and a fact that is deleted.
    desk.write("edit.jsonl", line("a", 3, "user", "我对花生过敏"));
    desk.run(&["import", "edit.jsonl", "--update", "--digest", "rules"]).ok();
    run(&["add", "I'm allergic to pollen.", "--session", "c", "--digest", "rules"]);
    let facts: Value = serde_json::from_str(&run(&["facts", "--json"])).unwrap();
    let pollen = facts.as_array().unwrap().iter().find(|f| f["shown"].as_str().unwrap().contains("pollen")).unwrap();
    run(&["forget", pollen["id"].as_str().unwrap(), "--yes"]);
    run(&["summarize", "--session", "a", "--digest", "rules"]);

    let all = exported(&desk);
    let holds = |part: &str| all.iter().any(|line| line.contains(part));
    for part in ["ledger/fork", "ledger/retraction", "\"fact\"", "\"summary\"", "\"withdrawn\":true", "\"revoked\""] {
        assert!(holds(part), "{part} is not in {all:#?}");
    }
    let lines = desk.run(&["export"]).ok();
    let backwards: Vec<&str> = lines.lines().rev().collect();
    let by_length = {
        let mut lines: Vec<&str> = lines.lines().collect();
        lines.sort_by_key(|line| line.len());
        lines
    };
    for order in [lines.lines().collect(), backwards, by_length] {
        let other = Desk::new();
        other.import(&other.write("all.jsonl", order.join("\n")));
        assert_eq!(exported(&other), all);
        assert_eq!(shown(&other, &["--history"]), shown(&desk, &["--history"]));
        let ask = |desk: &Desk, question: &str| {
            let asked = ["search", question, "--user", "lin", "--session", "a", "--branch", "b", "--json"];
            let hits = desk.run(&asked).json()["hits"].as_array().unwrap().clone();
            hits.iter().map(|hit| hit["record"]["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ask(&other, "Porto"), ask(&desk, "Porto"));
        assert!(!ask(&other, "Porto").iter().any(|text| text.contains("bridges")), "no number was made up");

        // What was found is not found twice, and what was deleted not again.
        other.run(&["digest", "--digest", "rules"]).ok();
        let facts = shown(&other, &["--history"]);
        assert_eq!(facts, shown(&desk, &["--history"]));
        assert!(!facts.join("\n").contains("pollen"), "{facts:?}");

        let restored = other.run(&["restore", rewound["id"].as_str().unwrap(), "--user", "lin"]).ok();
        assert_eq!(restored, "3 records restored\n", "also where revisions begin anew");
        assert!(shown(&other, &[]).join("\n").contains("Lisbon"));
    }

    desk.run(&["copy", "--from", "memory.db", "--to", "copy.db"]).ok();
    let copied: BTreeSet<String> = desk.run(&["export", "--db", "copy.db"]).ok().lines().map(str::to_owned).collect();
    assert_eq!(copied, all);
    desk.run(&["restore", rewound["id"].as_str().unwrap(), "--user", "lin", "--db", "copy.db"]).ok();
    assert!(desk.run(&["search", "Lisbon", "--user", "lin", "--db", "copy.db"]).ok().contains("Lisbon now"));
}
