//! Traces of deleted records are found in every table, index and file.

use std::{fs, path::Path};

use memory_engine_core::{
    ContentHash, Record, RecordId, RecordStore, Scope, Trust,
    residue::{PlaceKind, ResidueProbe, ResidueProbes, ResidueReport, Salt, SearchExtent, SearchedPlace},
};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, Mention, Relation};
use memory_engine_sqlite::{SqliteStore, find_residue};
use rusqlite::{Connection, types::Value};

use crate::fixtures::{embed, lin, open, turn, vector, write};

const SECRETS: [&str; 2] =
    ["the combination of the safe is 31-7-88, behind the atlas", "保险箱的密码写在书架最上面那本地图册的扉页"];
const SALT: Salt = Salt::from_bytes([5; 32]);

/// Returns the probes of these records, with their texts.
fn probes(records: &[Record]) -> ResidueProbes {
    let probe = |record: &Record| ResidueProbe {
        namespace: record.scope.namespace(),
        id: record.id,
        content: SALT.hash(&record.content_hash()),
        cascade_deleted: false,
    };
    let mut probes = ResidueProbes::new(SALT, records.iter().map(probe).collect()).with_extent(SearchExtent::Database);
    records.iter().for_each(|record| probes.add_texts(record));
    probes
}

/// Stores two records with everything that is derived from records, next to others that remain.
async fn fill(store: &SqliteStore) -> Vec<Record> {
    let session = lin().with_session("monday").unwrap();
    let mut deleted: Vec<Record> = SECRETS.iter().map(|text| turn(&session, text)).collect();
    deleted[0].metadata.insert("note".into(), "ask the notary in Porto about it".into());
    let mut all = deleted.clone();
    all.extend((0..40).map(|number| turn(&session, &format!("message number {number} about the weather"))));
    for (record, number) in all.iter().zip(0..) {
        RecordStore::put(store, &lin(), vec![write(record)]).await.unwrap();
        embed(store, record, vector(number)).await;
        let stored = store.get(&session, &[record.id]).await.unwrap().remove(0).unwrap();
        let mention = Mention::new("notary", EntityKind::Person).with_alias("the notary");
        let entities = vec![mention, Mention::new("Porto", EntityKind::Place)];
        let extraction = Extraction { entities, relations: vec![Relation::new("notary", "lives in", "Porto")] };
        let entry = GraphEntry::new(stored, extraction);
        memory_engine_graph::GraphStore::upsert(store, &lin(), &[entry]).await.unwrap();
    }
    deleted
}

async fn delete(store: &SqliteStore, records: &[Record]) {
    let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
    assert_eq!(RecordStore::delete(store, &lin(), &ids).await.unwrap().ids, ids);
}

/// Returns a closed database from which two records were deleted, and the records.
async fn deleted_from(path: &Path) -> Vec<Record> {
    let store = open(path).await;
    let records = fill(&store).await;
    delete(&store, &records).await;
    store.close().await;
    records
}

/// Opens a database without any protection of its contents.
fn unprotected(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA secure_delete = OFF;
             PRAGMA writable_schema = ON;",
        )
        .unwrap();
    connection
}

fn place<'r>(report: &'r ResidueReport, name: &str) -> &'r SearchedPlace {
    report.places.iter().find(|place| place.name == name).unwrap_or_else(|| panic!("{name}: {report:#?}"))
}

fn dirty(report: &ResidueReport) -> Vec<&str> {
    report.places.iter().filter(|place| place.residue() > 0).map(|place| &place.name[..]).collect()
}

