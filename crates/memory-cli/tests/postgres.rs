//! The command on the Postgres server in the variable `DATABASE_URL` (`scripts/with-postgres` provides one). Without it
//! these tests are listed as ignored, or fail if `CONFORMANCE_REQUIRE` names `postgres`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;
mod digesting;
mod refilling;
mod shop;

use std::env;

use desk::{Desk, Ran, TURNS};
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
        // The schema has to be there before an address can name it.
        Runtime::new()?.block_on(async {
            memory_engine_postgres::migrate_up(&bare, &options(&schema)).await.unwrap();
            memory_engine_postgres::migrate_down(&bare, &options(&schema), 0).await.unwrap();
        });
        let mark = if bare.contains('?') { '&' } else { '?' };
        Ok(Self { url: format!("{bare}{mark}options[search_path]={schema},public"), bare, schema })
    }

    /// The password in the address, as it would show.
    fn password(&self) -> Option<&str> {
        self.bare.split_once("://")?.1.split_once('@')?.0.split_once(':').map(|(_, password)| password)
    }

    #[track_caller]
    fn assert_no_secret(&self, ran: Ran) -> Ran {
        if let Some(password) = self.password() {
            assert!(!ran.stdout.contains(password) && !ran.stderr.contains(password), "the password shows");
        }
        ran
    }

    #[track_caller]
    fn run(&self, desk: &Desk, arguments: &[&str]) -> Ran {
        self.assert_no_secret(desk.run_with(&[("MEMORY_DB", &self.url)], arguments))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let options = options(&self.schema);
        let down = memory_engine_postgres::migrate_down(&self.bare, &options, 0);
        if let Err(error) = Runtime::new().unwrap().block_on(down) {
            eprintln!("the schema {} stays behind: {error}", self.schema);
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
        killed_digest_can_be_completed,
        killed_reindex_can_be_completed,
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn commands_work_on_postgres(server: &Server) {
    let desk = Desk::new();
    server.run(&desk, &["search", "x", "--user", "lin"]).refused(&["there is no memory in postgres://", "migrate up"]);
    let turns = desk.write("turns.jsonl", TURNS);
    let imported = server.run(&desk, &["import", turns.to_str().unwrap()]).ok();
    assert!(imported.contains("4 turns added to postgres://"), "{imported}");
    let found = server.run(&desk, &["search", "海鮮", "--user", "lin", "--json"]).json();
    assert_eq!(found["hits"][0]["record"]["text"], "我对海鲜过敏");
    let id = server.run(&desk, &["add", "the brass key", "--user", "mo"]).ok();
    assert_eq!(server.run(&desk, &["show", id.trim(), "--user", "mo"]).json()["text"], "the brass key");
    server.run(&desk, &["forget", id.trim(), "--user", "mo", "--yes"]).ok();
    let exported = server.run(&desk, &["export"]).ok();
    assert_eq!(exported.lines().count(), 5, "four turns and a tombstone");
    assert!(server.run(&desk, &["reindex"]).ok().contains("4 records reindexed"));
    assert_eq!(server.run(&desk, &["stats", "--json"]).json()["backlog"], serde_json::json!({}));
    let by_word = desk.run_with(&[("DATABASE_URL", &server.url)], &["stats", "--db", "postgres", "--json"]);
    assert_eq!(server.assert_no_secret(by_word).json()["records"], 4);
    assert!(!desk.path("memory.db").exists(), "no file was made");
}

fn migrate_and_doctor_on_postgres(server: &Server) {
    let desk = Desk::new();
    let empty = server.run(&desk, &["doctor"]);
    assert!(!empty.success && empty.stdout.contains("no memory in it yet"), "{empty:?}");
    assert_eq!(server.run(&desk, &["migrate", "status", "--json"]).json()["schema"], 0);
    server.run(&desk, &["migrate", "up", "--partitions", "2"]).ok();
    server.run(&desk, &["add", "the brass key", "--user", "mo"]).ok();
    let report = server.run(&desk, &["doctor", "--json"]).json();
    assert_eq!((report["healthy"].as_bool(), report["partitions"].as_u64()), (Some(true), Some(2)), "{report}");
    assert!(
        report["extensions"]["vector"].is_string() && report["backend"].as_str().unwrap().starts_with("PostgreSQL")
    );
    assert_eq!((report["counts"]["records"].as_u64(), report["counts"]["vectors"].as_u64()), (Some(1), Some(1)));
    let shown = server.run(&desk, &["doctor"]).ok();
    assert!(shown.contains("extension vector") && shown.contains("nothing is wrong"), "{shown}");
    server.run(&desk, &["migrate", "down", "--to", "0"]).refused(&["--yes", "everything in it"]);
    server.run(&desk, &["migrate", "down", "--to", "0", "--yes"]).ok();
    assert_eq!(server.run(&desk, &["migrate", "status", "--json"]).json()["applied"], serde_json::json!([]));
}

fn killed_digest_can_be_completed(server: &Server) {
    digesting::ends_complete(&[("MEMORY_DB", &server.url)]);
}

fn killed_reindex_can_be_completed(server: &Server) {
    Runtime::new().unwrap().block_on(refilling::ends_complete(&[("MEMORY_DB", &server.url)]));
}

fn copy_to_postgres_and_back(server: &Server) {
    let desk = Desk::new();
    let runtime = Runtime::new().unwrap();
    let everything = |database: &Database| runtime.block_on(shop::everything(database));
    let [first, last] = ["a.db", "b.db"].map(|name| Database::file(desk.path(name)));
    let on_server = Database::postgres(&server.url);
    runtime.block_on(shop::fill(&first));
    let copy = |from: &str, to: &str| {
        let output = server.run(&desk, &["copy", "--from", from, "--to", to, "--json"]).ok();
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
        assert!(server.run(&desk, arguments).ok().contains("nothing is wrong"));
    }
}
