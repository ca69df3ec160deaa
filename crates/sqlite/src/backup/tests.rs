use memory_engine_sql::backup::BackupTable;

use super::{digest::VOLATILE_TABLES, *};

/// The columns that name the owner of a row, and numbers of rows.
const OWNER_COLUMNS: [&str; 5] = ["id", "namespace", "record", "scope", "tenant"];
/// The tables whose rows come with the records and addresses that need them.
const OF_RECORDS: [&str; 5] = ["derivations", "namespaces", "records", "scopes", "tenants"];
/// Columns that a restored row does not have: the number of a relation, and the lease of a job, which ends with a
/// backup.
const UNSAVED: [(&str, &str); 4] =
    [("graph_edges", "edge"), ("jobs", "leased_at"), ("jobs", "owner"), ("jobs", "ticket")];
/// Tables without content of their own: triggers, openings and caches fill them.
const DERIVED: [&str; 3] = ["changes", "lease_owners", "record_groups"];

#[test]
fn stores_of_all_schemas_are_backed_up_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for schema in 1..=schema::SCHEMA {
        let path = |name: &str| folder.path().join(format!("{name}-{schema}.db"));
        std::fs::copy(golden.join(format!("schema-{schema}.sqlite")), path("old")).unwrap();
        let before = std::fs::read(path("old")).unwrap();
        let info = back_up(path("old"), path("backup"), false, Timestamp::from_micros(7), &|_, _| {}).unwrap();
        assert!(info.schema == schema && info.records > 0, "{info:?}");
        assert_eq!(std::fs::read(path("old")).unwrap(), before, "schema {schema}");
        assert_eq!(check_backup(path("backup")).unwrap(), info);
        restore_backup(path("backup"), path("new"), &|_, _| {}).unwrap();
        let restored = connection::open_existing(path("new")).unwrap();
        let count = |sql| restored.query_row(sql, [], |row| row.get::<_, u64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM records"), info.records);
        assert_eq!(count("PRAGMA user_version"), u64::from(schema::SCHEMA));
    }
}

