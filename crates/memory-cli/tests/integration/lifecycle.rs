//! The lifecycle of memories: extraction, retraction and restoring, branches, dead letters, and export of all of them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memory_engine::{
    Clock, EnrichmentOptions, Error, ErrorKind, MemoryEngine, Record, Scope, SystemClock,
    enrichment::{FactExtractor, Facts, Locale},
    testing::ManualClock,
};
use serde_json::Value;

use crate::cli_fixture::CliFixture;

/// Returns a line of a conversation of Lin.
fn line(session: &str, sequence: i64, role: &str, text: &str) -> String {
    let line = serde_json::json!({
        "user": "lin", "session": session, "id": format!("{session}{sequence}"), "sequence": sequence, "role": role,
        "time": format!("2026-03-0{}T20:{sequence:02}:00", session.len()), "text": text,
    });
    format!("{line}\n")
}

/// Returns two conversations, a day apart.
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

/// Returns a fixture with the imported conversations and their facts.
fn imported_story() -> CliFixture {
    let cli = CliFixture::new();
    cli.write("story.jsonl", story());
    cli.run(&["import", "story.jsonl", "--digest", "rules"]).ok();
    cli
}

fn shown(cli: &CliFixture, arguments: &[&str]) -> Vec<String> {
    let facts = cli.run(&[&["facts", "--user", "lin", "--timezone", "UTC", "--json"], arguments].concat()).json();
    facts.as_array().unwrap().iter().map(|fact| fact["shown"].as_str().unwrap().to_owned()).collect()
}

/// Returns the rules that made the facts of a user, as `memory show` prints them, in alphabetical order.
fn rules_of_facts(cli: &CliFixture, user: &str) -> Vec<String> {
    let facts = cli.run(&["facts", "--user", user, "--json"]).json();
    let facts = facts.as_array().unwrap().iter();
    let shown = facts.map(|fact| cli.run(&["show", fact["id"].as_str().unwrap(), "--user", user]).json());
    shown.map(|fact| fact["metadata"]["rule"].as_str().unwrap_or_default().to_owned()).collect()
}

fn exported(cli: &CliFixture) -> BTreeSet<String> {
    cli.run(&["export"]).ok().lines().map(str::to_owned).collect()
}

#[test]
fn facts_are_extracted_at_import_or_later() {
    let cli = CliFixture::new();
    cli.write("story.jsonl", story());
    cli.run(&["facts", "--user", "lin"]).assert_fails(&["memory.db does not exist"]);
    cli.run(&["import", "story.jsonl"]).ok();
    assert!(
        cli.run(&["facts", "--user", "lin"]).ok().contains("no facts stored"),
        "nothing is extracted without --digest"
    );
    cli.run(&["facts"]).assert_fails(&["--user NAME"]);
    cli.run(&["digest", "--user", "lin"]).assert_fails(&["--digest rules"]);
    let digested = cli.run(&["digest", "--user", "lin", "--digest", "rules"]).ok();
    assert!(digested.starts_with("6 turns digested"), "{digested}");

    let (now, all) = (shown(&cli, &[]).join("\n"), shown(&cli, &["--history"]).join("\n"));
    assert!(now.contains("海鲜") && now.contains("Lisbon") && !now.contains("Porto"), "{now}");
    assert!(all.contains("lived in Porto until 2026-03-02"), "{all}");
    assert!(cli.run(&["facts", "--user", "lin", "--history"]).ok().contains("lived in Porto until"));
    assert_eq!(shown(&cli, &["--agent", "kai"]), [""; 0]);

    cli.run(&["add", "我现在住在上海", "--user", "lin", "--session", "c", "--digest", "rules"]).ok();
    assert!(shown(&cli, &[]).join("\n").contains("上海"));
    cli.run_with(&[("MEMORY_DIGEST", "rules")], &["add", "I'm allergic to walnuts.", "--user", "mo"]).ok();
    assert!(cli.run(&["facts", "--user", "mo"]).ok().contains("walnuts"));
    assert_eq!(rules_of_facts(&cli, "mo"), ["en.allergy.to"]);
}

