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
    use std::{fs, path::Path};

    use super::*;

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
}