#[tokio::test]
async fn nothing_remains_of_deleted_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store).await;
    let before = store.find_residue(&probes(&records)).await.unwrap();
    for name in ["records", "vectors", "keyword_documents", "derivations", "jobs", "graph_edges", "memory.db"] {
        assert!(before.places.iter().any(|place| place.name == name), "{name} was not searched: {before:#?}");
    }
    assert!(["records", "vectors", "keyword_documents"].iter().all(|name| place(&before, name).ids >= 2));
    assert!(place(&before, "memory.db").texts > 0 && before.missing_tombstones.len() == 2);

    delete(&store, &records).await;
    let after = store.find_residue(&probes(&records)).await.unwrap();
    assert_eq!((dirty(&after), &after.missing_tombstones), (vec![], &vec![]), "{after:#?}");
    assert_eq!(place(&after, "tombstones").ids, 2);
    let searched = place(&after, "memory.db").searched;
    assert_eq!(searched, fs::metadata(&path).unwrap().len(), "the whole file was read");
    // The file can be read at any time, and by another process.
    drop(store);
    let report = find_residue(path.as_path(), &probes(&records)).unwrap();
    assert_eq!((report.residue(), report.store_id.as_deref().map(str::len)), (0, Some(16)), "{report:#?}");
}

/// Returns a statement that inserts a row into a table, with these values by the type of the column.
fn insert(connection: &Connection, table: &str, text: &str, blob: &[u8]) -> (String, Vec<Value>) {
    let mut statement = connection.prepare("SELECT name, type FROM pragma_table_xinfo(?1) WHERE hidden = 0").unwrap();
    let columns = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: Vec<(String, String)> = columns.collect::<rusqlite::Result<_>>().unwrap();
    let number = |sql: &str| Value::Integer(connection.query_row(sql, [], |row| row.get(0)).unwrap());
    let value = |(name, kind): &(String, String)| match (name.as_str(), kind.as_str()) {
        ("namespace", _) if table != "namespaces" => number("SELECT namespace FROM namespaces WHERE user = 'lin'"),
        ("scope", _) if table != "scopes" => number("SELECT max(scope) FROM scopes"),
        (_, "TEXT") => Value::Text(text.to_owned()),
        (_, "BLOB") => Value::Blob(blob.to_vec()),
        (_, "REAL") => Value::Real(0.5),
        _ => Value::Integer(900_001),
    };
    let values: Vec<Value> = columns.iter().map(value).collect();
    let names = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let marks = vec!["?"; values.len()].join(", ");
    (format!("INSERT INTO \"{table}\" ({names}) VALUES ({marks})"), values)
}

fn tables(connection: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

#[tokio::test]
async fn an_id_or_orphan_is_found_in_every_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let records = deleted_from(&path).await;
    let probes = probes(&records);
    let (id, mut missed) = (records[0].id, Vec::new());
    let names = tables(&unprotected(&path));
    assert!(names.len() > 15, "{names:?}");
    for table in &names {
        let copy = directory.path().join(format!("{table}.db"));
        fs::copy(&path, &copy).unwrap();
        let connection = unprotected(&copy);
        connection.execute_batch(&format!("CREATE TABLE kept AS SELECT * FROM {table}; DROP TABLE kept;")).unwrap();
        if table == "tombstones" {
            connection.execute("DELETE FROM tombstones", []).unwrap();
        }
        let (sql, values) = insert(&connection, table, &id.to_string(), id.as_bytes());
        connection.execute(&sql, rusqlite::params_from_iter(values)).unwrap_or_else(|error| panic!("{table}: {error}"));
        drop(connection);
        let report = find_residue(copy.as_path(), &probes).unwrap();
        let found = place(&report, table);
        if found.ids + found.orphans == 0 {
            missed.push(table.as_str());
        } else if found.keeps_ids.is_none() {
            assert!(found.residue() > 0, "{table}: {found:?}");
        }
    }
    // They have numbers only: of changes and of processes. `blocked_contents` and the groups have no id.
    missed.retain(|table| !["blocked_contents", "changes", "lease_owners", "record_groups"].contains(table));
    assert!(missed.is_empty(), "not found in {missed:?}");
}