#[test]
fn retractions_are_listed_and_restored() {
    let cli = imported_story();
    let conversation = ["--user", "lin", "--session", "bb"];
    let run = |arguments: &[&str]| cli.run(&[arguments, &conversation].concat());
    assert!(cli.run(&["retractions"]).ok().contains("no retractions within"));
    run(&["rewind"]).assert_fails(&["--last", "--to"]);
    run(&["rewind", "--last", "0"]).assert_fails(&["--last"]);
    run(&["rewind", "--last", "1", "--to", "1"]).assert_fails(&["cannot be used with"]);
    cli.run(&["rewind", "--last", "1", "--user", "lin"]).assert_fails(&["--session NAME"]);
    run(&["rewind", "--to", "9"]).assert_fails(&["nothing to retract"]);
    cli.run(&["rewind", "--last", "1", "--user", "lin", "--session", "nowhere"]).assert_fails(&["nothing to retract"]);

    let retraction = run(&["rewind", "--to", "0", "--json"]).json();
    assert_eq!(retraction["records"].as_array().unwrap().len(), 3, "two turns and a fact: {retraction}");
    let now = shown(&cli, &[]).join("\n");
    assert!(now.contains("Porto") && !now.contains("until"), "the superseded fact is active again: {now}");
    assert!(!cli.run(&["search", "Lisbon", "--user", "lin"]).ok().contains("Lisbon"));

    let id = retraction["id"].as_str().unwrap();
    assert!(cli.run(&["retractions", "--user", "lin"]).ok().contains(id));
    cli.run(&["restore", "the last one", "--user", "lin"])
        .assert_fails(&["is not the id of a retraction", "memory retractions"]);
    cli.run(&["restore", id]).assert_fails(&["--user NAME"]);
    cli.run(&["restore", id, "--user", "mo"]).assert_fails(&["no retraction"]);
    assert_eq!(cli.run(&["restore", id, "--user", "lin"]).ok(), "3 records restored\n");
    assert!(shown(&cli, &["--history"]).join("\n").contains("lived in Porto until"));
    assert!(cli.run(&["search", "Lisbon", "--user", "lin"]).ok().contains("Lisbon now"));
    assert_eq!(cli.run(&["retractions", "--json"]).json(), serde_json::json!([]));

    run(&["retract", "bb1"]).assert_fails(&["--reason"]);
    run(&["retract", "bb1", "bb9", "--reason", "x"]).assert_fails(&["bb9 not within", "nothing was retracted"]);
    let answer = run(&["retract", "bb1", "--reason", "that was Mo"]).ok();
    assert!(answer.contains("2 records retracted") && answer.contains("memory restore"), "{answer}");
    run(&["retract", "bb1", "--reason", "again"]).assert_fails(&["already retracted"]);
    let listed = cli.run(&["retractions", "--json"]).json();
    assert_eq!((listed[0]["reason"].as_str(), listed.as_array().unwrap().len()), (Some("that was Mo"), 1));
    let record = run(&["show", "bb1"]).json();
    assert_eq!(record["state"], "revoked", "it stays stored");
}

#[test]
fn records_are_retracted_and_restored_without_their_embedder() {
    let cli = CliFixture::new();
    let service = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "x")];
    let embedder = ["--embedder", "openai:text-embedding-3-small"];
    let added = [&["add", "My canoe is red", "--user", "lin", "--session", "a"][..], &embedder].concat();
    let id = cli.run_with(&service, &added).ok();
    let lin = ["--user", "lin"];
    for arguments in [&["retract", id.trim(), "--reason", "no", "--json"][..], &["rewind", "--last", "1", "--json"]] {
        let session: &[&str] = if arguments[0] == "rewind" { &["--session", "a"] } else { &[] };
        let retraction = cli.run(&[arguments, &lin, session].concat()).json();
        cli.run(&[&["restore", retraction["id"].as_str().unwrap()][..], &lin].concat()).ok();
    }
    for command in ["stats", "export", "doctor", "retractions"] {
        cli.run(&[command]).ok();
    }
    cli.run(&["forget", id.trim(), "--yes", "--user", "lin"]).ok();
}

#[test]
fn agent_turns_need_their_complete_scope() {
    let cli = CliFixture::new();
    cli.run(&["add", "x", "--user", "lin", "--agent", "kai", "--session", "a"]).ok();
    let conversation = ["--user", "lin", "--session", "a"];
    cli.run(&[&["rewind", "--last", "1"], &conversation[..]].concat()).assert_fails(&["kai", "--agent"]);
    cli.run(&[&["summarize", "--digest", "rules"], &conversation[..]].concat()).assert_fails(&["kai", "--agent"]);
    cli.run(&[&["rewind", "--last", "1", "--agent", "kai"], &conversation[..]].concat()).ok();
}

