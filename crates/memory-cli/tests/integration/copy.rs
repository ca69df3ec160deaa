//! `memory copy`.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use memory_engine::{Database, PutMode, Scope};

use crate::{
    cli_fixture::{CliFixture, TURNS},
    sample_store::{everything, fill, open, record},
};

#[tokio::test]
async fn copy_is_complete_and_repeatable() {
    let cli = CliFixture::new();
    let source = Database::file(cli.path("a.db"));
    fill(&source).await;
    let copy = |more: &[&str]| cli.run(&[&["copy", "--from", "a.db", "--to", "b.db"], more].concat());
    let shown = copy(&[]).ok();
    assert!(shown.contains("9 records and 2 tombstones copied from a.db to b.db"), "{shown}");
    assert!(shown.contains("2 groups of synonyms copied"), "{shown}");
    let target = Database::file(cli.path("b.db"));
    assert_eq!(everything(&source).await, everything(&target).await);

    let again = copy(&["--json"]).ok();
    let again: serde_json::Value = serde_json::from_str(again.lines().last().unwrap()).unwrap();
    for (count, expected) in
        [("added", 0), ("unchanged", 9), ("tombstones", 0), ("tombstones_there", 2), ("waiting", 0)]
    {
        assert_eq!(again[count], expected, "{count} in {again}");
    }
    assert_eq!((again["synonyms"].as_u64(), again["verdicts"].as_u64()), (Some(0), Some(0)));
    assert_eq!(everything(&source).await, everything(&target).await);
    assert!(cli.run(&["doctor", "--db", "b.db"]).ok().contains("no problems found"));
    let found = cli.run(&["search", "brass key", "--user", "lin", "--db", "b.db"]).ok();
    assert!(found.contains("the brass key"), "{found}");
}

#[tokio::test]
async fn differing_records_are_replaced_only_with_update() {
    let cli = CliFixture::new();
    let (source, target) = (Database::file(cli.path("a.db")), Database::file(cli.path("b.db")));
    fill(&source).await;
    cli.run(&["copy", "--from", "a.db", "--to", "b.db"]).ok();
    let mut changed = record("lin", 0);
    changed.text = "said otherwise".into();
    let engine = open(&target).await;
    engine.store(&Scope::user("lin").unwrap(), vec![changed], PutMode::Upsert).await.unwrap();
    drop(engine);
    let shown = cli.run(&["copy", "--from", "a.db", "--to", "b.db"]).ok();
    assert!(shown.contains("1 of these differs in the target"), "{shown}");
    assert_ne!(everything(&source).await, everything(&target).await);
    let shown = cli.run(&["copy", "--from", "a.db", "--to", "b.db", "--update"]).ok();
    assert!(shown.contains("1 record replaced"), "{shown}");
    assert_eq!(everything(&source).await, everything(&target).await);
}

#[tokio::test]
async fn one_user_can_be_copied() {
    let cli = CliFixture::new();
    fill(&Database::file(cli.path("a.db"))).await;
    cli.run(&["copy", "--from", "a.db", "--to", "b.db", "--tenant", "default", "--user", "mo"]).ok();
    let all = everything(&Database::file(cli.path("b.db"))).await;
    assert!(all.contains("\"user\":\"mo\"") && !all.contains("\"user\":\"lin\""), "{all}");
    cli.run(&["copy", "--from", "a.db", "--to", "c.db", "--user", "nobody"])
        .assert_fails(&["no tenant or user of this name"]);
}

#[test]
fn copy_errors_are_clear() {
    let cli = CliFixture::new();
    cli.run(&["copy", "--from", "absent.db", "--to", "b.db"]).assert_fails(&["absent.db does not exist"]);
    cli.run(&["copy", "--to", "b.db"]).assert_fails(&["--from"]);
    cli.import(&cli.write("turns.jsonl", TURNS));
    cli.run(&["copy", "--from", "memory.db", "--to", "./memory.db"]).assert_fails(&["onto itself"]);
    assert!(!cli.path("b.db").exists());
}

#[test]
fn killed_copy_can_be_resumed() {
    let cli = CliFixture::new();
    let lines: String = (0..6000).map(|n| format!("{{\"user\":\"lin\",\"text\":\"turn number {n}\"}}\n")).collect();
    cli.import(&cli.write("turns.jsonl", lines));
    let arguments = ["copy", "--from", "memory.db", "--to", "b.db", "--json"];
    let mut child = cli.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut committed = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        committed = line["committed"].as_u64().unwrap();
        if committed >= 1500 {
            break;
        }
    }
    child.kill().unwrap(); // SIGKILL: no destructor, no flush
    child.wait().unwrap();
    assert!((1500..6000).contains(&committed));
    let report = cli.run(&arguments).ok();
    let report: serde_json::Value = serde_json::from_str(report.lines().last().unwrap()).unwrap();
    assert!(report["unchanged"].as_u64().unwrap() >= committed, "committed records are kept: {report}");
    assert_eq!(report["added"].as_u64().unwrap() + report["unchanged"].as_u64().unwrap(), 6000, "{report}");
    let stats = cli.run(&["stats", "--db", "b.db", "--json"]).json();
    assert_eq!((stats["records"].as_u64(), stats["queued"].clone()), (Some(6000), serde_json::json!({})));
}
