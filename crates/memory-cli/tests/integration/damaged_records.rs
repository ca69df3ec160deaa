//! Records with a damaged value: what the command says about them, and how it moves them out of the database.

use std::fs;

use serde_json::Value;

use crate::cli_fixture::{CliFixture, TURNS};

/// Damages the metadata of the first of [`TURNS`]: an object becomes text that is no JSON.
fn damage_metadata(cli: &CliFixture) {
    let path = cli.path("memory.db");
    let mut bytes = fs::read(&path).unwrap();
    let (old, new) = (r#"{"place":"上海""#.as_bytes(), r#"["place":"上海""#.as_bytes());
    let places: Vec<usize> =
        bytes.windows(old.len()).enumerate().filter(|(_, w)| *w == old).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "the metadata is in the file");
    for at in places {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    fs::write(path, bytes).unwrap();
}

fn texts(lines: &str) -> Vec<String> {
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| row["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn damaged_records_are_named_and_can_be_moved_to_a_file() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    damage_metadata(&cli);

    let exported = cli.run(&["export", "--user", "lin", "-o", "-"]);
    assert_eq!(texts(&exported.stdout), ["记住了，不点虾", "My interview has moved to Friday"]);
    assert!(exported.stderr.contains("metadata"), "{exported:?}");
    let scanned = cli.run(&["scan-secrets", "--user", "lin", "--json"]).ok();
    let listed: Value = serde_json::from_str(scanned.lines().last().unwrap()).unwrap();
    let damaged = listed["damaged"].as_array().unwrap();
    assert_eq!((damaged.len(), &damaged[0]["column"]), (1, &Value::from("metadata")), "{listed}");

    cli.run(&["doctor"]).assert_fails(&[]);
    let shown = cli.run(&["doctor"]).stdout;
    assert!(shown.contains("--quarantine"), "{shown}");
    cli.write("taken.jsonl", "");
    cli.run(&["doctor", "--repair", "--quarantine", "taken.jsonl"]).assert_fails(&["taken.jsonl exists already"]);
    cli.run(&["doctor", "--quarantine", "moved.jsonl"]).assert_fails(&["--repair"]);

    let repaired = cli.run(&["doctor", "--repair", "--quarantine", "moved.jsonl"]);
    assert!(repaired.stdout.contains("no problems found"), "{repaired:?}");
    let moved: Value = serde_json::from_str(&fs::read_to_string(cli.path("moved.jsonl")).unwrap()).unwrap();
    assert_eq!(moved["damaged"], "metadata");
    assert_eq!((&moved["row"]["text"], &moved["row"]["id"]), (&Value::from("我对海鲜过敏"), &damaged[0]["id"]));
    let left = cli.run(&["export", "--user", "lin", "-o", "-"]).ok();
    assert_eq!(texts(&left), ["记住了，不点虾", "My interview has moved to Friday"]);
    let again = cli.run(&["doctor", "--repair", "--quarantine", "second.jsonl"]);
    assert!(again.success, "{again:?}");
    assert!(again.stderr.contains("no record has to be removed"), "{again:?}");
    assert!(!cli.path("second.jsonl").exists(), "a file is only left if something was moved");
}
