//! Imports of Letta, Zep and Graphiti, and the Modeled Information Format in both directions.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::cli_fixture::{CliFixture, TURNS};

fn fixture(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).to_str().unwrap().to_owned()
}

/// Imports a file for Lin. Returns the counts of added, unchanged, skipped and bad rows, and standard error.
fn import(cli: &CliFixture, file: &str, more: &[&str]) -> ([u64; 4], String) {
    let result = cli.run(&[&["import", file, "--user", "lin", "--json"], more].concat());
    let report = result.stdout.lines().last().unwrap_or_else(|| panic!("{result:?}"));
    let report: Value = serde_json::from_str(report).unwrap();
    (["added", "unchanged", "passed_over", "bad_lines"].map(|key| report[key].as_u64().unwrap()), result.stderr)
}

fn texts_of_hits(cli: &CliFixture, query: &str, user: &str) -> Vec<String> {
    let hits = cli.run(&["search", query, "--user", user, "--json"]).json()["hits"].clone();
    hits.as_array().unwrap().iter().map(|hit| hit["record"]["text"].as_str().unwrap().to_owned()).collect()
}

fn exported(cli: &CliFixture, db: &str) -> Vec<Value> {
    let lines = cli.run(&["export", "--db", db]).ok();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn agent_files_of_letta_are_recognised_and_imported_once() {
    let cli = CliFixture::new();
    let (counts, errors) = import(&cli, &fixture("letta/agent.af"), &["--dry-run"]);
    assert_eq!(counts, [6, 0, 6, 0], "{errors}");
    assert!(errors.contains("--format letta"), "{errors}");
    assert_eq!(import(&cli, &fixture("letta/agent.af"), &[]).0, [6, 0, 6, 0]);
    assert_eq!(import(&cli, &fixture("letta/agent.af"), &[]).0, [0, 6, 6, 0]);
    assert_eq!(import(&cli, &fixture("letta/agent_0.7.af"), &[]).0, [3, 0, 4, 0]);
    assert_eq!(texts_of_hits(&cli, "喜欢喝什么茶", "lin")[0], "我喜欢绿茶，不喜欢咖啡。");
    assert_eq!(texts_of_hits(&cli, "where did Anna move", "lin")[0], "My sister Anna moved to Lisbon in May.");
    assert_eq!(texts_of_hits(&cli, "花生过敏", "lin")[0], "Name: Lin. 住在上海，对花生过敏。");
    let all = exported(&cli, "memory.db");
    let of = |text: &str| all.iter().find(|line| line["text"].as_str().unwrap().contains(text));
    let boat = of("海燕").unwrap();
    assert_eq!((&boat["speaker"], &boat["agent"]), (&json!("Lin"), &json!("skipper")));
    assert_eq!(boat["time"], "2025-04-01T03:47:27.492905Z");
    assert_eq!(of("green tea").unwrap()["role"], "assistant");
    for hidden in ["I should remember", "heartbeat", "base_instructions", "More human", "Note: prior"] {
        assert_eq!(of(hidden), None, "{hidden}");
    }
    let broken = cli.write("broken.af", "{\"agents\": [\n}");
    cli.run(&["import", broken.to_str().unwrap(), "--user", "lin"]).assert_fails(&["broken.af", "line 2, column 1"]);
    let other = cli.write("other.af", "{\"text\": \"hello\"}");
    cli.run(&["import", other.to_str().unwrap(), "--user", "lin"])
        .assert_fails(&["no agent file of Letta", "\"agents\""]);
}

#[test]
fn a_graph_of_graphiti_keeps_what_holds_and_what_held() {
    let cli = CliFixture::new();
    let (counts, errors) = import(&cli, &fixture("zep/graph.json"), &[]);
    // The nodes and the triple have no text of their own; one episode has two turns.
    assert_eq!(counts, [7, 0, 4, 0], "{errors}");
    assert!(errors.contains("--format zep"), "{errors}");
    assert_eq!(import(&cli, &fixture("zep/graph.json"), &[]).0, [0, 7, 4, 0]);
    assert_eq!(texts_of_hits(&cli, "三只猫", "lin")[0], "我搬到里斯本了，邻居养了三只猫。");
    let home = texts_of_hits(&cli, "Porto", "lin");
    assert!(home.iter().any(|text| text == "I live in Porto."), "the words stay: {home:?}");
    assert!(home.iter().all(|text| !text.contains("林 lives") && !text.contains("garage")), "{home:?}");
    let current = cli.run(&["facts", "--user", "lin", "--json"]).ok();
    assert!(current.contains("林住在里斯本") && !current.contains("林 lives in Porto"), "{current}");
    let all = exported(&cli, "memory.db");
    let fact = |text: &str| all.iter().find(|line| line["text"] == text).unwrap();
    let past = fact("林 lives in Porto");
    assert_eq!((&past["state"], &past["valid_until"]), (&json!("superseded"), &json!("2025-06-01T09:30:00Z")));
    assert_eq!(past["entities"], json!(["林", "Porto"]));
    let home = fact("林住在里斯本");
    assert_eq!(home["derived_from"], json!(["0199aaaa-0000-7000-8000-000000000011"]));
    // With the words from which it was derived, the fact is forgotten.
    cli.run(&["forget", "0199aaaa-0000-7000-8000-000000000011", "--user", "lin", "--yes"]).ok();
    assert!(!cli.run(&["facts", "--user", "lin", "--json"]).ok().contains("林住在里斯本"));
}

#[test]
fn messages_and_edges_of_zep_are_imported_once() {
    let cli = CliFixture::new();
    let (counts, errors) = import(&cli, &fixture("zep/messages.json"), &[]);
    assert_eq!(counts, [3, 0, 2, 0], "{errors}");
    assert!(errors.contains("one page of several"), "{errors}");
    assert_eq!(import(&cli, &fixture("zep/messages.json"), &[]).0, [0, 3, 2, 0]);
    assert_eq!(import(&cli, &fixture("zep/messages_v2.json"), &["--session", "s1"]).0, [2, 0, 0, 0]);
    assert_eq!(texts_of_hits(&cli, "停车", "lin")[0], "我的车停在地下二层");
    let piano = cli.run(&["search", "piano", "--user", "lin", "--json"]).json()["hits"][0]["record"].clone();
    assert_eq!((&piano["speaker"], &piano["scope"]["session"]), (&json!("Lin"), &json!("s1")));
    let (counts, errors) = import(&cli, &fixture("zep/search.json"), &["--format", "graphiti"]);
    assert_eq!(counts, [1, 0, 0, 0], "{errors}");
    let owner = "0199aaaa-0000-7000-8000-000000000009";
    assert_eq!(texts_of_hits(&cli, "parks", owner), ["林 parks on level B2"], "the file names its user");
    let other = cli.write("other.json", "[\n{\"title\": 7}]");
    cli.run(&["import", other.to_str().unwrap(), "--format", "zep"])
        .assert_fails(&["other.json", "no message, episode"]);
    let partly = cli.write(
        "partly.json",
        "[{\"role\":\"user\",\"content\":\"a\",\"uuid\":\"b\"},\n{\"content\":7,\"role\":\"user\"}]",
    );
    let (counts, errors) = import(&cli, partly.to_str().unwrap(), &["--format", "zep"]);
    assert_eq!(counts, [1, 0, 0, 1]);
    assert!(errors.contains("line 2: \"content\" is no text"), "{errors}");
}

#[test]
fn a_corpus_of_mif_keeps_every_field_of_the_active_records() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    import(&cli, &fixture("zep/graph.json"), &[]);
    cli.run(&["add", "绿茶\n\"and\" rain", "--kind", "note", "--user", "lin", "--tags", "drink"]).ok();
    let message = cli.run(&["export", "--format", "mif", "-o", "lin.corpus.json"]);
    assert!(message.stderr.contains("10 records written"), "{message:?}");
    let corpus: Value = serde_json::from_str(&fs::read_to_string(cli.path("lin.corpus.json")).unwrap()).unwrap();
    assert_eq!((&corpus["@type"], &corpus["containerProfileVersion"]), (&json!("MemoryCorpus"), &json!("0.1.0")));
    let records = corpus["records"].as_array().unwrap();
    let fact = records.iter().find(|record| record["payload"]["content"] == "林住在里斯本").unwrap();
    assert_eq!((&fact["kind"], &fact["payload"]["conceptType"]), (&json!("memory"), &json!("semantic")));
    assert_eq!(fact["payload"]["temporal"]["validFrom"], "2025-06-01T09:30:00Z");
    let target = "urn:mif:0199aaaa-0000-7000-8000-000000000011";
    assert_eq!(fact["payload"]["relationships"], json!([{"type": "derived-from", "target": target}]));

    // A second import finds every record by its id, and another database gets the same records.
    let file = cli.path("lin.corpus.json");
    let file = file.to_str().unwrap();
    let (counts, errors) = import(&cli, file, &[]);
    assert_eq!(counts, [0, 10, 0, 0]);
    assert!(errors.contains("--format mif"), "{errors}");
    assert_eq!(import(&cli, file, &["--db", "other.db"]).0, [10, 0, 0, 0]);
    let active = |db: &str| {
        let lines = exported(&cli, db).into_iter().filter(|line| line["state"] == "active");
        lines.collect::<Vec<Value>>()
    };
    assert_eq!(active("memory.db"), active("other.db"));
    let printed = cli.run(&["export", "--format", "mif", "--user", "nobody"]).json();
    assert_eq!(printed["records"], json!([]));
}
