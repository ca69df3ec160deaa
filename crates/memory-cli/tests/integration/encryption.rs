//! Encrypted SQLite files on the command line.

use crate::cli_fixture::{CliFixture, TURNS};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
#[cfg(feature = "encryption")]
const OTHER_KEY: &str = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const VARIABLE: &str = "MEMORY_DATABASE_KEY";
const FILE_VARIABLE: &str = "MEMORY_DATABASE_KEY_FILE";

#[test]
fn a_key_that_is_not_one_is_refused_and_not_shown() {
    let cli = CliFixture::new();
    cli.write("short.key", "hunter2");
    cli.write("bytes.key", [0xff, 0xfe]);
    for (variables, words) in [
        (&[(VARIABLE, "hunter2")][..], &[VARIABLE, "64 hexadecimal digits", "openssl rand -hex 32"][..]),
        (&[(FILE_VARIABLE, "short.key")], &[FILE_VARIABLE, "short.key", "64 hexadecimal digits"]),
        (&[(FILE_VARIABLE, "bytes.key")], &["bytes.key", "64 hexadecimal digits"]),
        (&[(FILE_VARIABLE, "no.key")], &["no.key", "cannot be read"]),
        (&[(VARIABLE, KEY), (FILE_VARIABLE, "short.key")], &[VARIABLE, FILE_VARIABLE, "unset one"]),
    ] {
        for arguments in [&["stats"][..], &["add", "x", "--user", "lin"], &["doctor"], &["rekey", "--decrypt"]] {
            let output = cli.run_with(variables, arguments);
            assert!(!output.stderr.contains("hunter2") && !output.stderr.contains(KEY), "{output:?}");
            output.assert_fails(words);
        }
    }
    assert!(!cli.path("memory.db").exists());
}

#[cfg(not(feature = "encryption"))]
#[test]
fn a_build_without_encryption_refuses_a_key() {
    let cli = CliFixture::new();
    let turns = cli.write("turns.jsonl", TURNS);
    let output = cli.run_with(&[(VARIABLE, KEY)], &["import", turns.to_str().unwrap()]);
    output.assert_fails(&["built without encryption", "feature `encryption`"]);
    assert!(std::fs::read(cli.path("memory.db")).unwrap_or_default().is_empty());
}

#[cfg(feature = "encryption")]
mod with_encryption {
    use std::{fs, path::Path, process::Stdio};

    use serde_json::json;

    use super::*;
    use crate::running_server::RunningServer;

    /// Texts of the turns, in both languages.
    const TEXTS: [&str; 3] = ["海鲜过敏", "interview", "Lisbon"];

