//! The commands for importing, searching, exporting and evaluating.

use std::{fs, path::Path};

use serde_json::Value;

use crate::cli_fixture::{CliFixture, TURNS};

#[test]
fn demo_needs_no_setup() {
    let cli = CliFixture::new();
    let shown = cli.run(&["demo"]).ok();
    assert!(
        shown.contains("found by") && shown.contains("Relevant long-term memory") && shown.contains("Next steps"),
        "{shown}"
    );
    assert_eq!(fs::read_dir(cli.folder.path()).unwrap().count(), 0, "the demo leaves nothing behind");
    assert!(!shown.contains("relevant  "), "{shown}");
    let (_, block) = shown.split_once("Relevant long-term memory").unwrap();
    let (block, _) = block.split_once("Next steps").unwrap();
    let lines: Vec<&str> = block.lines().filter(|line| line.starts_with("- ")).collect();
    assert!(lines.iter().any(|line| line.contains("我海鲜过敏")), "{block}");
    assert!(lines.iter().all(|line| line.contains("海鲜过敏")), "only relevant memories are injected: {block}");
}

/// The commands that the demo prints last.
fn next_steps(demo: &str) -> Vec<&str> {
    let (_, steps) = demo.split_once("Next steps:\n").unwrap();
    steps.lines().map(str::trim).collect()
}

#[cfg(unix)]
#[test]
fn next_steps_of_the_demo_work_as_printed() {
    let cli = CliFixture::new();
    let demo = cli.run(&["demo"]).ok();
    let [add, search, ui] = next_steps(&demo)[..] else { panic!("{demo}") };
    cli.run_line(add).ok();
    let found = cli.run_line(&format!("{search} --json")).ok();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert!(found["hits"][0]["record"]["text"].as_str().unwrap().contains("Lisbon"), "{found}");
    assert!(cli.run_line(&format!("{ui} --help")).ok().contains("inspector"), "{ui}");

    let demo = cli.run(&["demo", "--db", "demo.db"]).ok();
    let [chinese, english, ui] = next_steps(&demo)[..] else { panic!("{demo}") };
    // A table breaks long texts into lines.
    let found: String = cli.run_line(chinese).ok().split_whitespace().collect();
    assert!(found.contains("我家这只叫芝麻"), "{chinese}: {found}");
    assert!(cli.run_line(english).ok().contains("I miss Mina"), "{english}");
    assert!(cli.run_line(&format!("{ui} --help")).ok().contains("inspector"), "{ui}");
}

#[test]
fn each_question_of_the_demo_has_its_answer_first() {
    let cli = CliFixture::new();
    cli.run(&["demo", "--db", "demo.db"]).ok();
    let questions = include_str!("../../demo/questions.jsonl");
    for line in questions.lines() {
        let question: Value = serde_json::from_str(line).unwrap();
        let text = question["question"].as_str().unwrap();
        let recall = cli.run(&["search", text, "--user", "lin", "--db", "demo.db", "--json"]).json();
        let first = &recall["hits"][0]["record"];
        let gold = question["gold"].as_array().unwrap();
        assert!(gold.contains(&first["source"]["message_id"]), "{text}: {}", first["text"]);
    }
    assert_eq!(questions.lines().count(), 8);
}

#[test]
fn k15_repeated_import_adds_nothing() {
    let cli = CliFixture::new();
    let file = cli.write("turns.jsonl", TURNS);
    assert_eq!(cli.import(&file)["added"], 4);
    let again = cli.import(&file);
    assert_eq!((again["added"].as_u64(), again["unchanged"].as_u64()), (Some(0), Some(4)));
    let stats = cli.stats();
    assert_eq!(stats["records"], 4);
    assert_eq!(stats["queued"], serde_json::json!({}), "everything is indexed when the command ends");
}

