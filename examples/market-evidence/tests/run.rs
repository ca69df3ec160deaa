//! Runs the example as a process, without a key.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::process::Command;

use memory_engine::postgres::{PostgresOptions, migrate_down};

/// Returns the output and the log.
fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_market-evidence"));
    for variable in
        ["CHAT_SERVICE", "EMBEDDING_SERVICE", "SUPABASE_URL", "SUPABASE_SERVICE_KEY", "MEMORY_BACKEND", "MARKET_DB"]
    {
        command.env_remove(variable);
    }
    for proxy in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(proxy);
    }
    let output = command.env("NO_COLOR", "1").args(arguments).envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (shown, logged) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{shown}{logged}");
    (shown, logged)
}

/// Returns the output for one flash.
fn output_of<'s>(shown: &'s str, flash: &str) -> &'s str {
    shown.split("▶ ").find(|part| part.starts_with(flash)).unwrap_or_else(|| panic!("{flash} is not in: {shown}"))
}

fn assert_contains_all(part: &str, words: &[&str]) {
    for word in words {
        assert!(part.contains(word), "'{word}' is not in: {part}");
    }
}

#[test]
fn e7_e8_both_layers_run_against_a_stand_in_for_supabase() {
    let (shown, logged) = run(&["--stand-in"], &[]);
    let similar = output_of(&shown, "SEC approves");
    assert_contains_all(
        similar,
        &[
            "fast   regulation · ETH · 0.90",
            "supabase_vector 1.00",
            "SEC approves spot Ethereum ETF staking, the",
            "web    closed",
        ],
    );
    assert!(
        !similar.contains("local_keyword") && !similar.contains("supabase_keyword"),
        "only the vector search: {similar}"
    );
    assert_contains_all(
        output_of(&shown, "美联储"),
        &["supabase_keyword", "降息 25 个基点", "\"event_type\":\"policy\""],
    );
    let by_desk = output_of(&shown, "狗狗币停机");
    assert_contains_all(by_desk, &["交易台笔记：狗狗币停机期间"]);
    let unknown = output_of(&shown, "Undersea cable");
    assert_contains_all(unknown, &["memory no evidence", "web    open"]);
    // One common keyword finds news about the asset with the highest score, and none about the event.
    let weak = output_of(&shown, "黄金产区");
    assert_contains_all(weak, &["supabase_keyword 1.00", "web    open", "(strength 0.50)"]);
    let rumour = output_of(&shown, "网传腾讯");
    assert!(rumour.contains("deep   skipped") && !rumour.contains("memory "), "{rumour}");
    // The output has the same form, with evidence and without.
    let deep = |part: &str| {
        let line = part.lines().find_map(|line| line.trim().strip_prefix("deep   {")).unwrap().to_owned();
        line.split("\":").filter_map(|piece| piece.rsplit('"').next().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(deep(similar).len(), deep(unknown).len());
    // E7: one log line for each step with its outcome.
    assert_contains_all(
        &logged,
        &[
            "evidence found slot=\"supabase_vector\" hits=",
            "threshold=0.85",
            "no evidence found slot=\"supabase_vector\" dims=1536",
            "evidence found slot=\"supabase_keyword\"",
        ],
    );
    assert!(!logged.contains("sb_secret"), "{logged}");
    // The stand-in writes no log, so that each step of a flash has one line.
    let steps = |words: &str| logged.lines().filter(|line| line.contains(words)).count();
    assert_eq!(steps("slot=\"supabase_vector\""), 6, "{logged}");
    assert_contains_all(
        &shown,
        &[
            "supabase_vector: 1 of 6 searches found evidence",
            &format!("supabase_keyword: {} of 5 searches", steps("INFO evidence found slot=\"supabase_keyword\"")),
            &format!(
                "local_keyword: {} of {} searches",
                steps("INFO evidence found slot=\"local_keyword\""),
                steps("slot=\"local_keyword\"")
            ),
        ],
    );
}

#[test]
fn e3_invalid_settings_only_empty_their_slots() {
    let local = |shown: &str| assert_contains_all(output_of(shown, "美联储"), &["local_keyword", "deep   {"]);
    for (name, value) in [
        ("SUPABASE_URL", "htp:/nowhere"),
        ("MEMORY_BACKEND", "chroma"),
        ("MEMORY_TIME_WINDOW_HOURS", "three days"),
        ("MEMORY_MATCH_COUNT", "many"),
    ] {
        let url = ("SUPABASE_URL", "http://127.0.0.1:9");
        let (shown, logged) = run(&[], &[url, ("SUPABASE_SERVICE_KEY", "sb_secret_x1"), (name, value)]);
        local(&shown);
        assert!(!shown.contains("supabase_vector 1") && !logged.contains("sb_secret_x1"), "{name}: {shown}{logged}");
        assert_contains_all(&logged, &["the source failed", "slot=\"supabase_keyword\""]);
        assert!(logged.contains(name) || name == "SUPABASE_URL", "{name}: {logged}");
    }
    let (shown, logged) = run(&["--stand-in"], &[("MEMORY_MATCH_THRESHOLD", "85%")]);
    assert_contains_all(&logged, &["MEMORY_MATCH_THRESHOLD is '85%'"]);
    assert_contains_all(output_of(&shown, "SEC approves"), &["supabase_keyword", "deep   {"]);
    assert!(!shown.contains("supabase_vector 1"), "{shown}");
    let (shown, logged) = run(&["--stand-in"], &[("EMBEDDING_SERVICE", "nobody")]);
    assert_contains_all(&logged, &["no vectors are searched", "EMBEDDING_SERVICE"]);
    assert_contains_all(output_of(&shown, "SEC approves"), &["supabase_keyword", "deep   {"]);
    let (shown, _) = run(&["--db", "postgres://127.0.0.1:9/none"], &[]);
    local(&shown);
}

#[test]
fn e4_without_a_database_the_local_memory_answers() {
    let (shown, logged) = run(&[], &[]);
    assert_contains_all(output_of(&shown, "SEC approves"), &["local_keyword", "Ethereum ETF staking"]);
    assert!(!shown.contains("supabase_"), "{shown}");
    assert_contains_all(&logged, &["evidence found slot=\"local_keyword\""]);
    for variable in [("SUPABASE_URL", "http://127.0.0.1:9"), ("SUPABASE_SERVICE_KEY", "sb_secret_x1")] {
        let (shown, logged) = run(&[], &[variable]);
        assert!(shown.contains("local_keyword") && !shown.contains("supabase_"), "{variable:?} alone: {shown}");
        assert!(!logged.contains("failed"), "nothing is called: {logged}");
    }
    let (shown, _) = run(&["--stand-in"], &[("MEMORY_BACKEND", "supabase")]);
    assert_contains_all(&shown, &["supabase_vector 1.00", "supabase_keyword 0.67", "local_keyword 1.00"]);
    let (shown, _) = run(&["--stand-in"], &[("MEMORY_BACKEND", "local")]);
    assert!(!shown.contains("supabase_") && shown.contains("local_keyword"), "{shown}");
}

#[test]
fn e3_a_database_that_is_not_there_only_empties_its_slots() {
    let (shown, logged) = run(&[], &[("SUPABASE_URL", "http://127.0.0.1:9"), ("SUPABASE_SERVICE_KEY", "sb_secret_x1")]);
    assert_contains_all(output_of(&shown, "美联储"), &["local_keyword", "deep   {"]);
    assert_contains_all(&logged, &["the source failed; the search goes on without it slot=\"supabase_vector\""]);
    assert!(!logged.contains("sb_secret_x1"), "{logged}");
}

#[test]
fn e2_the_environment_sets_threshold_window_and_count() {
    let (shown, _) = run(&["--stand-in"], &[("MEMORY_MATCH_COUNT", "1"), ("MEMORY_MATCH_THRESHOLD", "0.2")]);
    let flash = output_of(&shown, "美联储");
    assert_eq!(flash.matches("supabase_vector").count(), 1, "{flash}");
    let (shown, _) = run(&[], &[("MEMORY_TIME_WINDOW_HOURS", "1")]);
    assert_contains_all(output_of(&shown, "SEC approves"), &["memory no evidence"]);
}

#[test]
fn e6_a_postgres_of_one_s_own_is_asked_by_its_functions() {
    let Some(url) = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty()) else {
        let required = std::env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
        assert!(!required.contains("postgres"), "CONFORMANCE_REQUIRE names postgres, but DATABASE_URL is not set");
        return;
    };
    let schema = format!("market_{}", std::process::id());
    let (shown, logged) = run(&["--db", &url, "--schema", &schema], &[]);
    assert_contains_all(
        output_of(&shown, "SEC approves"),
        &["supabase_vector 1.00 #", "SEC approves spot Ethereum ETF staking, the"],
    );
    assert_contains_all(output_of(&shown, "美联储"), &["supabase_keyword", "#259 美联储宣布降息 25 个基点"]);
    assert!(!shown.contains("#null"), "each citation has the number of its event: {shown}");
    assert!(!logged.contains("postgres://"), "{logged}");
    let options = PostgresOptions::default().with_schema(schema);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(migrate_down(&url, &options, 0)).unwrap();
}