#[tokio::test]
async fn a_text_is_found_in_every_table_with_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let records = deleted_from(&path).await;
    let probes = probes(&records);
    for secret in SECRETS {
        for table in tables(&unprotected(&path)) {
            let copy = directory.path().join("copy.db");
            fs::copy(&path, &copy).unwrap();
            let connection = unprotected(&copy);
            let (sql, values) = insert(&connection, &table, &format!("x {secret}"), secret.as_bytes());
            let has_text = values.iter().any(|value| matches!(value, Value::Text(_) | Value::Blob(_)));
            // The ids of a record are blobs of 16 bytes.
            let values = values.into_iter().map(|value| match value {
                Value::Blob(_) if table == "records" => Value::Blob(vec![9; 16]),
                other @ (Value::Null | Value::Integer(_) | Value::Real(_) | Value::Text(_) | Value::Blob(_)) => other,
            });
            let values: Vec<Value> = values.collect();
            connection.execute(&sql, rusqlite::params_from_iter(values)).unwrap();
            drop(connection);
            let report = find_residue(copy.as_path(), &probes).unwrap();
            let found = place(&report, &table);
            // A remaining record may say the same, and conversations keep their names.
            let is_shared = ["records", "tenants", "namespaces", "scopes"].contains(&&table[..]);
            let expected = (has_text && !is_shared, has_text && is_shared);
            assert_eq!((found.texts > 0, found.shared > 0), expected, "{table}: {found:?}");
            fs::remove_file(&copy).unwrap();
        }
    }
}

#[tokio::test]
async fn a_table_that_no_version_knows_is_searched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let records = deleted_from(&path).await;
    let connection = unprotected(&path);
    connection.execute_batch("CREATE TABLE later (a, b ANY); CREATE TABLE again (a TEXT)").unwrap();
    let id = records[1].id;
    connection.execute("INSERT INTO later VALUES (1, ?1)", [id.as_bytes().as_slice()]).unwrap();
    let json = format!("{{\"ids\": [\"{id}\"], \"hex\": \"{}\"}}", id.to_string().replace('-', ""));
    connection.execute("INSERT INTO again VALUES (?1)", [json]).unwrap();
    drop(connection);
    let report = find_residue(path.as_path(), &probes(&records)).unwrap();
    assert_eq!((place(&report, "later").ids, place(&report, "again").ids), (1, 2));
    assert_eq!(dirty(&report), ["again", "later"]);
}

#[tokio::test]
async fn a_record_that_was_derived_or_is_named_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let records = deleted_from(&path).await;
    let connection = unprotected(&path);
    let list = format!("[\"{}\"]", records[0].id);
    connection.execute("UPDATE records SET metadata = json_object('records', ?1) WHERE record = 7", [&list]).unwrap();
    let report = find_residue(path.as_path(), &probes(&records)).unwrap();
    assert_eq!((report.residue(), place(&report, "records (references in remaining records)").ids), (0, 1));
    connection.execute("UPDATE records SET derived_from = ?1 WHERE record = 9", [&list]).unwrap();
    let report = find_residue(path.as_path(), &probes(&records)).unwrap();
    assert_eq!(dirty(&report), ["records"]);
}

