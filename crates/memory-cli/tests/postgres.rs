//! The command on the Postgres server in the variable `DATABASE_URL` (`scripts/with-postgres` provides one). Without it
//! these tests are listed as ignored, or fail if `CONFORMANCE_REQUIRE` names `postgres`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "integration/cli_fixture.rs"]
mod cli_fixture;
#[path = "integration/interrupted_digest.rs"]
mod interrupted_digest;
#[path = "integration/interrupted_reindex.rs"]
mod interrupted_reindex;
#[path = "integration/sample_store.rs"]
mod sample_store;

use std::{env, io::Write, process::Stdio};

use cli_fixture::{CliFixture, CommandOutput, TURNS};
use libtest_mimic::{Arguments, Failed, Trial};
use memory_engine::Database;
use memory_engine_postgres::PostgresOptions;
use tokio::runtime::Runtime;

/// A schema for one test, which is removed when it is dropped.
struct Server {
    url: String,
    /// The address of the same server without the schema.
    bare: String,
    schema: String,
}

impl Server {
    fn new(name: &str) -> Result<Self, Failed> {
        let bare = address().ok_or("postgres is required (CONFORMANCE_REQUIRE), and DATABASE_URL names no server")?;
        let schema = format!("cli_{}_{name}", std::process::id());
        // The schema must exist before an address can name it.
        Runtime::new()?.block_on(async {
            memory_engine_postgres::migrate_up(&bare, &options(&schema)).await.unwrap();
            memory_engine_postgres::migrate_down(&bare, &options(&schema), 0).await.unwrap();
        });
        let mark = if bare.contains('?') { '&' } else { '?' };
        Ok(Self { url: format!("{bare}{mark}options[search_path]={schema},public"), bare, schema })
    }

    /// Returns the password in the address.
    fn password(&self) -> Option<&str> {
        self.bare.split_once("://")?.1.split_once('@')?.0.split_once(':').map(|(_, password)| password)
    }

    #[track_caller]
    fn assert_no_secret(&self, result: CommandOutput) -> CommandOutput {
        if let Some(password) = self.password() {
            assert!(!result.stdout.contains(password) && !result.stderr.contains(password), "the password shows");
        }
        result
    }

