//! `memory test` and `memory test record`.

use std::fs;

use serde_json::Value;

use crate::cli_fixture::{CliFixture, CommandOutput, TURNS};

/// A folder with a store of four turns.
fn store() -> CliFixture {
    let cli = CliFixture::new();
    let turns = cli.write("turns.jsonl", TURNS);
    cli.import(&turns);
    cli
}

/// Runs a file of cases. Returns the output and the exit code.
fn test(cli: &CliFixture, cases: &str, options: &[&str]) -> (CommandOutput, Option<i32>) {
    cli.write("cases.toml", cases);
    let arguments: Vec<&str> = ["test", "cases.toml"].into_iter().chain(options.iter().copied()).collect();
    let output = cli.command(&arguments).output().unwrap();
    let code = output.status.code();
    (CommandOutput::of(output), code)
}

/// Returns the lines of JSON.
fn lines(output: &CommandOutput) -> Vec<Value> {
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const PASSING: &str = r#"
[defaults]
user = "lin"

[[case]]
name = "allergy"
query = "我对什么过敏？"
expect = [{ text = "海鲜", rank = 1 }]
forbid = ["Lisbon"]

[[case]]
name = "interview"
query = "When is my interview?"
limit = 2
expect = [{ regex = "(?i)friday" }, { id = "3" }]

[[case]]
name = "other user"
user = "mo"
query = "Where did I move to?"
expect = ["lisbon"]
forbid = ["interview"]

[[case]]
name = "unknown"
query = "quantum chromodynamics"
abstain = true
"#;

#[test]
fn cases_pass_in_both_languages_and_write_nothing() {
    let cli = store();
    let before = (cli.run(&["export"]).ok(), cli.stats());
    let (output, code) = test(&cli, PASSING, &[]);
    assert_eq!(code, Some(0), "{output:?}");
    assert_eq!(output.stdout.lines().last(), Some("4 cases passed, 0 failed"), "{output:?}");
    assert_eq!(output.stdout.matches("ok ").count(), 4, "{output:?}");
    assert_eq!(output.stderr, "");
    let one = test(&cli, PASSING, &["--case", "allergy", "--json"]).0;
    let one = lines(&one);
    assert_eq!((one[0]["name"].as_str(), one[0]["passed"].as_bool()), (Some("allergy"), Some(true)));
    assert_eq!(one[1], serde_json::json!({ "cases": 1, "passed": 1, "failed": 0 }));
    let (unknown, code) = test(&cli, PASSING, &["--case", "allergies"]);
    assert_eq!(code, Some(2));
    unknown.assert_fails(&["\"allergies\"", "\"allergy\", \"interview\""]);
    assert_eq!((cli.run(&["export"]).ok(), cli.stats()), before);
}

#[test]
fn each_failure_is_explained() {
    let cli = store();
    let id = cli.run(&["add", "The violin is in the attic", "--user", "lin", "--session", "c"]).ok();
    cli.run(&["retract", id.trim(), "--user", "lin", "--reason", "wrong"]).ok();
    let cases = r#"
[[case]]
name = "below the rank"
user = "lin"
query = "记住了海鲜过敏"
limit = 1
expect = ["不点虾"]

[[case]]
name = "retracted"
user = "lin"
query = "Where is the violin?"
expect = ["attic"]

[[case]]
name = "of another user"
user = "lin"
query = "Where did I move to?"
expect = ["Lisbon"]

[[case]]
name = "never stored"
user = "lin"
query = "Which dog do I have?"
expect = [{ text = "Biscuit", note = "the dog" }]

[[case]]
name = "of another session"
user = "lin"
session = "a"
query = "When is my interview?"
expect = [{ id = "3" }]

[[case]]
name = "filtered"
user = "lin"
query = "When is my interview?"
kind = "note"
expect = ["Friday"]

[[case]]
name = "forbidden"
user = "lin"
query = "海鲜过敏"
forbid = ["海鲜"]
abstain = true
"#;
    let (output, code) = test(&cli, cases, &[]);
    assert_eq!(code, Some(1), "{output:?}");
    let text = &output.stdout;
    assert!(text.ends_with("0 cases passed, 7 failed\n"), "{text}");
    let reasons = [
        "FAILED  below the rank (line 2)",
        "expected: text \"不点虾\" is not the first hit",
        "and 1 are given",
        "it is revoked, and only active records are found",
        "no record within tenant default, user lin matches; ",
        " does, at tenant default, user mo",
        "text \"Biscuit\" (\"the dog\") is not among the first 10 hits",
        "no record of tenant default matches: it was never stored, was deleted or has expired",
        "no record within tenant default, user lin, session a matches; ",
        "it does not match the filter",
        "forbidden: text \"海鲜\" is hit 1 (relevant, ",
        "abstain: hit 1 is relevant (",
        "  hits:\n     1  relevant     ",
    ];
    for reason in reasons {
        assert!(text.contains(reason), "'{reason}' is not in:\n{text}");
    }
    let (output, code) = test(&cli, cases, &["--json", "--junit", "report.xml"]);
    assert_eq!(code, Some(1));
    let lines = lines(&output);
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[1]["failures"][0]["explanations"][0]["verdict"], "not_active");
    assert_eq!(lines[6]["failures"][0]["kind"], "forbidden");
    assert_eq!(lines[7], serde_json::json!({ "cases": 7, "passed": 0, "failed": 7 }));
    let junit = fs::read_to_string(cli.path("report.xml")).unwrap();
    assert!(junit.contains(r#"<testsuite name="cases.toml" tests="7" failures="7">"#), "{junit}");
    assert!(
        junit.contains(r#"<testcase name="retracted" classname="cases.toml" file="cases.toml" line="9">"#),
        "{junit}"
    );
    assert!(junit.contains("text &quot;attic&quot; is not among"), "{junit}");
}

#[test]
fn blocks_for_a_model_are_tested() {
    let cli = store();
    cli.run(&["add", "My dog is called Biscuit.", "--user", "lin", "--session", "d"]).ok();
    let cases = r#"
[defaults]
user = "lin"

[[case]]
name = "injected"
target = "injection"
query = "Do you remember my dog's name?"
expect = ["Biscuit"]
forbid = ["Lisbon"]

[[case]]
name = "small talk"
target = "injection"
query = "嗯嗯"
abstain = true

[[case]]
name = "already in the conversation"
target = "injection"
query = "Do you remember my dog's name?"
conversation = ["My dog is called Biscuit."]
forbid = ["Biscuit"]

[[case]]
name = "companion"
target = "context"
session = "d"
query = "What is my dog called?"
expect = ["Biscuit"]
forbid = ["海鲜"]
"#;
    let (output, code) = test(&cli, cases, &[]);
    assert_eq!(code, Some(0), "{output:?}");
    let broken =
        cases.replace("expect = [\"Biscuit\"]", "forbid = [\"Biscuit\"]").replace("forbid = [\"Lisbon\"]\n", "");
    let (output, code) = test(&cli, &broken.replace("forbid = [\"海鲜\"]\n", ""), &[]);
    assert_eq!(code, Some(1), "{output:?}");
    assert!(output.stdout.ends_with("2 cases passed, 2 failed\n"), "{output:?}");
    assert!(output.stdout.contains("rule of injection: recall\n  block:\n"), "{output:?}");
    let missing = "[[case]]\nuser = 'lin'\ntarget = 'injection'\nquery = '嗯嗯'\nexpect = ['Biscuit']";
    let (output, _) = test(&cli, missing, &[]);
    assert!(output.stdout.contains("text \"Biscuit\" is not in the block"), "{output:?}");
    assert!(output.stdout.contains("rule of injection: nothing\n  the block is empty"), "{output:?}");
}

#[test]
fn the_time_of_a_case_decides_what_last_week_means() {
    let cli = store();
    let cases = |now: &str| {
        format!(
            "[[case]]\nuser = 'lin'\nquery = 'What moved yesterday?'\nonly_then = true\nnow = {now}\ntimezone = 'UTC'\n\
             expect = [{{ text = 'interview', relevant = false }}]"
        )
    };
    assert_eq!(test(&cli, &cases("2026-03-03T08:00:00Z"), &[]).1, Some(0));
    assert_eq!(test(&cli, &cases("'2026-03-03'"), &[]).1, Some(0));
    let (output, code) = test(&cli, &cases("'2026-03-08'"), &[]);
    assert_eq!(code, Some(1), "{output:?}");
    assert!(output.stdout.contains("it does not match the filter"), "{output:?}");
}

#[test]
fn a_case_can_search_what_was_stored_at_a_time() {
    let cli = store();
    let cases = |as_of: &str| {
        format!(
            "[[case]]\nuser = 'lin'\nquery = 'When is the interview?'\nas_of = {as_of}\n\
             expect = [{{ text = 'interview', relevant = false }}]"
        )
    };
    let (output, code) = test(&cli, &cases("'2100-01-01'"), &[]);
    assert_eq!(code, Some(0), "{output:?}");
    let (output, code) = test(&cli, &cases("2020-01-01T00:00:00Z"), &[]);
    assert_eq!(code, Some(1), "nothing was stored then: {output:?}");
    let misplaced =
        "[[case]]\nuser = 'lin'\nquery = 'hello'\ntarget = 'injection'\nas_of = '2026-01-01'\nabstain = true";
    let (output, code) = test(&cli, misplaced, &[]);
    assert_eq!(code, Some(2), "{output:?}");
    assert!(output.stderr.contains("as_of has no effect with target = \"injection\""), "{output:?}");
}

#[test]
fn files_that_are_not_valid_have_exit_code_2() {
    let cli = store();
    let refused = |cases: &str, words: &[&str]| {
        let (output, code) = test(&cli, cases, &[]);
        assert_eq!(code, Some(2), "{output:?}");
        output.assert_fails(words);
    };
    refused("", &["cases.toml contains no case", "[[case]]", "memory test record cases.toml QUERY"]);
    refused("# only a comment\n[defaults]\nuser = 'lin'\n", &["contains no case"]);
    refused("[[case]]\nquery = 'x'\nexpects = ['a']", &["cases.toml is not valid", "line 3", "`expects`", "`expect`"]);
    refused("[[case]]\nquery = 'x'", &["the case at line 1", "expects nothing"]);
    let output = cli.command(&["test", "missing.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    CommandOutput::of(output).assert_fails(&["missing.toml does not exist", "memory test record missing.toml"]);
    let output = cli.command(&["test"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    // A store that does not exist is an error of another kind.
    cli.write("cases.toml", PASSING);
    let output = cli.command(&["test", "cases.toml", "--db", "nowhere.db"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    CommandOutput::of(output).assert_fails(&["nowhere.db does not exist"]);
    assert!(!cli.path("nowhere.db").exists());
}

#[test]
fn recorded_cases_pass_until_the_memory_changes() {
    let cli = store();
    let file = "# Our cases: keep this comment.\n[defaults]\nsession = \"a\" # the first one\n\n[[case]]\nuser = \"lin\"\n\
                query = \"过敏\"\nexpect = [\"海鲜\"]";
    cli.write("cases.toml", file);
    let record = |arguments: &[&str]| {
        let all: Vec<&str> = ["test", "record", "cases.toml"].iter().chain(arguments).copied().collect();
        cli.run_with(&[("MEMORY_DB", "memory.db")], &all)
    };
    let shown = record(&["我对什么过敏？", "--user", "lin"]).ok();
    assert!(
        shown.contains("我对海鲜过敏") && shown.ends_with("added \"我对什么过敏？\" to cases.toml: it passes now\n"),
        "{shown}"
    );
    record(&["我对什么过敏？", "--user", "lin", "--forbid", "99", "--session", "b"])
        .assert_fails(&["--forbid 99: neither the number of a hit ", "user lin, session b"]);
    record(&[
        "我对什么过敏？",
        "--user",
        "lin",
        "--name",
        "over \"there\"",
        "--expect",
        "1",
        "--abstain",
        "--limit",
        "4",
    ])
    .assert_fails(&["contradicts"]);
    record(&["quantum chromodynamics", "--user", "lin", "--abstain", "--name", "un\"known\""]).ok();
    record(&["我对什么过敏？", "--user", "lin"]).ok();
    record(&["interview on Friday", "--user", "lin", "--session", "b", "--expect", "3", "--limit", "3"]).ok();
    let text = fs::read_to_string(cli.path("cases.toml")).unwrap();
    assert!(text.starts_with(&format!("{file}\n\n[[case]]\n")), "{text}");
    assert!(text.contains("note = \"我对海鲜过敏\""), "{text}");
    assert!(text.contains("name = \"我对什么过敏？ (2)\""), "{text}");
    assert_eq!(text.matches("[[case]]").count(), 5, "{text}");
    let output = cli.run(&["test", "cases.toml"]);
    assert!(output.success && output.stdout.ends_with("5 cases passed, 0 failed\n"), "{output:?}");
    let found = cli.run(&["search", "interview", "--user", "lin", "--json"]).json();
    let id = found["hits"][0]["record"]["id"].as_str().unwrap().to_owned();
    cli.run(&["forget", &id, "--user", "lin", "--yes"]).ok();
    let output = cli.run(&["test", "cases.toml"]);
    assert!(!output.success && output.stdout.ends_with("4 cases passed, 1 failed\n"), "{output:?}");
    assert!(output.stdout.contains("My interview has moved to Friday"), "the note names the record: {output:?}");
    assert!(output.stdout.contains("it was never stored, was deleted or has expired"), "{output:?}");
}

#[test]
fn nothing_is_recorded_without_a_relevant_hit_or_into_a_broken_file() {
    let cli = store();
    let record = |arguments: &[&str]| {
        let all: Vec<&str> = ["test", "record", "new.toml"].iter().chain(arguments).copied().collect();
        cli.run(&all)
    };
    record(&["quantum chromodynamics", "--user", "lin"]).assert_fails(&["--abstain", "--expect"]);
    record(&["海鲜", "--user", "nobody"]).assert_fails(&["nothing found within", "--abstain"]);
    record(&["海鲜", "--user", "lin", "--since", "last week"]).assert_fails(&["2026-03-02"]);
    assert!(!cli.path("new.toml").exists());
    // A record that is not found yet can be expected: the case fails until it is.
    let shown = record(&["海鲜", "--user", "lin", "--limit", "1", "--expect", "3"]).ok();
    assert!(shown.contains("it fails now") && shown.contains("My interview has moved"), "{shown}");
    assert!(fs::read_to_string(cli.path("new.toml")).unwrap().starts_with("# Cases of `memory test`"));
    let broken = "[[case]]\nquery = 'x'\nexpect = [";
    cli.write("new.toml", broken);
    let output = record(&["海鲜", "--user", "lin"]);
    output.assert_fails(&["new.toml is not valid, and was not changed", "line"]);
    assert_eq!(fs::read_to_string(cli.path("new.toml")).unwrap(), broken);
}
