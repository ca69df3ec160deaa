//! `memory backup`, `memory restore-backup` and `memory merge`.

use std::{collections::BTreeSet, ffi::OsString, fs, process::Stdio, thread, time::Duration};

use memory_engine::{Database, PutMode, Scope};

use crate::{
    cli_fixture::{CliFixture, TURNS},
    running_server::RunningServer,
    sample_store::{everything, fill, open, record},
};

#[tokio::test]
async fn a_backup_is_restored_completely() {
    let cli = CliFixture::new();
    let source = Database::file(cli.path("a.db"));
    fill(&source).await;
    let shown = cli.run(&["backup", "monday.backup", "--db", "a.db"]).ok();
    assert!(shown.starts_with("9 records and 2 tombstones of a.db are in monday.backup ("), "{shown}");
    let checked = cli.run(&["restore-backup", "monday.backup", "--check", "--db", "b.db"]).ok();
    assert!(checked.contains("monday.backup is intact: 9 records and 2 tombstones, made 20"), "{checked}");
    assert!(!cli.path("b.db").exists());
    let restored = cli.run(&["restore-backup", "monday.backup", "--db", "b.db", "--json"]).json();
    assert_eq!((restored["records"].as_u64(), restored["tombstones"].as_u64()), (Some(9), Some(2)));
    assert_eq!(everything(&source).await, everything(&Database::file(cli.path("b.db"))).await);
    assert!(cli.run(&["doctor", "--db", "b.db"]).ok().contains("no problems found"));
    let found = cli.run(&["search", "brass key", "--user", "lin", "--db", "b.db"]).ok();
    assert!(found.contains("the brass key"), "{found}");
    // A backup can be searched as it is, and restored afterwards.
    let found = cli.run(&["search", "brass key", "--user", "lin", "--db", "monday.backup"]).ok();
    assert!(found.contains("the brass key"), "{found}");
    cli.run(&["restore-backup", "monday.backup", "--db", "c.db"]).ok();

    cli.run(&["backup", "monday.backup", "--db", "a.db"]).assert_fails(&["exists already", "--force"]);
    cli.run(&["backup", "monday.backup", "--db", "a.db", "--force"]).ok();
    cli.run(&["restore-backup", "monday.backup", "--db", "b.db"]).assert_fails(&["b.db exists already"]);
    cli.run(&["restore-backup", "absent", "--db", "d.db"]).assert_fails(&["there is no file absent"]);
    cli.run(&["restore-backup", "a.db", "--db", "d.db"]).assert_fails(&["is a store and not a backup"]);
    cli.run(&["backup", "no/such/folder", "--db", "a.db"]).assert_fails(&["does not exist; create it first"]);
    cli.run(&["backup", "a.db", "--db", "a.db", "--force"]).assert_fails(&["onto itself"]);
    cli.run(&["backup", "x.backup", "--db", "absent.db"]).assert_fails(&["absent.db does not exist"]);
    cli.write("text.txt", "not a backup");
    cli.run(&["restore-backup", "text.txt", "--db", "d.db"]).assert_fails(&["not a SQLite database"]);
    // A backup that was changed afterwards.
    cli.run(&["add", "another turn", "--user", "lin", "--db", "monday.backup"]).ok();
    cli.run(&["restore-backup", "monday.backup", "--db", "d.db"]).assert_fails(&["was changed after it was made"]);
    assert!(!cli.path("d.db").exists());
}

#[cfg(feature = "encryption")]
#[test]
fn the_backup_of_an_encrypted_store_is_encrypted() {
    let cli = CliFixture::new();
    let key = [("MEMORY_DATABASE_KEY", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")];
    let run = |arguments: &[&str]| cli.run_with(&key, arguments);
    run(&["add", "My sister plays the violin", "--user", "lin"]).ok();
    run(&["backup", "monday.backup"]).ok();
    for file in ["monday.backup", "memory.db"] {
        let bytes = fs::read(cli.path(file)).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"violin" || window == b"SQLite"), "{file}");
    }
    cli.run(&["restore-backup", "monday.backup", "--db", "b.db"]).assert_fails(&["is encrypted"]);
    run(&["restore-backup", "monday.backup", "--db", "b.db"]).ok();
    let found = run(&["search", "violin", "--user", "lin", "--db", "b.db"]).ok();
    assert!(found.contains("My sister plays the violin"), "{found}");
}