    /// Runs statements that damage the database.
    fn execute(&self, sql: &'static str) {
        use memory_engine_postgres::sqlx::{self, Connection, PgConnection};
        Runtime::new().unwrap().block_on(async {
            let mut connection = PgConnection::connect(&self.url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        });
    }

    #[track_caller]
    fn run(&self, cli: &CliFixture, arguments: &[&str]) -> CommandOutput {
        self.assert_no_secret(cli.run_with(&[("MEMORY_DB", &self.url)], arguments))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let options = options(&self.schema);
        let down = memory_engine_postgres::migrate_down(&self.bare, &options, 0);
        if let Err(error) = Runtime::new().unwrap().block_on(down) {
            eprintln!("the schema {} was not removed: {error}", self.schema);
        }
    }
}

fn options(schema: &str) -> PostgresOptions {
    PostgresOptions::default().with_schema(schema)
}

fn address() -> Option<String> {
    env::var("DATABASE_URL").ok().filter(|url| !url.is_empty())
}

fn is_required() -> bool {
    env::var("CONFORMANCE_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name.trim() == "postgres"))
}

fn trial(name: &'static str, run: fn(&Server)) -> Trial {
    let trial = Trial::test(name, move || {
        run(&Server::new(&name[..name.len().min(24)])?);
        Ok(())
    });
    trial.with_ignored_flag(address().is_none() && !is_required())
}

macro_rules! trials {
    ($($name:ident),* $(,)?) => { vec![$(trial(stringify!($name), $name)),*] };
}

fn main() {
    let arguments = Arguments::from_args();
    let trials = trials![
        commands_work_on_postgres,
        migrate_and_doctor_on_postgres,
        copy_to_postgres_and_back,
        backup_restore_and_merge_on_postgres,
        projects_are_kept_apart_on_postgres,
        cases_are_tested_on_postgres,
        killed_digest_can_be_completed,
        killed_reindex_can_be_completed,
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn commands_work_on_postgres(server: &Server) {
    let cli = CliFixture::new();
    server.run(&cli, &["search", "x", "--user", "lin"]).assert_fails(&["has no memory yet", "migrate up"]);
    let turns = cli.write("turns.jsonl", TURNS);
    let imported = server.run(&cli, &["import", turns.to_str().unwrap()]).ok();
    assert!(imported.contains("4 records added to postgres://"), "{imported}");
    let found = server.run(&cli, &["search", "海鮮", "--user", "lin", "--json"]).json();
    assert_eq!(found["hits"][0]["record"]["text"], "我对海鲜过敏");
    let id = server.run(&cli, &["add", "the brass key", "--user", "mo"]).ok();
    assert_eq!(server.run(&cli, &["show", id.trim(), "--user", "mo"]).json()["text"], "the brass key");
    server.run(&cli, &["forget", id.trim(), "--user", "mo", "--yes"]).ok();
    let exported = server.run(&cli, &["export"]).ok();
    assert_eq!(exported.lines().count(), 5, "four turns and a tombstone");
    assert!(server.run(&cli, &["reindex"]).ok().contains("4 records reindexed"));
    assert_eq!(server.run(&cli, &["stats", "--json"]).json()["queued"], serde_json::json!({}));
    let by_word = cli.run_with(&[("DATABASE_URL", &server.url)], &["stats", "--db", "postgres", "--json"]);
    assert_eq!(server.assert_no_secret(by_word).json()["records"], 4);
    assert!(!cli.path("memory.db").exists(), "no file is created");
}

/// Sends a prompt to `memory hook` without a server, and returns its answer.
fn prompt_in(server: &Server, cli: &CliFixture, folder: &str, session: &str, prompt: &str) -> String {
    let mut command = cli.command(&["hook", "user-prompt", "--agent", "codex", "--user", "lin"]);
    let command = command.env("MEMORY_DB", &server.url).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let input = serde_json::json!({"session_id": session, "cwd": folder, "prompt": prompt}).to_string();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let answer = CommandOutput::of(child.wait_with_output().unwrap());
    server.assert_no_secret(answer).ok()
}

fn projects_are_kept_apart_on_postgres(server: &Server) {
    let cli = CliFixture::new();
    server.run(&cli, &["migrate", "up"]).ok();
    prompt_in(server, &cli, "/none/shop", "s1", "The deploy command is make ship. Never yarn.");
    prompt_in(server, &cli, "/none/shop", "s1", "我对花生过敏。");
    let own = prompt_in(server, &cli, "/none/shop", "s2", "What is the deploy command?");
    assert!(own.contains("make ship") && own.contains("Never yarn"), "{own}");
    assert_eq!(prompt_in(server, &cli, "/none/blog", "s3", "What is the deploy command?").trim(), "{}");
    let personal = prompt_in(server, &cli, "/none/blog", "s4", "我对花生过敏吗？");
    assert!(personal.contains("花生") && !personal.contains("yarn"), "{personal}");
    let merged = server.run(&cli, &["projects", "--user", "lin", "--json"]).json();
    assert_eq!(merged.as_array().unwrap().len(), 2, "{merged}");
}

fn cases_are_tested_on_postgres(server: &Server) {
    let cli = CliFixture::new();
    let turns = cli.write("turns.jsonl", TURNS);
    server.run(&cli, &["import", turns.to_str().unwrap()]).ok();
    server.run(&cli, &["test", "record", "cases.toml", "我对什么过敏？", "--user", "lin"]).ok();
    let recorded = std::fs::read_to_string(cli.path("cases.toml")).unwrap();
    let blocks = "\n[[case]]\nuser = 'mo'\nquery = 'Do you remember where I moved to?'\ntarget = 'injection'\n\
                  expect = ['Lisbon']\nforbid = ['interview']\n\n\
                  [[case]]\nuser = 'mo'\nquery = 'Hi'\ntarget = 'context'\nexpect = ['Lisbon']\n";
    cli.write("cases.toml", format!("{recorded}{blocks}"));
    let tested = server.run(&cli, &["test", "cases.toml"]).ok();
    assert!(tested.ends_with("3 cases passed, 0 failed\n"), "{tested}");
    cli.write("cases.toml", "[[case]]\nuser = 'lin'\nquery = 'Where did I move to?'\nexpect = ['Lisbon']\n");
    let failed = server.run(&cli, &["test", "cases.toml"]);
    assert!(!failed.success && failed.stdout.contains(" does, at tenant default, user mo"), "{failed:?}");
}

fn migrate_and_doctor_on_postgres(server: &Server) {
    let cli = CliFixture::new();
    let empty = server.run(&cli, &["doctor"]);
    assert!(!empty.success && empty.stdout.contains("has no memory yet"), "{empty:?}");
    assert_eq!(server.run(&cli, &["migrate", "status", "--json"]).json()["schema"], 0);
    server.run(&cli, &["migrate", "up", "--partitions", "2"]).ok();
    server.run(&cli, &["add", "the brass key", "--user", "mo"]).ok();
    let report = server.run(&cli, &["doctor", "--json"]).json();
    assert_eq!((report["healthy"].as_bool(), report["partitions"].as_u64()), (Some(true), Some(2)), "{report}");
    assert!(
        report["extensions"]["vector"].is_string() && report["backend"].as_str().unwrap().starts_with("PostgreSQL")
    );
    assert_eq!((report["counts"]["records"].as_u64(), report["counts"]["vectors"].as_u64()), (Some(1), Some(1)));
    let shown = server.run(&cli, &["doctor"]).ok();
    assert!(shown.contains("extension vector") && shown.contains("no problems found"), "{shown}");

    let views = server.run(&cli, &["migrate", "views", "document", "--json"]).json();
    assert_eq!(views["views"], serde_json::json!(["document"]));
    server.execute("DROP INDEX records_by_time; DELETE FROM keyword_documents");
    let damaged = server.run(&cli, &["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&damaged.stdout).unwrap();
    let kinds: Vec<_> = report["findings"].as_array().unwrap().iter().map(|finding| &finding["kind"]).collect();
    assert_eq!(kinds, ["index-missing", "keyword-missing", "keyword-count-wrong"], "{report}");
    assert_eq!((damaged.success, &report["findings"][1]["count"]), (false, &serde_json::json!(1)));
    assert!(!damaged.stdout.contains("brass"), "{report}");
    let repaired = server.run(&cli, &["doctor", "--repair"]);
    assert!(repaired.stderr.contains("index-missing") && repaired.stdout.contains("no problems found"), "{repaired:?}");
    server.run(&cli, &["reindex", "--waiting"]).ok();
    assert!(server.run(&cli, &["search", "brass", "--user", "mo"]).ok().contains("the brass key"));
    server.run(&cli, &["migrate", "down", "--to", "0"]).assert_fails(&["--yes", "deletes everything"]);
    server.run(&cli, &["migrate", "down", "--to", "0", "--yes"]).ok();
    assert_eq!(server.run(&cli, &["migrate", "status", "--json"]).json()["applied"], serde_json::json!([]));
}

fn killed_digest_can_be_completed(server: &Server) {
    interrupted_digest::can_be_completed(&[("MEMORY_DB", &server.url)]);
}

fn killed_reindex_can_be_completed(server: &Server) {
    Runtime::new().unwrap().block_on(interrupted_reindex::can_be_completed(&[("MEMORY_DB", &server.url)]));
}

fn backup_restore_and_merge_on_postgres(server: &Server) {
    let cli = CliFixture::new();
    let runtime = Runtime::new().unwrap();
    let everything = |database: &Database| runtime.block_on(sample_store::everything(database));
    let first = Database::file(cli.path("a.db"));
    let on_server = Database::postgres(&server.url);
    runtime.block_on(sample_store::fill(&first));
    cli.run(&["backup", "a.backup", "--db", "a.db"]).ok();
    let shown = server.run(&cli, &["restore-backup", "a.backup"]).ok();
    assert!(shown.contains("9 records and 2 tombstones restored from a.backup into postgres://"), "{shown}");
    assert_eq!(everything(&first), everything(&on_server));
    server.run(&cli, &["restore-backup", "a.backup"]).assert_fails(&["is not empty", "memory merge"]);
    let report = server.run(&cli, &["backup", "server.backup", "--json"]).json();
    assert_eq!((report["records"].as_u64(), report["tombstones"].as_u64()), (Some(9), Some(2)), "{report}");
    server.run(&cli, &["restore-backup", "server.backup", "--db", "b.db"]).ok();
    assert_eq!(everything(&first), everything(&Database::file(cli.path("b.db"))));
    cli.run(&["add", "only in the file", "--user", "lin", "--db", "b.db"]).ok();
    let merge = ["merge", "b.db", "--into", &server.url, "--json"];
    let merged = server.run(&cli, &merge).json();
    assert_eq!((merged["added"].as_u64(), merged["conflicts"].as_array().unwrap().len()), (Some(1), 0), "{merged}");
    assert_eq!(everything(&on_server), everything(&Database::file(cli.path("b.db"))));
    for arguments in [&["doctor"][..], &["doctor", "--db", "b.db"]] {
        assert!(server.run(&cli, arguments).ok().contains("no problems found"));
    }
}

fn copy_to_postgres_and_back(server: &Server) {
    let cli = CliFixture::new();
    let runtime = Runtime::new().unwrap();
    let everything = |database: &Database| runtime.block_on(sample_store::everything(database));
    let [first, last] = ["a.db", "b.db"].map(|name| Database::file(cli.path(name)));
    let on_server = Database::postgres(&server.url);
    runtime.block_on(sample_store::fill(&first));
    let copy = |from: &str, to: &str| {
        let output = server.run(&cli, &["copy", "--from", from, "--to", to, "--json"]).ok();
        serde_json::from_str::<serde_json::Value>(output.lines().last().unwrap()).unwrap()
    };
    let report = copy("a.db", &server.url);
    assert_eq!((report["added"].as_u64(), report["tombstones"].as_u64()), (Some(9), Some(2)), "{report}");
    assert_eq!((report["synonyms"].as_u64(), report["verdicts"].as_u64()), (Some(2), Some(1)), "{report}");
    assert_eq!(everything(&first), everything(&on_server));
    let again = copy("a.db", &server.url);
    assert_eq!((again["added"].as_u64(), again["unchanged"].as_u64()), (Some(0), Some(9)), "{again}");
    assert_eq!((again["tombstones"].as_u64(), again["synonyms"].as_u64()), (Some(0), Some(0)), "{again}");
    assert_eq!(everything(&first), everything(&on_server));
    let report = copy(&server.url, "b.db");
    assert_eq!((report["added"].as_u64(), report["waiting"].as_u64()), (Some(9), Some(0)), "{report}");
    assert_eq!(everything(&first), everything(&last));
    for arguments in [&["doctor"][..], &["doctor", "--db", "b.db"]] {
        assert!(server.run(&cli, arguments).ok().contains("no problems found"));
    }
}