#[test]
fn every_table_and_column_is_backed_up_or_named_as_derived() {
    let folder = tempfile::tempdir().unwrap();
    let writer = BackupWriter::create(folder.path().join("b.db"), false).unwrap();
    let is_known = |table: &str, column: &str| {
        let described = BackupTable::ALL.iter().filter(|known| known.name() == table);
        described.flat_map(|known| known.columns()).any(|known| known.name == column)
            || OWNER_COLUMNS.contains(&column)
            || UNSAVED.contains(&(table, column))
    };
    let mut checked = 0;
    for table in digest::tables(&writer.connection).unwrap() {
        if DERIVED.contains(&table.as_str()) || OF_RECORDS.contains(&table.as_str()) {
            continue;
        }
        let sql = format!("SELECT name FROM pragma_table_info('{table}')");
        let mut statement = writer.connection.prepare(&sql).unwrap();
        for column in statement.query_map([], |row| row.get::<_, String>(0)).unwrap() {
            let column = column.unwrap();
            assert!(is_known(&table, &column), "add {table}.{column} to `backup_tables!`, or to this list");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
    assert!(VOLATILE_TABLES.iter().all(|table| DERIVED.contains(table) || *table == "jobs"));
    // Every statement is valid for the current schema.
    assert_eq!(read_fingerprint(&writer.connection).unwrap(), Fingerprint::default());
}

#[test]
fn an_unfinished_backup_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.db");
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let writer = BackupWriter::create(&file, false).unwrap();
    assert!(!file.exists());
    assert_eq!(names().len(), 1);
    // The folder of a running backup stays, that of a killed one is removed by the next backup of this name.
    let second = BackupWriter::create(&file, false).unwrap();
    assert_eq!(names().len(), 2);
    drop(writer);
    std::mem::forget(second.pending);
    drop(second.connection);
    assert_eq!(names().len(), 1);
    let finished = BackupWriter::create(&file, false).unwrap();
    finished.finish(Fingerprint::default(), Timestamp::from_micros(1)).unwrap();
    assert!(names().contains(&"b.db".to_owned()));
    assert_eq!(check_backup(&file).unwrap().records, 0);
    // Another process created the file in the meantime: it stays.
    let late = BackupWriter::create(folder.path().join("c.db"), false).unwrap();
    std::fs::write(folder.path().join("c.db"), "mine").unwrap();
    let error = late.finish(Fingerprint::default(), Timestamp::from_micros(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(std::fs::read(folder.path().join("c.db")).unwrap(), b"mine");
}

/// Returns a backup of an empty store.
fn empty_backup(folder: &Path) -> std::path::PathBuf {
    let file = folder.join("empty.backup");
    let writer = BackupWriter::create(&file, true).unwrap();
    writer.finish(Fingerprint::default(), Timestamp::from_micros(1)).unwrap();
    file
}

#[test]
fn a_backup_with_an_addition_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (sql, words) in [
        ("CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM tombstones; END", "the trigger t was added"),
        ("CREATE VIEW v AS SELECT text FROM records", "the view v was added"),
        ("CREATE TABLE kept (text)", "the table kept was added"),
        ("CREATE INDEX i ON records (text)", "the index i was added"),
        ("ALTER TABLE records ADD COLUMN extra TEXT", "the table records was changed"),
        ("DROP INDEX pinned_records", "the index pinned_records was changed or removed"),
    ] {
        let file = empty_backup(folder.path());
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        let target = folder.path().join("restored.db");
        for error in [
            check_backup(&file).unwrap_err(),
            restore_backup(&file, &target, &|_, _| ()).unwrap_err(),
            read_backup(&file, |_| Ok(())).unwrap_err(),
        ] {
            assert!(error.kind() == ErrorKind::Corrupt && error.message().contains(words), "{sql}: {error}");
        }
        assert!(!target.exists());
    }
}

#[test]
fn bytes_after_the_end_of_a_backup_are_refused() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let file = empty_backup(folder.path());
    check_backup(&file).unwrap();
    std::fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(b"a hidden text").unwrap();
    for error in [
        check_backup(&file).unwrap_err(),
        restore_backup(&file, folder.path().join("restored.db"), &|_, _| ()).unwrap_err(),
    ] {
        assert!(error.message().contains("13 bytes after the end of the backup"), "{error}");
    }
}

/// Bytes in the pages of a backup that belong to none of its tables are not restored.
#[test]
fn only_rows_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = (empty_backup(folder.path()), folder.path().join("restored.db"));
    let backup = Connection::open(&file).unwrap();
    backup.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES ('unlinked text'); DROP TABLE t").unwrap();
    drop(backup);
    let has_text = |path: &Path| std::fs::read(path).unwrap().windows(13).any(|window| window == b"unlinked text");
    assert!(has_text(&file));
    restore_backup(&file, &store, &|_, _| ()).unwrap();
    assert!(!has_text(&store));
}

#[test]
fn a_backup_contains_no_addition_of_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store.db");
    restore_backup(empty_backup(folder.path()), &store, &|_, _| ()).unwrap();
    let additions = "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine'); CREATE INDEX n ON notes (text);
        CREATE VIEW v AS SELECT * FROM notes;
        CREATE TRIGGER t AFTER INSERT ON tombstones BEGIN INSERT INTO notes VALUES (new.id); END";
    Connection::open(&store).unwrap().execute_batch(additions).unwrap();
    let file = folder.path().join("new.backup");
    back_up(&store, &file, false, Timestamp::from_micros(1), &|_, _| ()).unwrap();
    check_backup(&file).unwrap();
    let has_notes = "SELECT count(*) FROM sqlite_schema WHERE name IN ('notes', 'n', 'v', 't')";
    let count =
        |path: &Path| -> u32 { Connection::open(path).unwrap().query_row(has_notes, [], |row| row.get(0)).unwrap() };
    assert_eq!((count(&store), count(&file)), (4, 0), "the store keeps them");

    let changed = "ALTER TABLE records ADD COLUMN extra TEXT";
    Connection::open(&store).unwrap().execute_batch(changed).unwrap();
    let error = back_up(&store, &file, true, Timestamp::from_micros(1), &|_, _| ()).unwrap_err();
    assert!(error.message().contains("the table records was changed"), "{error}");
}