#[test]
fn a_backup_works_while_a_server_writes() {
    let cli = CliFixture::new();
    cli.import(&cli.write("turns.jsonl", TURNS));
    let served = RunningServer::start(&mut cli.command(&[]));
    let finished = thread::scope(|scope| {
        let writes = scope.spawn(|| {
            let write = |n: &u32| {
                let messages = format!(r#"[{{"role":"user","content":"turn number {n} of the server"}}]"#);
                let body = format!(r#"{{"user_id":"lin","infer":false,"messages":{messages}}}"#);
                served.request("POST", "/memories", &[], &body).0 == 200
            };
            (0..60).filter(write).count()
        });
        for n in 0..3 {
            let report = cli.run(&["backup", &format!("{n}.backup"), "--json"]).json();
            assert!(report["records"].as_u64().unwrap() >= 4, "{report}");
            pause(100);
        }
        writes.join().unwrap()
    });
    let before = cli.stats()["records"].as_u64().unwrap();
    assert_eq!((finished, before), (60, 64), "the server stores every turn while backups run");
    cli.run(&["backup", "last.backup"]).ok();
    drop(served);
    cli.run(&["restore-backup", "last.backup", "--db", "restored.db"]).ok();
    let restored = cli.run(&["stats", "--db", "restored.db", "--json"]).json();
    assert_eq!(restored["records"].as_u64(), Some(before));
}

#[test]
fn a_killed_backup_leaves_no_file() {
    let cli = CliFixture::new();
    let lines: String = (0..20_000).map(|n| format!("{{\"user\":\"lin\",\"text\":\"turn number {n}\"}}\n")).collect();
    cli.import(&cli.write("turns.jsonl", lines));
    let incomplete_files = || -> BTreeSet<OsString> {
        let names = fs::read_dir(cli.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains("incomplete")).collect()
    };
    // Kills a backup this time after it has created its file. Returns false if the backup was complete before.
    let is_interrupted = |milliseconds: u64| {
        let _ = fs::remove_file(cli.path("monday.backup"));
        let earlier = incomplete_files();
        let mut child = cli.command(&["backup", "monday.backup"]).stdout(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && incomplete_files().is_subset(&earlier) {
            pause(1);
        }
        pause(milliseconds);
        child.kill().unwrap(); // SIGKILL: no destructor, no flush
        child.wait().unwrap();
        if cli.path("monday.backup").exists() {
            cli.run(&["restore-backup", "monday.backup", "--check"]).ok();
            return false;
        }
        !incomplete_files().is_empty()
    };
    let interrupted = [0, 10, 20, 40, 80, 0].into_iter().filter(|milliseconds| is_interrupted(*milliseconds)).count();
    assert!(interrupted > 0, "no backup was killed while it was written");
    // The next backup removes the files of the killed ones.
    cli.run(&["backup", "monday.backup", "--force"]).ok();
    assert_eq!(incomplete_files(), BTreeSet::new());
}

#[tokio::test]
async fn stores_that_diverged_are_merged() {
    let cli = CliFixture::new();
    fill(&Database::file(cli.path("laptop.db"))).await;
    cli.run(&["backup", "start.backup", "--db", "laptop.db"]).ok();
    cli.run(&["restore-backup", "start.backup", "--db", "phone.db"]).ok();
    let lin = Scope::user("lin").unwrap();
    let laptop = open(&Database::file(cli.path("laptop.db"))).await;
    let phone = open(&Database::file(cli.path("phone.db"))).await;
    for (engine, texts) in [(&laptop, &["a"][..]), (&phone, &["b", "c"][..])] {
        for text in texts {
            let mut changed = record("lin", 0);
            changed.text = format!("said otherwise: {text}");
            engine.store(&lin, vec![changed], PutMode::Upsert).await.unwrap();
        }
    }
    laptop.forget(&lin, record("lin", 1).id).await.unwrap();
    phone.remember(&lin, "only on the phone").await.unwrap();
    drop((laptop, phone));

    let dry = cli.run(&["merge", "phone.db", "--into", "laptop.db", "--dry-run"]).ok();
    assert!(dry.contains("the version of phone.db wins: it has the higher revision"), "{dry}");
    assert!(dry.contains("differs in ") && dry.contains("text"), "{dry}");
    assert!(dry.contains("1 record and 0 tombstones of phone.db would be merged into laptop.db"), "{dry}");
    let report = cli.run(&["merge", "phone.db", "--into", "laptop.db", "--json"]).json();
    assert_eq!((report["added"].as_u64(), report["replaced"].as_u64()), (Some(1), Some(1)), "{report}");
    assert_eq!(report["conflicts"][0]["reason"], "higher_revision", "{report}");
    cli.run(&["merge", "laptop.db", "--into", "phone.db"]).ok();
    let contents = [
        everything(&Database::file(cli.path("laptop.db"))).await,
        everything(&Database::file(cli.path("phone.db"))).await,
    ];
    assert_eq!(contents[0], contents[1]);
    assert!(contents[0].contains("said otherwise: c") && contents[0].contains("only on the phone"));
    let again = cli.run(&["merge", "phone.db", "--into", "laptop.db"]).ok();
    assert!(again.contains("0 records and 0 tombstones of phone.db merged"), "{again}");
    assert!(cli.run(&["doctor", "--db", "laptop.db"]).ok().contains("no problems found"));
    cli.run(&["merge", "laptop.db", "--into", "laptop.db"]).assert_fails(&["into itself"]);
    cli.run(&["merge", "phone.db", "--into", "absent.db"]).assert_fails(&["absent.db does not exist"]);
    cli.write("empty.db", "");
    cli.run(&["merge", "empty.db", "--into", "laptop.db"]).assert_fails(&["empty.db is an empty file and no store"]);
    assert_eq!(std::fs::metadata(cli.path("empty.db")).unwrap().len(), 0);
    cli.run(&["merge", "phone.db", "--into", "laptop.db", "--user", "nobody"]).assert_fails(&["no tenant or user"]);
}

/// Waits for another process.
#[allow(clippy::disallowed_methods, reason = "waits for another process")]
fn pause(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}
