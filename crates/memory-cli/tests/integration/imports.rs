//! Imports of the data of other programs (K15): Chroma, the gateway's tables, SillyTavern, mem0.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::cli_fixture::{CliFixture, TURNS};

fn fixture(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).to_str().unwrap().to_owned()
}

/// Imports a fixture. Returns the report and the errors on standard error.
fn import(cli: &CliFixture, format: &str, name: &str, more: &[&str]) -> (Value, String) {
    let result = cli.run(&[&["import", &fixture(name), "--format", format, "--json"], more].concat());
    let report = result.stdout.lines().last().unwrap_or_else(|| panic!("{result:?}"));
    (serde_json::from_str(report).unwrap_or_else(|_| panic!("{result:?}")), result.stderr)
}

fn exported(cli: &CliFixture) -> Vec<Value> {
    cli.run(&["export"]).ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn counts(report: &Value) -> [u64; 4] {
    ["added", "unchanged", "passed_over", "bad_lines"].map(|key| report[key].as_u64().unwrap())
}

/// Returns the first hit of a query of Lin.
fn first(cli: &CliFixture, question: &str) -> Value {
    cli.run(&["search", question, "--user", "lin", "--json"]).json()["hits"][0]["record"].clone()
}

#[test]
fn k15_chroma_directories_are_imported() {
    for version in ["chroma/0.5", "chroma/1.5"] {
        let cli = CliFixture::new();
        let (report, errors) = import(&cli, "chroma", version, &[]);
        assert_eq!(counts(&report), [6, 0, 0, 1], "{version}: {errors}");
        assert!(errors.contains("collection summaries, item bare: it has no document"), "{errors}");
        assert_eq!(counts(&import(&cli, "chroma", version, &[]).0), [0, 6, 0, 1], "again");

        let allergy = first(&cli, "海鲜过敏");
        assert_eq!(allergy["text"], "我对海鲜过敏，虾也不行", "{version}: the latest text");
        assert_eq!(allergy["scope"]["session"], "monday");
        assert_eq!(
            (&allergy["scene"], &allergy["kind"], &allergy["role"]),
            (&"daily".into(), &"turn".into(), &"user".into())
        );
        assert_eq!(allergy["occurred_at"], "2026-02-16T12:00:00Z");
        assert_eq!(allergy["metadata"]["collection"], "conversations");
        assert_eq!(first(&cli, "hike in the mountains")["kind"], "summary");
        let mem0_hits = cli.run(&["search", "tea", "--user", "mo", "--json"]).json();
        let mem0_record = &mem0_hits["hits"][0]["record"];
        assert_eq!(
            (&mem0_record["text"], &mem0_record["id"]),
            (&"Likes green tea".into(), &"0192aaaa-0000-7000-8000-000000000001".into())
        );
        let all = exported(&cli);
        assert!(
            all.iter().all(|line| !line["text"].as_str().unwrap().contains("删除")),
            "{version}: deleted items are not imported"
        );
    }
}

#[test]
fn k15_chroma_collection_and_foreign_vectors() {
    let cli = CliFixture::new();
    let chroma = fixture("chroma/1.5");
    let base = ["import", chroma.as_str(), "--format", "chroma"];
    let run = |more: &[&str]| cli.run(&[&base[..], more].concat());
    run(&["--collection", "nothing"]).assert_fails(&["no collection 'nothing'", "conversations, summaries"]);
    run(&["--keep-vectors", "--embedder", "hash"]).assert_fails(&["item t1", "4 dimensions", "--embedder"]);
    assert_eq!(cli.stats()["records"], 0, "nothing is imported partially");
    assert!(run(&["--collection", "conversations"]).ok().contains("3 records added"));
    cli.run(&["import", &fixture("chroma"), "--format", "chroma"])
        .assert_fails(&["no chroma.sqlite3", "PersistentClient"]);
    cli.run(&["import", &fixture("mem0/server.json"), "--collection", "x"]).assert_fails(&["--format chroma"]);
    cli.run(&["import", &chroma]).assert_fails(&["is a directory", "--format"]);
}

#[test]
fn k15_table_rows_become_turns_and_summaries() {
    let cli = CliFixture::new();
    let (report, errors) = import(&cli, "csv", "tables/conversations.csv", &["--user", "lin"]);
    assert_eq!(counts(&report), [5, 0, 0, 2], "{errors}");
    assert!(
        errors.contains("line 6: it has no text") && errors.contains("line 7: it has 14 cells, the first line 12"),
        "{errors}"
    );
    let (report, errors) = import(&cli, "csv", "tables/summaries.jsonl", &["--user", "lin"]);
    assert_eq!((counts(&report), errors.as_str()), ([2, 0, 0, 0], ""));
    assert_eq!(counts(&import(&cli, "csv", "tables/conversations.csv", &["--user", "lin"]).0), [0, 5, 0, 2]);

    let all = exported(&cli);
    let texts: Vec<&str> = all.iter().map(|line| line["text"].as_str().unwrap()).collect();
    let expected = [
        "今天好累啊",
        "抱抱你，早点睡",
        "来玩剧本吧！\n你演 \"Krueger\"",
        "*看着你* 好。",
        "My interview has moved to Friday",
        "Dream 累了，Krueger 安慰了她；两人开始玩剧本。",
        "The interview is on Friday now.",
    ];
    assert_eq!(texts, expected, "in the order of the rows");
    assert_eq!((&all[2]["round"], &all[2]["scene"], &all[2]["role"]), (&2.into(), &"plot".into(), &"user".into()));
    assert_eq!(all[2]["entities"], serde_json::json!(["Krueger", "new york"]));
    assert_eq!(all[2]["time"], "2026-02-18T13:05:00Z");
    assert_eq!((&all[5]["kind"], &all[5]["metadata"]["end_round"]), (&"summary".into(), &5.into()));
    cli.run(&["import", &fixture("chroma/make.py"), "--format", "csv"]).assert_fails(&["user_msg"]);
}

#[test]
fn k15_sillytavern_chats_keep_speakers_and_times() {
    let cli = CliFixture::new();
    let (report, errors) = import(&cli, "sillytavern", "sillytavern", &["--user", "lin", "--timezone", "+08:00"]);
    assert_eq!(counts(&report), [8, 0, 2, 0], "{errors}");
    assert_eq!(
        counts(&import(&cli, "sillytavern", "sillytavern", &["--user", "lin", "--timezone", "+08:00"]).0),
        [0, 8, 2, 0]
    );
    let all = exported(&cli);
    let of = |text: &str| all.iter().find(|line| line["text"].as_str().unwrap().contains(text)).unwrap();
    let reply = of("mushrooms");
    assert_eq!(
        (&reply["agent"], &reply["speaker"], &reply["role"]),
        (&"Seraphina".into(), &"Seraphina".into(), &"assistant".into())
    );
    assert_eq!(reply["session"], "Seraphina - 2026-02-16@20h00m00s000ms");
    let metadata = serde_json::json!({"swipes": 2, "model": "deepseek-chat", "time_zone": "+08:00"});
    assert_eq!(reply["metadata"], metadata, "without the thoughts");
    assert_eq!((&of("雾")["role"], &of("雾")["time"]), (&"system".into(), &"2026-02-16T12:07:00Z".into()));
    assert_eq!(
        (&of("tower")["metadata"]["hidden"], &of("tower")["time"]),
        (&true.into(), &"2026-02-16T12:08:00.5Z".into())
    );
    let key = of("brass key");
    assert_eq!(
        (&key["session"], key.get("agent"), &key["speaker"]),
        (&"group".into(), None, &"Anna".into()),
        "a group chat has no single agent"
    );
    assert_eq!(first(&cli, "虾汤")["text"], "我对海鲜过敏，请别给我虾汤");

    // Another swipe is the same message with another text.
    let chat = fs::read_to_string(fixture("sillytavern/Seraphina - 2026-02-16@20h00m00s000ms.jsonl")).unwrap();
    let swiped = chat.replace(
        "\"send_date\":\"2026-02-16T12:05:00.000Z\",\"mes\":\"Then I will cook mushrooms instead of shrimp.\"",
        "\"send_date\":\"2026-02-16T12:06:00.000Z\",\"mes\":\"Then I will bake bread.\"",
    );
    assert_ne!(swiped, chat);
    let file = cli.write("Seraphina - 2026-02-16@20h00m00s000ms.jsonl", swiped);
    let again = cli.run(&[
        "import",
        file.to_str().unwrap(),
        "--format",
        "sillytavern",
        "--user",
        "lin",
        "--timezone",
        "+08:00",
        "--update",
        "--json",
    ]);
    let report: Value = serde_json::from_str(again.ok().lines().last().unwrap()).unwrap();
    assert_eq!((&report["updated"], &report["added"]), (&1.into(), &0.into()));
    let nameless = cli.write("nameless.jsonl", "{\"text\":\"x\"}\n");
    cli.run(&["import", nameless.to_str().unwrap(), "--format", "sillytavern"]).assert_fails(&["line 1 is no header"]);
}

#[test]
fn k15_both_mem0_formats_are_imported() {
    let cli = CliFixture::new();
    let (report, errors) = import(&cli, "mem0", "mem0/server.json", &[]);
    assert_eq!(counts(&report), [2, 0, 0, 1]);
    assert!(errors.contains("line 5: it has no \"memory\""), "{errors}");
    let (report, errors) = import(&cli, "mem0", "mem0/platform.json", &[]);
    assert_eq!((counts(&report), errors.as_str()), ([1, 1, 0, 0], ""), "a memory keeps its id");
    let all = exported(&cli);
    assert_eq!(all[0]["id"], "3f1c1c9e-6b7f-4d5e-9a43-0c8c5b1f2a01");
    assert_eq!((&all[0]["time"], &all[0]["agent"]), (&"2026-02-16T12:00:00Z".into(), &"kai".into()));
    assert_eq!((&all[2]["tags"][0], &all[2]["metadata"]["mem0.expires"]), (&"work".into(), &"2026-02-28".into()));
    assert_eq!(first(&cli, "茶还是咖啡")["text"], "喜欢绿茶，不喜欢咖啡");
}

#[test]
fn k15_dry_run_writes_nothing() {
    let cli = CliFixture::new();
    let (report, errors) = import(&cli, "chroma", "chroma/1.5", &["--dry-run"]);
    assert_eq!(counts(&report), [6, 0, 0, 1]);
    assert!(errors.contains("item bare"), "{errors}");
    assert_eq!(report["dry_run"]["users"], serde_json::json!(["lin", "mo"]));
    assert_eq!(report["dry_run"]["kinds"]["summary"]["count"], 2);
    assert!(!cli.path("memory.db").exists(), "a dry run creates no file");

    import(&cli, "chroma", "chroma/1.5", &["--collection", "summaries"]);
    cli.run(&["forget", "s1", "--user", "lin", "--yes"]).ok();
    let before = fs::read(cli.path("memory.db")).unwrap();
    let (report, _) = import(&cli, "chroma", "chroma/1.5", &["--dry-run"]);
    assert_eq!((counts(&report), &report["forgotten"]), ([3, 2, 0, 1], &1.into()));
    assert_eq!(fs::read(cli.path("memory.db")).unwrap(), before);
    let shown = cli.run(&["import", &fixture("chroma/1.5"), "--format", "chroma", "--dry-run"]);
    assert!(
        shown.stdout.contains("3 records would be added") && shown.stdout.contains("nothing was written"),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("写在最后的一条"), "{shown:?}");
    let in_zone = |zone: &str| {
        cli.run(&["import", &fixture("chroma/1.5"), "--format", "chroma", "--dry-run", "--timezone", zone]).stdout
    };
    assert_ne!(in_zone("+08:00"), in_zone("-05:00"), "samples are in the requested zone");
    // The import has the result that the dry run reports.
    let (real, _) = import(&cli, "chroma", "chroma/1.5", &[]);
    assert_eq!((counts(&real), &real["forgotten"]), ([3, 2, 0, 1], &1.into()));
}

#[test]
fn markdown_files_are_exported_and_imported_once() {
    let cli = CliFixture::new();
    let turns = cli.write("turns.jsonl", TURNS);
    cli.import(&turns);
    cli.run(&["add", "Lin \u{201c}likes\u{201d}: tea\n---\nand rain", "--kind", "note", "--user", "lin"]).ok();
    let report = cli.run(&["export", "--format", "markdown", "-o", "notes"]).ok();
    let files = exported_files(&cli.path("notes"));
    assert_eq!(files.len(), 5, "{report}");
    let interview = files.iter().find(|text| text.contains("interview")).unwrap();
    for line in [
        "type: \"turn\"",
        "kind: \"turn\"",
        "user: \"lin\"",
        "session: \"b\"",
        "speaker: \"Lin\"",
        "scene: \"daily\"",
        "- \"work\"",
    ] {
        assert!(interview.contains(&format!("\n{line}\n")), "{line}: {interview}");
    }
    let listing = fs::read_to_string(cli.path("notes/index.md")).unwrap();
    assert_eq!(
        listing,
        "---\nokf_version: \"0.2\"\n---\n\n# Memories\n\n* [note](note/) - 1 record\n* [turn](turn/) - 4 records\n"
    );
    // A second import finds every record by its id.
    let again = cli.run(&["import", "notes", "--format", "markdown", "--json"]).ok();
    assert_eq!(cli.stats()["records"], 5, "{again}");
    // In another database the records are the same.
    cli.run(&["import", "notes", "--format", "markdown", "--db", "other.db"]).ok();
    let lines = |db: &str| {
        let text = cli.run(&["export", "--db", db]).ok();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let field = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let values = |record: Value| {
            let is_added = |key: &&str| record.pointer(&format!("/metadata/{key}")).is_some();
            assert!(!["type", "generated"].iter().any(is_added), "{record}");
            ["id", "text", "kind", "speaker", "scene"].map(|name| field(&record, name))
        };
        records.map(values).collect::<BTreeSet<_>>()
    };
    assert_eq!(lines("memory.db"), lines("other.db"));
    cli.run(&["export", "--format", "okf", "-o", "notes"]).assert_fails(&["has files already"]);
    cli.run(&["export", "--format", "markdown"]).assert_fails(&["needs --output FOLDER"]);
}

/// Returns the texts of all files in the folders of a folder.
fn exported_files(folder: &Path) -> Vec<String> {
    let kinds = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = kinds.flat_map(|kind| fs::read_dir(kind).unwrap()).map(|entry| entry.unwrap().path());
    files.map(|file| fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn a_day_is_a_day_of_the_user_after_every_transfer() {
    let cli = CliFixture::new();
    let lines = [
        r#"{"user": "lin", "text": "Ate ramen with Bo", "time": "2026-11-27T20:00:00-08:00"}"#,
        r#"{"user": "lin", "text": "Fixed the bike", "time": "2026-11-26T20:00:00-08:00"}"#,
        r#"{"user": "mei", "text": "昨天和小波吃了拉面", "time": "2026-11-28T07:30:00", "time_zone": "Asia/Shanghai"}"#,
        r#"{"user": "mei", "text": "前天修好了自行车", "time": "2026-11-28T07:31:00+08:00"}"#,
    ];
    cli.write("in.jsonl", lines.join("\n"));
    cli.run(&["import", "in.jsonl", "--timezone", "Asia/Shanghai", "--db", "first.db"]).ok();
    cli.write("out.jsonl", cli.run(&["export", "--db", "first.db"]).ok());
    cli.run(&["import", "out.jsonl", "--timezone", "America/New_York", "--db", "second.db"]).ok();
    cli.run(&["add", "Bought a lamp", "--user", "wu", "--db", "third.db"]).ok();
    cli.run(&["merge", "second.db", "--into", "third.db"]).ok();
    cli.run(&["copy", "--from", "third.db", "--to", "fourth.db"]).ok();
    cli.run(&["reindex", "--db", "fourth.db"]).ok();
    for db in ["first.db", "second.db", "third.db", "fourth.db"] {
        for (user, question, answer) in [
            ("lin", "What did I do yesterday?", "Ate ramen with Bo"),
            ("lin", "What did I do on November 26?", "Fixed the bike"),
            ("mei", "11月27日我做了什么", "昨天和小波吃了拉面"),
            ("mei", "11月26日发生了什么", "前天修好了自行车"),
        ] {
            let zone = if user == "lin" { "America/Los_Angeles" } else { "Asia/Shanghai" };
            let mut arguments = vec!["search", question, "--user", user, "--db", db, "--json", "--timezone", zone];
            arguments.extend(["--now", "2026-11-28T10:00:00-08:00"]);
            let found = cli.run(&arguments).json();
            assert_eq!(found["hits"][0]["record"]["text"], answer, "{question} in {db}");
        }
    }
}