    /// Returns the files in a folder that contain one of the texts, without the import file.
    fn plain_files(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_plain = |path: &std::path::PathBuf| {
            let content = fs::read(path).unwrap_or_default();
            let contains = |text: &str| content.windows(text.len()).any(|window| window == text.as_bytes());
            TEXTS.iter().any(|text| contains(text))
        };
        let names = files.filter(|path| path.is_file()).filter(is_plain);
        names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_store_is_created_searched_and_served_encrypted() {
        let cli = CliFixture::new();
        cli.write("memory.key", format!("{KEY}\n"));
        let key = &[(FILE_VARIABLE, "memory.key")][..];
        let turns = cli.write("turns.jsonl", TURNS);
        cli.run_with(key, &["import", turns.to_str().unwrap(), "--digest", "rules"]).ok();
        fs::remove_file(turns).unwrap();
        assert_eq!(plain_files(cli.folder.path()), [""; 0]);
        for variables in [key, &[(VARIABLE, KEY)]] {
            assert!(cli.run_with(variables, &["search", "海鲜", "--user", "lin"]).ok().contains("海鲜过敏"));
            let health = cli.run_with(variables, &["doctor", "--json"]).json();
            assert!(health["backend"].as_str().unwrap().ends_with(", encrypted"), "{health}");
        }
        cli.run_with(key, &["export", "-o", "export.jsonl"]).ok();
        assert_eq!(plain_files(cli.folder.path()), ["export.jsonl"], "an export is plain text");
        cli.run(&["stats"]).assert_fails(&["memory.db is encrypted; give its key", "MEMORY_DATABASE_KEY"]);
        cli.run_with(&[(VARIABLE, OTHER_KEY)], &["stats"]).assert_fails(&["this is not the key of the file"]);
        cli.run_with(key, &["copy", "--from", "memory.db", "--to", "copy.db"]).ok();
        assert_eq!(plain_files(cli.folder.path()), ["export.jsonl"]);
    }

    #[test]
    fn rekey_encrypts_changes_the_key_and_decrypts() {
        let cli = CliFixture::new();
        let turns = cli.write("turns.jsonl", TURNS);
        cli.import(&turns);
        fs::remove_file(turns).unwrap();
        assert_eq!(plain_files(cli.folder.path()), ["memory.db"]);
        cli.run(&["rekey"]).assert_fails(&["no new key given", "--new-key-file", "MEMORY_DATABASE_NEW_KEY"]);
        cli.run(&["rekey", "--decrypt"]).assert_fails(&["is not encrypted"]);
        cli.run_with(&[("MEMORY_DATABASE_NEW_KEY", "no key")], &["rekey"]).assert_fails(&["64 hexadecimal digits"]);
        cli.run_with(&[("MEMORY_DATABASE_NEW_KEY", KEY)], &["rekey", "--db", "none.db"])
            .assert_fails(&["none.db does not exist"]);
        cli.run_with(&[("MEMORY_DATABASE_NEW_KEY", KEY)], &["rekey", "--db", "postgres://127.0.0.1:1/m"])
            .assert_fails(&["only a SQLite file has a key"]);

        cli.write("new.key", KEY);
        let said = cli.run(&["rekey", "--new-key-file", "new.key"]).ok();
        assert!(said.starts_with("memory.db is encrypted; set MEMORY_DATABASE_KEY"), "{said}");
        assert_eq!(plain_files(cli.folder.path()), [""; 0]);
        let key = &[(VARIABLE, KEY)][..];
        assert!(cli.run_with(key, &["search", "海鲜", "--user", "lin"]).ok().contains("海鲜过敏"));

        cli.run_with(&[(VARIABLE, KEY), ("MEMORY_DATABASE_NEW_KEY", OTHER_KEY)], &["rekey"]).ok();
        cli.run_with(key, &["stats"]).assert_fails(&["this is not the key"]);
        let key = &[(VARIABLE, OTHER_KEY)][..];
        assert!(cli.run_with(key, &["search", "海鲜", "--user", "lin"]).ok().contains("海鲜过敏"));

        let report = cli.run_with(key, &["rekey", "--decrypt", "--json"]).json();
        assert_eq!(report, serde_json::json!({ "database": "memory.db", "encrypted": false }));
        assert_eq!(plain_files(cli.folder.path()), ["memory.db"]);
        assert!(cli.run(&["search", "海鲜", "--user", "lin"]).ok().contains("海鲜过敏"));
    }

    /// Number of records of a store.
    fn records(cli: &CliFixture, key: &str) -> Option<u64> {
        let stats = cli.run_with(&[(VARIABLE, key)], &["stats", "--json"]);
        stats.success.then(|| stats.json()["records"].as_u64().unwrap())
    }

    #[test]
    fn a_killed_rekey_loses_nothing_and_leaves_no_plain_text() {
        const RECORDS: u64 = 5_000;
        let cli = CliFixture::new();
        let line = |n: u64| format!("{{\"user\":\"lin\",\"text\":\"the interview in Lisbon, number {n}\"}}\n");
        let turns = cli.write("turns.jsonl", (0..RECORDS).map(line).collect::<String>());
        cli.run_with(&[(VARIABLE, KEY)], &["import", turns.to_str().unwrap()]).ok();
        fs::remove_file(turns).unwrap();
        let (mut current, mut next, mut killed) = (KEY, OTHER_KEY, 0);
        for milliseconds in [5, 10, 20, 40, 60, 80, 120, 160, 240, 320] {
            let mut command = cli.command(&["rekey"]);
            command.env(VARIABLE, current).env("MEMORY_DATABASE_NEW_KEY", next);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            pause(milliseconds);
            child.kill().unwrap();
            killed += u32::from(!child.wait().unwrap().success());
            assert_eq!(plain_files(cli.folder.path()), [""; 0], "after {milliseconds} ms");
            // Either key is the key of the whole file.
            let found = [records(&cli, current), records(&cli, next)];
            assert!(
                found == [Some(RECORDS), None] || found == [None, Some(RECORDS)],
                "after {milliseconds} ms: {found:?}"
            );
            if found[1].is_some() {
                std::mem::swap(&mut current, &mut next);
            }
            let said = cli.run_with(&[(VARIABLE, current)], &["doctor"]).ok();
            assert!(said.contains("no problems found"), "after {milliseconds} ms: {said}");
        }
        assert!(killed > 0, "no process was killed while it changed the key");
    }

    #[test]
    fn a_killed_server_keeps_what_it_acknowledged_and_leaves_no_plain_text() {
        let cli = CliFixture::new();
        let key = &[(VARIABLE, KEY)][..];
        for round in 0..3 {
            let mut command = cli.command(&[]);
            command.env(VARIABLE, KEY);
            let served = RunningServer::start(&mut command);
            for n in 0..20 {
                let text = format!("the interview in Lisbon, number {n} of round {round}");
                let body =
                    json!({ "user_id": "lin", "infer": false, "messages": [{ "role": "user", "content": text }] });
                assert_eq!(served.request("POST", "/memories", &[], &body.to_string()).0, 200);
            }
            drop(served);
            assert_eq!(plain_files(cli.folder.path()), [""; 0]);
            assert_eq!(records(&cli, KEY), Some(20 * (round + 1)));
        }
        assert!(cli.run_with(key, &["doctor"]).ok().contains("no problems found"));
    }

    #[test]
    fn a_file_or_log_with_another_key_is_refused() {
        let cli = CliFixture::new();
        for (db, key) in [("one.db", KEY), ("two.db", OTHER_KEY)] {
            for text in ["my interview", "the train to Lisbon"] {
                cli.run_with(&[(VARIABLE, key)], &["add", text, "--user", "lin", "--db", db]).ok();
            }
        }
        let served = RunningServer::start_as(cli.command(&[]).env(VARIABLE, OTHER_KEY), &["serve", "--db", "two.db"]);
        let body = json!({ "user_id": "lin", "infer": false, "messages": [{ "role": "user", "content": "more" }] });
        assert_eq!(served.request("POST", "/memories", &[], &body.to_string()).0, 200);
        drop(served);
        let log = fs::read(cli.path("two.db-wal")).unwrap();
        assert!(log.len() > 4096, "the server left its log");
        // A log of another file changes nothing.
        fs::write(cli.path("one.db-wal"), &log).unwrap();
        let stats = cli.run_with(&[(VARIABLE, KEY)], &["stats", "--db", "one.db", "--json"]);
        if stats.success {
            assert_eq!(stats.json()["records"], 2);
        }
        fs::remove_file(cli.path("one.db-wal")).unwrap();
        let _ = fs::remove_file(cli.path("one.db-shm"));
        let stats = cli.run_with(&[(VARIABLE, KEY)], &["stats", "--db", "one.db", "--json"]).json();
        assert_eq!(stats["records"], 2);
        // Another file under the name is noticed by its key.
        fs::copy(cli.path("two.db"), cli.path("one.db")).unwrap();
        cli.run_with(&[(VARIABLE, KEY)], &["stats", "--db", "one.db"])
            .assert_fails(&["this is not the key of the file"]);
    }

    /// Waits for another process.
    #[allow(clippy::disallowed_methods, reason = "waits for another process")]
    fn pause(milliseconds: u64) {
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    }
}
