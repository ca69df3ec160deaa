//! The choice of the database, and the health report.

use crate::cli_fixture::{CliFixture, CommandOutput, TURNS};

const PASSWORD: &str = "hunter2";

#[track_caller]
fn assert_no_secret(result: &CommandOutput) {
    assert!(!result.stdout.contains(PASSWORD) && !result.stderr.contains(PASSWORD), "{result:?}");
}

#[test]
fn k16_database_password_is_never_shown() {
    let cli = CliFixture::new();
    let turns = cli.write("turns.jsonl", TURNS);
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
            for result in [
                cli.run(&[arguments, &["--db", url]].concat()),
                cli.run_with(&[("MEMORY_DB", url)], arguments),
                cli.run_with(&[("DATABASE_URL", url)], &[arguments, &["--db", "postgres"]].concat()),
            ] {
                assert_no_secret(&result);
                result.assert_fails(&["error: "]);
            }
        }
        let result = cli.run(&["import", turns, "--db", url]);
        assert_no_secret(&result);
        result.assert_fails(&["error: "]);
        let help = cli.run_with(&[("MEMORY_DB", url), ("DATABASE_URL", url)], &["search", "--help"]);
        assert_no_secret(&help);
        assert!(help.ok().contains("DATABASE_URL"));
    }
    assert!(!cli.path("memory.db").exists());
}

#[test]
fn db_postgres_uses_database_url() {
    let cli = CliFixture::new();
    cli.run(&["stats", "--db", "postgres"]).assert_fails(&["DATABASE_URL is not set"]);
    cli.run_with(&[("DATABASE_URL", "mysql://x:hunter2@y/z")], &["stats", "--db", "postgres"])
        .assert_fails(&["DATABASE_URL is not the address", "postgres://"]);
    cli.write(".env", "DATABASE_URL='postgres://lin:hunter2@127.0.0.1:1/from-file'\n");
    let result = cli.run(&["stats", "--db", "postgres"]);
    assert_no_secret(&result);
    result.assert_fails(&["postgres://127.0.0.1:1/from-file", "reached"]);
    cli.run(&["stats"]).assert_fails(&["memory.db does not exist", "--db postgres"]);
    cli.write(".env", "hunter2 is no setting\n");
    let result = cli.run(&["stats", "--db", "postgres"]);
    assert_no_secret(&result);
    result.assert_fails(&[".env", "line 1"]);
}

#[test]
fn doctor_accepts_a_healthy_file() {
    let cli = CliFixture::new();
    cli.run(&["doctor"]).assert_fails(&["there is no file"]);
    assert!(!cli.path("memory.db").exists(), "doctor creates no file");
    cli.import(&cli.write("turns.jsonl", TURNS));
    let shown = cli.run(&["doctor"]).ok();
    for part in ["SQLite 3", "han-pairs", "(384-d, cosine)", "queued for embedding", "no problems found"] {
        assert!(shown.contains(part), "'{part}' is not in {shown}");
    }
    let report = cli.run(&["doctor", "--json"]).json();
    assert_eq!((report["healthy"].as_bool(), report["counts"]["vectors"].as_u64()), (Some(true), Some(4)));
    assert_eq!(report["waiting"]["embedding"]["records"], 0);
}

#[test]
fn doctor_exits_with_1_on_problems() {
    let cli = CliFixture::new();
    cli.write("empty.db", "");
    let result = cli.run(&["doctor", "--db", "empty.db"]);
    assert!(!result.success && result.stdout.contains("problem: the database has no memory yet"), "{result:?}");
    cli.import(&cli.write("turns.jsonl", TURNS));
    // Overwrites the second half, like a damaged disk.
    let mut file = std::fs::read(cli.path("memory.db")).unwrap();
    let middle = file.len() / 2;
    file[middle..].fill(0x5a);
    cli.write("memory.db", file);
    let result = cli.run(&["doctor", "--json"]);
    assert!(!result.success, "{result:?}");
    let output = format!("{}{}", result.stdout, result.stderr);
    assert!(output.contains("damaged"), "{output}");
}

#[test]
fn file_migrates_down_and_up() {
    let cli = CliFixture::new();
    cli.run(&["migrate", "status"]).assert_fails(&["there is no file"]);
    cli.import(&cli.write("turns.jsonl", TURNS));
    let status = cli.run(&["migrate", "status", "--json"]).json();
    let schema = status["schema"].as_u64().unwrap();
    assert_eq!(status["pending"], serde_json::json!([]));
    cli.run(&["migrate", "down"]).assert_fails(&["--yes", "memory.db"]);
    let down = cli.run(&["migrate", "down", "--yes", "--json"]).json();
    assert_eq!((down["before"].as_u64(), down["schema"].as_u64()), (Some(schema), Some(schema - 1)));
    assert!(cli.run(&["migrate", "status"]).ok().contains("pending"));
    let doctor = cli.run(&["doctor"]);
    assert!(!doctor.success && doctor.stdout.contains("`memory migrate up`"), "{doctor:?}");
    assert!(cli.run(&["migrate", "up"]).ok().contains(&format!("from schema {} to schema {schema}", schema - 1)));
    assert_eq!(cli.stats()["records"], 0, "a migration to schema 0 removes the data");
    cli.run(&["migrate", "down", "--to", "99", "--yes"]).assert_fails(&["which is before 99"]);
    cli.run(&["migrate", "down", "--to", "0", "--yes"]).ok();
    assert_eq!(cli.run(&["migrate", "status", "--json"]).json()["schema"], 0);
    cli.run(&["migrate", "down", "--yes"]).assert_fails(&["nothing to migrate down"]);
    cli.run(&["migrate", "up", "--partitions", "4"]).assert_fails(&["no partitions"]);
}

#[test]
fn sets_of_views_are_installed_and_removed() {
    let cli = CliFixture::new();
    let installed = cli.run(&["migrate", "views", "companion", "--json"]).json();
    assert_eq!(installed["views"], serde_json::json!(["companion"]));
    assert!(cli.run(&["migrate", "status"]).ok().contains("installed views: companion"));
    cli.run(&["migrate", "views", "diary"]).assert_fails(&["one of companion, document, evidence, story"]);
    cli.run(&["migrate", "views", "evidence"]).assert_fails(&["companion and story", "only Postgres"]);
    assert!(cli.run(&["migrate", "views", "companion", "--remove"]).ok().contains("installed views: none"));
}
