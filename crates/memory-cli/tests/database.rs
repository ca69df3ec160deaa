//! The choice of the database, and the health report.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod desk;

use desk::{Desk, Ran, TURNS};

const PASSWORD: &str = "hunter2";

#[track_caller]
fn assert_no_secret(ran: &Ran) {
    assert!(!ran.stdout.contains(PASSWORD) && !ran.stderr.contains(PASSWORD), "{ran:?}");
}

#[test]
fn k16_database_password_is_never_shown() {
    let desk = Desk::new();
    let turns = desk.write("turns.jsonl", TURNS);
    let turns = turns.to_str().unwrap();
    // No server listens at port 1.
    for url in ["postgres://lin:hunter2@127.0.0.1:1/memory", "postgres://lin:hunter2@127.0.0.1:no/memory"] {
        for arguments in [
            &["stats"][..],
            &["search", "x", "--user", "lin"],
            &["export"],
            &["doctor"],
            &["doctor", "--json"],
            &["migrate", "up"],
            &["migrate", "down", "--yes"],
            &["migrate", "status"],
            &["stats", "--no-such-option"],
        ] {
            for ran in [
                desk.run(&[arguments, &["--db", url]].concat()),
                desk.run_with(&[("MEMORY_DB", url)], arguments),
                desk.run_with(&[("DATABASE_URL", url)], &[arguments, &["--db", "postgres"]].concat()),
            ] {
                assert_no_secret(&ran);
                ran.refused(&["error: "]);
            }
        }
        let ran = desk.run(&["import", turns, "--db", url]);
        assert_no_secret(&ran);
        ran.refused(&["error: "]);
        let help = desk.run_with(&[("MEMORY_DB", url), ("DATABASE_URL", url)], &["search", "--help"]);
        assert_no_secret(&help);
        assert!(help.ok().contains("DATABASE_URL"));
    }
    assert!(!desk.path("memory.db").exists());
}

#[test]
fn db_postgres_uses_database_url() {
    let desk = Desk::new();
    desk.run(&["stats", "--db", "postgres"]).refused(&["DATABASE_URL is not set"]);
    desk.run_with(&[("DATABASE_URL", "mysql://x:hunter2@y/z")], &["stats", "--db", "postgres"])
        .refused(&["DATABASE_URL does not hold", "postgres://"]);
    desk.write(".env", "DATABASE_URL='postgres://lin:hunter2@127.0.0.1:1/from-file'\n");
    let ran = desk.run(&["stats", "--db", "postgres"]);
    assert_no_secret(&ran);
    ran.refused(&["postgres://127.0.0.1:1/from-file", "reached"]);
    desk.run(&["stats"]).refused(&["there is no memory.db", "--db postgres"]);
    desk.write(".env", "hunter2 is no setting\n");
    let ran = desk.run(&["stats", "--db", "postgres"]);
    assert_no_secret(&ran);
    ran.refused(&[".env", "line 1"]);
}

#[test]
fn doctor_accepts_a_healthy_file() {
    let desk = Desk::new();
    desk.run(&["doctor"]).refused(&["there is no file"]);
    assert!(!desk.path("memory.db").exists(), "looking makes nothing");
    desk.import(&desk.write("turns.jsonl", TURNS));
    let shown = desk.run(&["doctor"]).ok();
    for part in ["SQLite 3", "han-pairs", "(384-d, cosine)", "waiting for embedding", "nothing is wrong"] {
        assert!(shown.contains(part), "'{part}' is not in {shown}");
    }
    let report = desk.run(&["doctor", "--json"]).json();
    assert_eq!((report["healthy"].as_bool(), report["counts"]["vectors"].as_u64()), (Some(true), Some(4)));
    assert_eq!(report["waiting"]["embedding"]["records"], 0);
}

#[test]
fn doctor_exits_with_1_on_problems() {
    let desk = Desk::new();
    desk.write("empty.db", "");
    let ran = desk.run(&["doctor", "--db", "empty.db"]);
    assert!(!ran.success && ran.stdout.contains("wrong: there is no memory in it yet"), "{ran:?}");
    desk.import(&desk.write("turns.jsonl", TURNS));
    // The second half, as a bad disk would leave it.
    let mut file = std::fs::read(desk.path("memory.db")).unwrap();
    let middle = file.len() / 2;
    file[middle..].fill(0x5a);
    desk.write("memory.db", file);
    let ran = desk.run(&["doctor", "--json"]);
    assert!(!ran.success, "{ran:?}");
    let output = format!("{}{}", ran.stdout, ran.stderr);
    assert!(output.contains("damaged"), "{output}");
}

#[test]
fn file_migrates_down_and_up() {
    let desk = Desk::new();
    desk.run(&["migrate", "status"]).refused(&["there is no file"]);
    desk.import(&desk.write("turns.jsonl", TURNS));
    let status = desk.run(&["migrate", "status", "--json"]).json();
    let schema = status["schema"].as_u64().unwrap();
    assert_eq!(status["pending"], serde_json::json!([]));
    desk.run(&["migrate", "down"]).refused(&["--yes", "memory.db"]);
    let down = desk.run(&["migrate", "down", "--yes", "--json"]).json();
    assert_eq!((down["before"].as_u64(), down["schema"].as_u64()), (Some(schema), Some(schema - 1)));
    assert!(desk.run(&["migrate", "status"]).ok().contains("pending"));
    assert!(desk.run(&["doctor"]).ok().contains("`memory migrate up`"));
    assert!(desk.run(&["migrate", "up"]).ok().contains(&format!("from schema {} to schema {schema}", schema - 1)));
    assert_eq!(desk.stats()["records"], 4, "what the earlier schema holds is kept");
    desk.run(&["migrate", "down", "--to", "99", "--yes"]).refused(&["which is before 99"]);
    desk.run(&["migrate", "down", "--to", "0", "--yes"]).ok();
    assert_eq!(desk.run(&["migrate", "status", "--json"]).json()["schema"], 0);
    desk.run(&["migrate", "down", "--yes"]).refused(&["nothing to migrate down"]);
    desk.run(&["migrate", "up", "--partitions", "4"]).refused(&["no partitions"]);
}