#[test]
fn r3_search_respects_scope_and_filters() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    let texts = |arguments: &[&str]| -> Vec<String> {
        let recall = cli.run(&[arguments, &["--json"]].concat()).json();
        recall["hits"].as_array().unwrap().iter().map(|h| h["record"]["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&["search", "海鮮", "--user", "lin"])[0], "我对海鲜过敏");
    assert!(texts(&["search", "moved", "--user", "lin"]).iter().all(|t| !t.contains("Lisbon")));
    assert_eq!(texts(&["search", "moved", "--user", "mo"]), ["I moved to Lisbon"]);
    assert_eq!(texts(&["search", "moved", "--user", "lin", "--session", "a"]), Vec::<String>::new());
    assert_eq!(
        texts(&["search", "interview 海鲜", "--user", "lin", "--since", "2026-03-02"]),
        ["My interview has moved to Friday"]
    );
    assert_eq!(
        texts(&["search", "interview 海鲜", "--user", "lin", "--scene", "daily"]),
        ["My interview has moved to Friday"]
    );
    assert_eq!(texts(&["search", "interview", "--user", "lin", "--kind", "fact"]), Vec::<String>::new());
    let explained = cli.run(&["search", "interview", "--user", "lin", "--explain"]).ok();
    assert!(explained.contains("keyword #1 at") && explained.contains("stages: retrievers"), "{explained}");
    let id = explained.split_whitespace().find(|word| word.len() == 36).unwrap().to_owned();
    let why = cli.run(&["search", "interview", "--user", "lin", "--why", &id]).ok();
    assert!(why.contains(": it is hit 1\n") && why.contains("keyword #1 at"), "{why}");
    let why = cli.run(&["search", "interview", "--user", "lin", "--from-scene", "plot", "--why", &id]).ok();
    assert!(why.contains("cannot be seen from plot"), "{why}");
}

#[test]
fn search_marks_relevant_hits_and_uses_timezone() {
    let cli = CliFixture::new();
    let turns = r#"{"user":"lin","text":"The spare key is with Mo","time":"2026-03-01T20:30:00Z"}
{"user":"lin","text":"Mo sold the old piano and the lamp last week","time":"2026-03-01T21:30:00Z"}"#;
    cli.import(&cli.write("turns.jsonl", turns));
    let search = |zone: &str| cli.run(&["search", "spare key", "--user", "lin", "--timezone", zone]).ok();
    let shanghai = search("+08:00");
    let key = shanghai.lines().find(|line| line.contains("spare key is")).unwrap();
    assert!(key.contains(" yes ") && key.contains("2026-03-02 04:30"), "{shanghai}");
    assert!(search("-05:00").contains("2026-03-01 15:30"));
    let unrelated = cli.run(&["search", "key harbours drift past eleven empty islands", "--user", "lin"]).ok();
    assert!(unrelated.contains("spare key is") && !unrelated.contains(" yes "), "{unrelated}");
    let json = cli.run(&["search", "spare key", "--user", "lin", "--json"]).json();
    assert_eq!(json["hits"][0]["relevant"], true);
}

#[test]
fn import_report_uses_plurals() {
    let cli = CliFixture::new();
    let import = |name: &str, lines: &str| {
        let path = cli.write(name, lines);
        cli.run(&["import", path.to_str().unwrap()]).ok()
    };
    let one_line = r#"{"user":"lin","text":"I moved to Lisbon"}"#;
    let one = import("one.jsonl", one_line);
    assert!(one.contains("1 record added"), "{one}");
    assert!(one.contains("by vectors") && !one.contains("meaning"), "the hash embedder has none: {one}");
    let two = import("two.jsonl", "{\"user\":\"mo\",\"text\":\"tea\"}\n{\"user\":\"mo\",\"text\":\"rice\"}");
    assert!(two.contains("2 records added"), "{two}");
    let again = import("one.jsonl", one_line);
    assert!(again.contains("0 records added") && again.contains("1 record was stored already"), "{again}");
}

#[test]
fn records_are_forgotten_by_a_text_in_them() {
    let cli = CliFixture::new();
    for text in ["护照号是EH 4470-3312", "the passport is ｅｈ４４７０３３１２, keep it", "EH 4470 is a bus"]
    {
        cli.run(&["add", text, "--user", "lin"]).ok();
    }
    let by_text = ["forget", "--user", "lin", "--text", "eh44703312"];
    let preview = cli.run(&[&by_text[..], &["--dry-run"]].concat()).ok();
    assert!(preview.starts_with("2 records would be deleted") && preview.contains("EH 4470-3312"), "{preview}");
    let preview = cli.run(&[&by_text[..], &["--dry-run", "--json"]].concat()).json();
    assert_eq!((&preview["selected"]["turn"], cli.stats()["records"].as_u64()), (&2.into(), Some(3)));
    cli.run(&by_text).assert_fails(&["Delete 2 records", "add --yes"]);
    let report = cli.run(&[&by_text[..], &["--yes", "--json"]].concat()).json();
    assert_eq!((&report["forgotten"], cli.stats()["records"].as_u64()), (&2.into(), Some(1)));
    cli.run(&["forget", "--text", "EH 44", "--user", "lin", "--yes"]).ok();
    for (options, reason) in [
        (vec!["--text", "护", "--user", "lin"], "at least 3 (2 if all are Chinese)"),
        (vec!["--text", "passport"], "--user"),
        (vec!["1", "--text", "passport", "--user", "lin"], "cannot be used with"),
    ] {
        cli.run(&[vec!["forget", "--yes"], options].concat()).assert_fails(&[reason]);
    }
}

#[test]
fn a_text_is_redacted_in_records() {
    let cli = CliFixture::new();
    for text in ["护照号是EH 4470-3312", "the passport is ｅｈ４４７０３３１２, keep it", "EH 4470 is a bus"]
    {
        cli.run(&["add", text, "--user", "lin"]).ok();
    }
    let redact = ["forget", "--user", "lin", "--text", "eh44703312", "--redact"];
    let preview = cli.run(&[&redact[..], &["--dry-run"]].concat()).ok();
    assert!(preview.starts_with("2 records would be redacted"), "{preview}");
    cli.run(&redact).assert_fails(&["Redact 2 records", "add --yes"]);
    cli.run(&["certificate-key", "key.pem"]).ok();
    let certificate = ["--yes", "--certificate", "c.json", "--certificate-key", "key.pem"];
    let shown = cli.run(&[&redact[..], &certificate].concat()).ok();
    assert!(shown.starts_with("2 records redacted") && shown.contains("no trace"), "{shown}");
    let verified = cli.run(&["verify-certificate", "c.json", "--db", "memory.db"]).ok();
    assert!(verified.contains("passed") && !verified.contains("FAILED"), "{verified}");
    let found = cli.run(&["search", "passport", "--user", "lin"]).ok();
    assert!(found.contains("the passport is [deleted], keep it"), "{found}");
    let bytes = std::fs::read(cli.path("memory.db")).unwrap().to_ascii_lowercase();
    for written in ["eh 4470-3312", "ｅｈ４４７０３３１２", "eh44703312"] {
        assert!(!bytes.windows(written.len()).any(|window| window == written.as_bytes()), "{written}");
    }
    assert_eq!(cli.stats()["records"], 3);
    let again = cli.run(&[&redact[..], &["--yes", "--json"]].concat()).json();
    assert_eq!((&again["redacted"], &again["forgotten"]), (&0.into(), &0.into()));
    cli.run(&["forget", "--user", "lin", "--redact", "--yes"]).assert_fails(&["--text"]);
}

#[test]
fn a_text_is_kept_out() {
    let cli = CliFixture::new();
    cli.run(&["add", "护照号是EH 4470-3312", "--user", "lin"]).ok();
    let list = ["forget", "--user", "lin", "--standing-list"];
    let shown = cli.run(&list).ok();
    assert!(shown.contains("no text is kept out"), "{shown}");
    let standing = ["forget", "--user", "lin", "--text", "eh44703312", "--standing", "--yes"];
    let shown = cli.run(&standing).ok();
    assert!(shown.starts_with("1 record forgotten") && shown.contains("kept out from now on"), "{shown}");
    cli.run(&["add", "passport ＥＨ-4470 3312!", "--user", "lin"]).ok();
    let exported = cli.run(&["export", "--user", "lin"]).ok();
    assert!(exported.contains("passport [deleted]!"), "{exported}");
    // Another store takes it over from the export.
    cli.write("lin.jsonl", &exported);
    cli.run(&["import", "lin.jsonl", "--db", "other.db"]).ok();
    cli.run(&["add", "EH44703312 again", "--user", "lin", "--db", "other.db"]).ok();
    assert!(cli.run(&["export", "--user", "lin", "--db", "other.db"]).ok().contains("[deleted] again"));
    let listed = cli.run(&[&list[..], &["--json"]].concat()).json();
    let entry = listed["standing"][0]["id"].as_str().unwrap();
    assert!(cli.run(&list).ok().contains(entry));
    cli.run(&["forget", entry, "--user", "lin", "--yes"]).ok();
    cli.run(&["add", "EH 4470 3312 is back", "--user", "lin"]).ok();
    assert!(cli.run(&["export", "--user", "lin"]).ok().contains("EH 4470 3312 is back"));
    cli.run(&["forget", "--user", "lin", "--standing", "--yes"]).assert_fails(&["--text"]);
    cli.run(&["forget", "--standing-list"]).assert_fails(&["--user"]);
}

#[test]
fn forgotten_records_are_not_reimported() {
    let cli = CliFixture::new();
    let file = cli.write("turns.jsonl", TURNS);
    cli.import(&file);
    cli.run(&["forget", "1", "--user", "lin"]).assert_fails(&["--yes"]);
    cli.run(&["forget", "1", "--user", "lin", "--yes"]).ok();
    let again = cli.import(&file);
    assert_eq!((again["added"].as_u64(), again["forgotten"].as_u64()), (Some(0), Some(1)));
    let renamed = cli.write("renamed.jsonl", TURNS.replace("\"id\":\"1\"", "\"id\":\"other\""));
    assert_eq!(cli.import(&renamed)["forgotten"], 1, "the same text is blocked under another id");
    cli.run(&["show", "1", "--user", "lin"]).assert_fails(&["no record 1"]);
    cli.run(&["forget", "1", "--user", "lin", "--yes"]).assert_fails(&["not within"]);
    cli.run(&["forget", "--yes"]).assert_fails(&["--user"]);
    let report = cli.run(&["forget", "--user", "lin", "--yes"]).ok();
    assert!(report.starts_with("2 records forgotten"), "{report}");
    for row in ["records of kind turn", "records in the keyword index", "vectors", "tombstones, which block"] {
        let row =
            report.lines().find(|line| line.trim().starts_with(row)).unwrap_or_else(|| panic!("no {row}: {report}"));
        assert!(row.trim_end().ends_with('2'), "{row}");
    }
    assert_eq!(cli.stats()["records"], 1);
}

#[test]
fn export_round_trips_with_tombstones() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    cli.run(&["forget", "2", "--user", "lin", "--yes"]).ok();
    let exported = cli.run(&["export"]).ok();
    cli.run(&["export", "--output", "all.jsonl"]).ok();
    assert_eq!(fs::read_to_string(cli.path("all.jsonl")).unwrap(), exported);
    assert_eq!(exported.lines().count(), 4);

    let other = CliFixture::new();
    let report = other.import(&cli.path("all.jsonl"));
    assert_eq!((report["added"].as_u64(), report["tombstones"].as_u64()), (Some(3), Some(1)));
    assert_eq!(other.run(&["export"]).ok(), exported);
    assert_eq!(other.import(&other.write("turns.jsonl", TURNS))["forgotten"], 1, "the tombstone was exported too");
}

#[test]
fn text_can_be_added_shown_and_found() {
    let cli = CliFixture::new();
    let id = cli.run(&["add", "I keep the brass key under the stove", "--user", "mo", "--scene", "plot"]).ok();
    let shown = cli.run(&["show", id.trim()]).json();
    assert_eq!(shown["scene"], "plot");
    assert!(cli.run(&["search", "where is the key?", "--user", "mo"]).ok().contains("brass key"));
    assert!(cli.run(&["search", "key", "--user", "lin"]).ok().contains("nothing found"));
    assert!(cli.run(&["reindex"]).ok().contains("1 record reindexed"));
    assert!(cli.run(&["search", "where is the key?", "--user", "mo"]).ok().contains("brass key"));
}

#[test]
fn bad_lines_are_reported_by_number() {
    let cli = CliFixture::new();
    let mut file = b"{\"user\":\"lin\",\"text\":\"good\"}\nnot json\n".to_vec();
    file.extend_from_slice(b"{\"user\":\"lin\",\"text\":\" \"}\n\xff\xfe\n");
    file.extend_from_slice(b"{\"user\":\"lin\",\"text\":\"a\\u0000b\"}\n");
    file.extend_from_slice(
        b"{\"user\":\"lin\",\"text\":\"later\",\"time\":\"2999-01-01\"}\n{\"user\":\"lin\",\"text\":\"",
    );
    file.resize(file.len() + (10 << 20), b'x');
    file.extend_from_slice(b"\"}\n{\"user\":\"lin\",\"text\":\"also good\"}\n");
    let file = cli.write("bad.jsonl", file);
    let result = cli.run(&["import", file.to_str().unwrap()]);
    // Line 5 is imported without its NUL.
    assert_eq!(result.stderr.lines().count(), 5, "one line for each: {}", result.stderr);
    result.assert_fails(&[
        "line 2: it is no JSON",
        "line 3:",
        "empty",
        "line 4:",
        "UTF-8",
        "line 6:",
        "future",
        "line 7:",
        "4 MiB",
    ]);
    assert_eq!(cli.stats()["records"], 3);
}

#[test]
fn k15_strict_import_stops_and_can_be_resumed() {
    let cli = CliFixture::new();
    let file = cli.write(
        "bad.jsonl",
        "{\"user\":\"lin\",\"text\":\"good\"}\n{\"user\":\"lin\"}\n{\"user\":\"lin\",\"text\":\"later\"}\n",
    );
    cli.run(&["import", file.to_str().unwrap(), "--strict"]).assert_fails(&["bad.jsonl: line 2", "no \"text\""]);
    assert_eq!(cli.stats()["records"], 1, "the lines before the bad line are imported");
    let corrected =
        cli.write("bad.jsonl", "{\"user\":\"lin\",\"text\":\"good\"}\n{\"user\":\"lin\",\"text\":\"later\"}\n");
    cli.import(&corrected);
    assert_eq!(cli.stats()["records"], 2);
}

#[test]
fn mistakes_have_clear_error_messages() {
    let cli = CliFixture::new();
    let turns = cli.write("turns.jsonl", TURNS);
    let turns = turns.to_str().unwrap();
    cli.run(&["search", "x", "--user", "lin"]).assert_fails(&["memory.db does not exist", "memory import"]);
    cli.run(&["import", "absent.jsonl"]).assert_fails(&["absent.jsonl cannot be read"]);
    cli.run(&["import", "."]).assert_fails(&["directory"]);
    cli.run(&["import", turns, "--timezone", "Mars/Olympus"]).assert_fails(&["Mars/Olympus", "Asia/Shanghai"]);
    cli.run(&["import", turns, "--db", "missing/folder/memory.db"]).assert_fails(&["missing/folder"]);
    cli.run(&["import", turns, "--colour"]).assert_fails(&["--colour", "--help"]);
    let text_file = cli
        .write("notes.txt", "just some notes that are long enough to be looked at as a header of a file\n".repeat(20));
    cli.run(&["stats", "--db", text_file.to_str().unwrap()]).assert_fails(&["notes.txt", "SQLite"]);
    assert!(fs::read_to_string(text_file).unwrap().starts_with("just some notes"), "the file is not changed");
    cli.run(&["add", " ", "--user", "lin"]).assert_fails(&["empty"]);
    cli.run(&["add", "x"]).assert_fails(&["--user NAME"]);
    cli.import(Path::new(turns));
    cli.run(&["search", "  ", "--user", "lin"]).assert_fails(&["question is empty"]);
    cli.run(&["search", "x", "--user", "lin", "--since", "soon"]).assert_fails(&["2026-03-02"]);
    cli.run(&["show", "no-uuid"]).assert_fails(&["no record no-uuid within"]);
    cli.run(&["search", "x", "--user", " lin"]).assert_fails(&["white space"]);
}

#[test]
fn message_ids_are_unique_per_session() {
    let cli = CliFixture::new();
    let line =
        |session, text| format!("{{\"user\":\"u\",\"session\":\"{session}\",\"id\":\"1\",\"text\":\"{text}\"}}\n");
    let file = cli.write("t.jsonl", line("a", "alpha first") + &line("b", "beta first"));
    assert_eq!(cli.import(&file)["added"], 2);
    cli.run(&["show", "1", "--user", "u"]).assert_fails(&["2 records", "--session"]);
    assert_eq!(cli.run(&["show", "1", "--user", "u", "--session", "b"]).json()["text"], "beta first");
    let edited = cli.write("e.jsonl", line("a", "alpha again"));
    assert_eq!(cli.import(&edited)["different"], 1, "the report counts the differing record");
    cli.run(&["import", "e.jsonl", "--update"]).ok();
    assert_eq!(cli.run(&["show", "1", "--session", "a"]).json()["text"], "alpha again");
}

#[test]
fn export_does_not_overwrite_the_database() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    cli.run(&["export", "--output", "memory.db"]).assert_fails(&["the database itself"]);
    cli.run(&["export", "--output", "no/such/folder/x"]).assert_fails(&["no/such/folder/x cannot be written"]);
    assert_eq!(cli.stats()["records"], 4);
}