#[test]
fn branch_sees_only_turns_before_the_fork() {
    let cli = imported_story();
    let fork = |more: &[&str]| cli.run(&[&["fork", "--user", "lin", "--session", "a"], more].concat());
    fork(&["--at", "2"]).assert_fails(&["--branch NAME"]);
    fork(&["--branch", "b"]).assert_fails(&["--at"]);
    let begun = fork(&["--branch", "b", "--at", "2"]).ok();
    assert!(begun.contains("'b' starts after 2 of the branch without a name"), "{begun}");
    fork(&["--branch", "b", "--at", "3"]).assert_fails(&["there is a branch \"b\" already"]);
    fork(&["--branch", "c", "--from", "c", "--at", "3"]).assert_fails(&["from itself"]);
    let alone = fork(&["--branch", "d", "--from", "b", "--at", "1", "--alone", "--json"]).json();
    assert_eq!((alone["sees"].as_u64(), alone["parent"].as_str()), (Some(0), Some("b")));
    assert!(fork(&["--branch", "e", "--at", "0"]).ok().contains("has a sequence number of at most 0"));
    let ask = |question: &str| cli.run(&["search", question, "--user", "lin", "--session", "a", "--branch", "b"]).ok();
    assert!(ask("Porto").contains("I live in Porto."));
    assert!(ask("海鲜").contains("nothing found"), "that was said after the fork");
    cli.run(&["forget", "--user", "lin", "--session", "a", "--branch", "b", "--yes"]).ok();
    fork(&["--branch", "b", "--at", "2"]).assert_fails(&["was forgotten", "another name"]);
}

#[test]
fn summarize_covers_the_rest_of_a_session() {
    let cli = imported_story();
    let conversation = ["--user", "lin", "--session", "a"];
    let run = |arguments: &[&str]| cli.run(&[arguments, &conversation].concat());
    run(&["summarize"]).assert_fails(&["--digest rules"]);
    let created = run(&["summarize", "--digest", "rules"]).ok();
    assert!(created.starts_with("1 summary created") && created.contains("Porto"), "{created}");
    assert_eq!(run(&["summarize", "--digest", "rules"]).ok(), "0 summaries created\n");
    let recall = run(&["search", "海鲜 Porto", "--kind", "summary", "--json"]).json();
    assert_eq!(recall["hits"][0]["record"]["derived_from"].as_array().unwrap().len(), 4);
}

/// An extractor that always fails.
#[derive(Debug)]
struct FailingExtractor;

#[async_trait::async_trait]
impl FactExtractor for FailingExtractor {
    async fn extract(&self, _: &[Record], _: &Locale) -> memory_engine::Result<Facts> {
        Err(Error::new(ErrorKind::Internal, "facts", "the turn cannot be read"))
    }
}

