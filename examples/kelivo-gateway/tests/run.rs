//! Runs the example as a process, without a key.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assertion panics")]

use std::process::Command;

use memory_engine::postgres::{PostgresOptions, migrate_down, migrate_up};

/// Runs the program and returns the rows that passed. The program fails if a row fails.
fn rows(args: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kelivo-gateway"));
    command.args(args).env_remove("KELIVO_DB").env_remove("MEMORY_TOKEN");
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    shown.lines().filter_map(|line| line.strip_prefix("✓ ")).map(str::to_owned).collect()
}

#[test]
fn k17_the_program_goes_through_the_tables_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    assert_rows(&rows(&["--db", folder.path().join("kelivo.db").to_str().unwrap()]));
}

/// Checks that all rows of the four tables passed. The memory row needs support of the system.
fn assert_rows(rows: &[String]) {
    let count = |start: &str| rows.iter().filter(|row| row.starts_with(start)).count();
    assert_eq!((count("5.1 "), count("5.2 "), count("5.3 ")), (5, 5, 6), "{rows:#?}");
    assert!(count("5.4 ") >= 2, "{rows:#?}");
    for row in [
        "5.2 plot（继承） · plot, plot_recall, 0 injected",
        "5.2 meta · meta, nothing, 0 injected",
        "5.3 吃饭了吗 · daily, nothing, 0 injected",
    ] {
        assert!(rows.iter().any(|passed| passed == row), "{row} is not in {rows:#?}");
    }
}

#[test]
fn k17_the_tables_hold_on_postgres() {
    let Some(url) = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty()) else {
        let required = std::env::var("CONFORMANCE_REQUIRE").unwrap_or_default();
        assert!(!required.contains("postgres"), "CONFORMANCE_REQUIRE names postgres, but DATABASE_URL is not set");
        return;
    };
    // Other tests use the schema `public`, so this test has its own.
    let schema = format!("kelivo_{}", std::process::id());
    let options = PostgresOptions::default().with_schema(&schema);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        migrate_up(&url, &options).await.unwrap();
        migrate_down(&url, &options, 0).await.unwrap();
    });
    let separator = if url.contains('?') { '&' } else { '?' };
    assert_rows(&rows(&["--db", &format!("{url}{separator}options[search_path]={schema},public")]));
    runtime.block_on(migrate_down(&url, &options, 0)).unwrap();
}

#[test]
fn k16_k17_without_its_key_the_gateway_says_which_variable_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kelivo-gateway"));
    command.args(["--serve", "--db", folder.path().join("kelivo.db").to_str().unwrap()]);
    let output = command.env_remove("OPENROUTER_API_KEY").env_remove("KELIVO_DB").output().unwrap();
    assert!(!output.status.success());
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("openrouter") && log.contains("OPENROUTER_API_KEY"), "{log}");
}