#[test]
fn negative_timezone_offset_is_accepted() {
    let cli = CliFixture::new();
    let id = cli.run(&["add", "x", "--user", "u", "--time", "2026-01-01T20:00:00", "--timezone", "-05:00"]).ok();
    assert_eq!(cli.run(&["show", id.trim()]).json()["occurred_at"], "2026-01-02T01:00:00Z");
}

#[test]
fn local_model_by_name_or_path() {
    let cli = CliFixture::new();
    cli.run(&["models", "check"]).assert_fails(&["no-models", "memory models fetch"]);
    cli.run(&["add", "x", "--user", "lin", "--embedder", "local:e5-small"])
        .assert_fails(&["e5-small-q4", "--models-dir"]);
    let notes = cli.write("model.bin", "no model at all");
    let named = format!("local:{}", notes.display());
    cli.run(&["add", "x", "--user", "lin", "--embedder", &named]).assert_fails(&["model.bin"]);
    cli.run(&["add", "x", "--user", "lin", "--embedder", "word2vec"]).assert_fails(&["local:e5-small"]);
    assert!(!cli.path("memory.db").exists(), "no database is created");
}

#[test]
fn eval_matches_a_worked_example() {
    let cli = CliFixture::new();
    let memories = cli.write("m.jsonl", TURNS);
    let questions = cli.write(
        "q.jsonl",
        concat!(
            r#"{"id":"q1","scope":"lin","question":"海鲜","category":"zh","gold":["1"]}"#,
            "\n",
            r#"{"id":"q2","scope":"lin","question":"interview","category":"en","gold_groups":[["3"],["none"]]}"#,
            "\n",
        ),
    );
    let (m, q) = (memories.to_str().unwrap(), questions.to_str().unwrap());
    let report = cli.run(&["eval", "--memories", m, "--questions", q, "--json", "--out", "r.jsonl"]).json();
    let fused = &report["fused"]["overall"];
    assert_eq!(
        (fused["recall"]["1"].as_f64(), fused["mrr"].as_f64(), fused["all"]["10"].as_f64()),
        (Some(0.75), Some(1.0), Some(0.5))
    );
    assert_eq!(report["by_category"]["zh"]["questions"], 1);
    let first: Value =
        serde_json::from_str(fs::read_to_string(cli.path("r.jsonl")).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!((first["question_id"].as_str(), first["retrieved"][0].as_str()), (Some("q1"), Some("1")));
    assert!(cli.run(&["eval", "--memories", m, "--questions", q]).ok().contains("by category"));
    cli.run(&["eval", "--memories", m, "--questions", m]).assert_fails(&["line 1"]);
}

#[test]
fn eval_measures_false_injections_and_runs_cases() {
    let cli = CliFixture::new();
    let memories = cli.write("m.jsonl", TURNS);
    let questions = cli.write(
        "q.jsonl",
        concat!(
            r#"{"id":"q1","scope":"lin","question":"海鲜","gold":["1"]}"#,
            "\n",
            r#"{"id":"q2","scope":"lin","question":"Zanzibar","gold":["3"]}"#,
            "\n",
        ),
    );
    let unanswerable =
        cli.write("u.jsonl", "{\"id\":\"u1\",\"scope\":\"lin\",\"question\":\"When did Nate fly to Tromsø?\"}\n");
    let cases = cli.write(
        "c.jsonl",
        concat!(
            r#"{"id":"c1","scope":"lin","question":"海鲜","expected":["1"],"forbidden":["3"]}"#,
            "\n",
            r#"{"id":"c2","scope":"lin","question":"海鲜","exact":true}"#,
            "\n",
        ),
    );
    let files = [&memories, &questions, &unanswerable, &cases].map(|path| path.to_str().unwrap());
    let [m, q, u, c] = files;
    let args = ["eval", "--memories", m, "--questions", q, "--abstention", u, "--cases", c];
    let report = cli.run(&[args.as_slice(), &["--json"]].concat()).json();
    let default = &report["abstention"]["default"];
    assert_eq!(default["answers_injected"].as_f64(), Some(0.5), "one of two questions shares a word: {report}");
    assert_eq!(default["false_injections"].as_f64(), Some(0.0), "{report}");
    assert_eq!((report["cases"]["passed"].as_u64(), report["cases"]["failed"].as_u64()), (Some(1), Some(1)));
    assert_eq!(report["cases"]["cases"][1]["unwanted"], serde_json::json!(["1"]));
    let shown = cli.run(&args).ok();
    assert!(shown.contains("0.2000 (default)") && shown.contains("1 case passed, 1 failed"), "{shown}");
    cli.run(&["eval", "--memories", m, "--questions", q, "--abstention", q]).assert_fails(&["q1", "has gold"]);
    let typo = cli.write("t.jsonl", "{\"id\":\"c1\",\"scope\":\"lin\",\"question\":\"x\",\"expect\":[]}\n");
    cli.run(&["eval", "--memories", m, "--questions", q, "--cases", typo.to_str().unwrap()])
        .assert_fails(&["expected"]);
}