#[tokio::test]
async fn dead_letters_are_shown_with_reason_and_remedy() {
    let cli = CliFixture::new();
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let builder = MemoryEngine::builder().sqlite(cli.path("memory.db")).clock(clock.clone()).background(false);
    let engine =
        builder.enrichment(EnrichmentOptions::default().with_facts(Arc::new(FailingExtractor))).build().await.unwrap();
    let lin = Scope::user("lin").unwrap();
    engine.remember(&lin, "I live in Porto.").await.unwrap();
    let attempts = async || engine.admin().failures(&lin, 9).await.unwrap().first().map_or(0, |one| one.attempts);
    for round in 1..20 {
        // After the failure, the drain only waits for the time of the next attempt.
        let has_failed = async {
            while attempts().await < round {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! { drained = engine.drain(&lin, |_| ()) => drop(drained), () = has_failed => {} }
        if !engine.stats(&lin).await.unwrap().dead_letters.is_empty() {
            break;
        }
        clock.advance(Duration::from_secs(100));
    }
    drop(engine);

    let why = ["the job 'facts' failed for 1 record", "the turn cannot be read", "`memory digest --digest rules`"];
    let (stats, doctor) = (cli.run(&["stats"]).ok(), cli.run(&["doctor"]));
    assert!(!doctor.success);
    for part in why {
        assert!(stats.contains(part) && doctor.stdout.contains(part), "'{part}' in {stats} and {doctor:?}");
    }
    let report = cli.run(&["stats", "--json"]).json();
    assert_eq!((&report["dead_letters"]["facts"], &report["queued"]), (&serde_json::json!(1), &serde_json::json!({})));
    assert!(report["dead_letter_reasons"]["facts"].as_str().unwrap().contains("cannot be read"));
    let check_health: Value = serde_json::from_str(&cli.run(&["doctor", "--json"]).stdout).unwrap();
    let facts = &check_health["waiting"]["facts"];
    assert_eq!((facts["records"].as_u64(), facts["dead_letters"].as_u64()), (Some(0), Some(1)), "{check_health}");

    let waiting = cli.run(&["reindex", "--waiting", "--failed", "--json"]);
    assert!(why.iter().all(|part| waiting.stderr.contains(part)), "{waiting:?}");
    let report: Value = serde_json::from_str(waiting.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (report["dead_letters"].as_u64(), report["retried"].as_u64()),
        (Some(1), Some(0)),
        "facts are not indexed"
    );

    cli.run(&["digest", "--digest", "rules"]).ok();
    assert_eq!(cli.stats()["dead_letters"], serde_json::json!({}));
    assert!(cli.run(&["doctor", "--repair"]).ok().contains("no problems found"));
    assert!(cli.run(&["facts", "--user", "lin"]).ok().contains("Porto"));
}

#[test]
fn export_contains_everything_in_any_order() {
    let cli = imported_story();
    let lin = ["--user", "lin"];
    let run = |arguments: &[&str]| cli.run(&[arguments, &lin].concat()).ok();
    run(&["summarize", "--session", "a", "--digest", "rules"]);
    run(&["fork", "--session", "a", "--branch", "b", "--at", "2"]);
    // A turn without a sequence number, which no branch inherits.
    run(&["add", "Porto has six bridges", "--session", "a", "--time", "2026-03-01"]);
    let rewound: Value = serde_json::from_str(&run(&["rewind", "--session", "bb", "--last", "2", "--json"])).unwrap();
    let retracted: Value = serde_json::from_str(&run(&["retract", "a2", "--reason", "no", "--json"])).unwrap();
    run(&["restore", retracted["id"].as_str().unwrap(), "--digest", "rules"]);
    // An edit deletes the fact and the summary derived from the turn; another fact is deleted directly.
    cli.write("edit.jsonl", line("a", 3, "user", "我对花生过敏"));
    cli.run(&["import", "edit.jsonl", "--update", "--digest", "rules"]).ok();
    run(&["add", "I'm allergic to pollen.", "--session", "c", "--digest", "rules"]);
    let facts: Value = serde_json::from_str(&run(&["facts", "--json"])).unwrap();
    let pollen = facts.as_array().unwrap().iter().find(|f| f["shown"].as_str().unwrap().contains("pollen")).unwrap();
    run(&["forget", pollen["id"].as_str().unwrap(), "--yes"]);
    run(&["summarize", "--session", "a", "--digest", "rules"]);

    let all = exported(&cli);
    let contains = |part: &str| all.iter().any(|line| line.contains(part));
    for part in
        ["ledger/fork", "ledger/retraction", "\"fact\"", "\"summary\"", "\"cascade_deleted\":true", "\"revoked\""]
    {
        assert!(contains(part), "{part} is not in {all:#?}");
    }
    let lines = cli.run(&["export"]).ok();
    let backwards: Vec<&str> = lines.lines().rev().collect();
    let by_length = {
        let mut lines: Vec<&str> = lines.lines().collect();
        lines.sort_by_key(|line| line.len());
        lines
    };
    for order in [lines.lines().collect(), backwards, by_length] {
        let other = CliFixture::new();
        other.import(&other.write("all.jsonl", order.join("\n")));
        assert_eq!(exported(&other), all);
        assert_eq!(shown(&other, &["--history"]), shown(&cli, &["--history"]));
        let ask = |cli: &CliFixture, question: &str| {
            let asked = ["search", question, "--user", "lin", "--session", "a", "--branch", "b", "--json"];
            let hits = cli.run(&asked).json()["hits"].as_array().unwrap().clone();
            hits.iter().map(|hit| hit["record"]["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ask(&other, "Porto"), ask(&cli, "Porto"));
        assert!(
            !ask(&other, "Porto").iter().any(|text| text.contains("bridges")),
            "the import assigned no sequence number"
        );

        // Existing facts are not duplicated, and deleted ones are not extracted again.
        other.run(&["digest", "--digest", "rules"]).ok();
        let facts = shown(&other, &["--history"]);
        assert_eq!(facts, shown(&cli, &["--history"]));
        assert!(!facts.join("\n").contains("pollen"), "{facts:?}");

        let restored = other.run(&["restore", rewound["id"].as_str().unwrap(), "--user", "lin"]).ok();
        assert_eq!(restored, "3 records restored\n", "restoring works although revisions start at 1");
        assert!(shown(&other, &[]).join("\n").contains("Lisbon"));
    }

    cli.run(&["copy", "--from", "memory.db", "--to", "copy.db"]).ok();
    let copied: BTreeSet<String> = cli.run(&["export", "--db", "copy.db"]).ok().lines().map(str::to_owned).collect();
    assert_eq!(copied, all);
    cli.run(&["restore", rewound["id"].as_str().unwrap(), "--user", "lin", "--db", "copy.db"]).ok();
    assert!(cli.run(&["search", "Lisbon", "--user", "lin", "--db", "copy.db"]).ok().contains("Lisbon now"));
}