#[tokio::test]
async fn an_entry_that_only_an_index_has_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store).await;
    store.close().await;
    // The index is hidden from SQLite while the row is deleted.
    let connection = unprotected(&path);
    connection
        .execute_batch(
            "CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = 'records_by_namespace';
             DELETE FROM sqlite_schema WHERE name = 'records_by_namespace';",
        )
        .unwrap();
    let hidden = connection
        .query_row("SELECT sql, rootpage FROM hidden", [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
    let (sql, rootpage) = hidden.unwrap();
    drop(connection);
    let connection = unprotected(&path);
    for record in &records {
        connection.execute("DELETE FROM records WHERE id = ?1", [record.id.as_bytes().as_slice()]).unwrap();
    }
    connection
        .execute(
            "INSERT INTO sqlite_schema VALUES ('index', 'records_by_namespace', 'records', ?1, ?2)",
            rusqlite::params![rootpage, sql],
        )
        .unwrap();
    drop(connection);
    let report = find_residue(path.as_path(), &probes(&records)).unwrap();
    assert_eq!(place(&report, "records").ids, 0);
    assert_eq!(place(&report, "records_by_namespace of records").ids, 2, "{report:#?}");
    assert!(place(&report, "vectors").orphans >= 2 && place(&report, "graph_edges").orphans >= 2, "{report:#?}");
}

#[tokio::test]
async fn bytes_in_every_file_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let records = deleted_from(&path).await;
    let probes = probes(&records);
    for name in ["memory.db", "memory.db-wal", "memory.db-vectors-1-0", "memory.db-anything"] {
        let file = directory.path().join(name);
        let before = fs::read(&file).unwrap_or_default();
        // In the middle of a block, and over the border of two blocks of the search.
        for length in [3000, (1 << 20) - before.len() % (1 << 20) - 10] {
            let mut bytes = before.clone();
            bytes.resize(before.len() + length, 0);
            bytes.extend_from_slice(SECRETS[1].as_bytes());
            fs::write(&file, &bytes).unwrap();
            // SQLite removes a log that is not one.
            let report = find_residue(path.as_path(), &probes).unwrap();
            if name == "memory.db-wal" && !file.exists() {
                continue;
            }
            assert!(place(&report, name).texts > 0, "{name}: {report:#?}");
            assert_eq!(dirty(&report), [name]);
        }
        if before.is_empty() { _ = fs::remove_file(&file) } else { fs::write(&file, &before).unwrap() }
    }
    // A cache has to be removed with the records that it contains; the database keeps the ids in tombstones.
    let cache = directory.path().join("memory.db-terms-1-0");
    fs::write(&cache, [&[1; 77][..], records[0].id.as_bytes()].concat()).unwrap();
    let report = find_residue(path.as_path(), &probes).unwrap();
    assert_eq!((dirty(&report), place(&report, "memory.db").ids > 0), (vec!["memory.db-terms-1-0"], true));
}

#[tokio::test]
async fn a_text_that_another_record_contains_is_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store).await;
    let mo = Scope::user("mo").unwrap();
    let mut others = vec![turn(&lin(), SECRETS[0]), turn(&lin(), SECRETS[0]), turn(&mo, SECRETS[1])];
    others[1].trust = Trust::Import;
    (others[2].trust, others[2].id) = (Trust::Import, records[0].id);
    for record in &others {
        RecordStore::put(&store, &record.scope, vec![write(record)]).await.unwrap();
    }
    delete(&store, &records).await;
    let report = store.find_residue(&probes(&records)).await.unwrap();
    assert_eq!(dirty(&report), Vec::<&str>::new(), "another user has a record with the same id: {report:#?}");
    assert!(place(&report, "memory.db").shared > 0);
    assert_eq!((&report.blocked_copies, report.other_copies), (&vec![others[1].id], 1));
    assert_eq!(ContentHash::of(SECRETS[0]), others[1].content_hash());
}

#[tokio::test]
async fn a_copy_from_before_the_deletion_is_recognized() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy] = ["memory.db", "copy.db"].map(|name| directory.path().join(name));
    let store = open(&path).await;
    let records = fill(&store).await;
    store.close().await;
    fs::copy(&path, &copy).unwrap();
    // Without texts, as for a certificate.
    let only_ids = ResidueProbes::new(SALT, probes(&records).records).with_extent(SearchExtent::Database);
    let report = find_residue(copy.as_path(), &only_ids).unwrap();
    assert!(place(&report, "records").ids >= 2 && place(&report, "vectors").ids == 2, "{report:#?}");
    assert_eq!(report.missing_tombstones.len(), 2);
    assert!(report.places.iter().filter(|place| place.kind == PlaceKind::Index).any(|place| place.ids > 0));
}

#[test]
fn a_missing_file_and_another_database_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let probes = ResidueProbes::default();
    let error = find_residue(path.as_path(), &probes).unwrap_err().to_string();
    assert!(error.contains("there is no file") && !path.exists(), "{error}");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE tea (leaf)").unwrap();
    let error = find_residue(path.as_path(), &probes).unwrap_err().to_string();
    assert!(error.contains("another application"), "{error}");
}
