//! Encrypted files: no plain text in any file, keys, and the change of a key.
#![cfg(feature = "encryption")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_engine_core::{Clock, Embedding, ErrorKind, Record, RecordStore, Scope, SystemClock, Write};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphStore, Mention};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_sqlite::{
    DatabaseFile, EncryptionKey, SCHEMA, SqliteOptions, SqliteStore, back_up, check_backup, check_health, migrate_down,
    migrate_up, namespaces, rekey, repair, restore_backup, schema,
};
use memory_engine_synonyms::SynonymStore;
use memory_engine_vector_store::{VectorQuery, VectorStore};

use crate::fixtures::{embed, found, golden_groups, lin, near, options, turn, vector, words, write};

/// Texts of the records. Each is a single term, so that it is in the tables of the texts, the terms and the graph.
const CHINESE: &str = "鹦鹉螺号潜水艇";
const ENGLISH: &str = "nautilus-submarine";

fn key(first: u8) -> EncryptionKey {
    EncryptionKey::new(std::array::from_fn(|i| first.wrapping_add(i as u8)))
}

async fn open(path: &Path, key: Option<EncryptionKey>) -> memory_engine_core::Result<SqliteStore> {
    let settings = SqliteOptions::default().with_readers(2);
    let settings = match key {
        Some(key) => settings.with_encryption_key(key),
        None => settings,
    };
    SqliteStore::open_with(path, options(), settings).await
}

/// Stores both texts, each with a vector, synonyms and a mention in the graph. Returns the records.
async fn fill(store: &SqliteStore) -> Vec<Record> {
    let scope = lin().with_session(format!("{ENGLISH}-{CHINESE}")).unwrap();
    let mut records = Vec::new();
    for (text, seed) in [(CHINESE, 1), (ENGLISH, 2)] {
        let mut record = turn(&scope, text);
        record.topic = Some(text.into());
        record.metadata.insert(text.into(), text.into());
        RecordStore::put(store, &lin(), vec![write(&record)]).await.unwrap();
        embed(store, &record, vector(seed)).await;
        let mention = Mention::new(text, EntityKind::Person);
        let extraction = Extraction { entities: vec![mention], ..Extraction::default() };
        let stored = RecordStore::get(store, &lin(), &[record.id]).await.unwrap().remove(0).unwrap();
        GraphStore::upsert(store, &lin(), &[GraphEntry::new(stored, extraction)]).await.unwrap();
        records.push(record);
    }
    SynonymStore::put(store, &lin(), &golden_groups()).await.unwrap();
    records
}

async fn check_contents(store: &SqliteStore, records: &[Record]) {
    for (record, seed) in records.iter().zip(1..) {
        let stored = RecordStore::get(store, &lin(), &[record.id]).await.unwrap().remove(0).unwrap();
        assert_eq!(stored.text, record.text);
        assert_eq!(found(store, &lin(), &record.text).await, 1, "{}", record.text);
        let nearest = VectorStore::search(store, &lin(), &VectorQuery::new(vector(seed), 1)).await.unwrap();
        assert_eq!(nearest[0].id, record.id);
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Returns the bytes that no file of an encrypted database may contain.
fn secrets() -> Vec<Vec<u8>> {
    let bytes = |vector: &Embedding| vector.values().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let texts = [CHINESE, ENGLISH, "鹦鹉", "submarine", "seafood", "CREATE TABLE", "records_by_scope"];
    let vectors = [vector(1), vector(2)];
    let keys = [0, 100].map(|first| (first..first + 32).collect::<Vec<u8>>());
    let texts = texts.iter().map(|text| text.as_bytes().to_vec());
    texts.chain(vectors.iter().map(|vector| bytes(vector)[..24].to_vec())).chain(keys).collect()
}

/// Returns each file that contains one of these, with the first of them.
fn plain_files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let secrets = secrets();
    let find = |path: PathBuf| {
        let content = fs::read(&path).unwrap();
        let found = secrets.iter().find(|secret| content.windows(secret.len()).any(|window| window == &secret[..]));
        found.cloned().map(|secret| (path, secret))
    };
    files(directory).into_iter().filter_map(find).collect()
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_of_an_encrypted_database_contains_plain_text() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir(at("live")).unwrap();
    let path = at("live").join("memory.db");
    let store = open(&path, Some(key(0))).await.unwrap();
    let records = fill(&store).await;
    check_contents(&store, &records).await;
    assert!(files(&at("live")).iter().any(|file| file.to_str().unwrap().ends_with("-wal")));
    assert_eq!(plain_files(&at("live")), []);
    // The state after a crash: the log was never copied into the file.
    copy_directory(&at("live"), &at("crashed"));
    let crashed = open(&at("crashed").join("memory.db"), Some(key(0))).await.unwrap();
    check_contents(&crashed, &records).await;
    assert_eq!(plain_files(&at("crashed")), []);
    crashed.close().await;
    store.close().await;
    assert_eq!(plain_files(&at("live")), []);
    let again = open(&path, Some(key(0))).await.unwrap();
    check_contents(&again, &records).await;
    RecordStore::delete(&again, &lin(), &[records[0].id]).await.unwrap();
    again.close().await;
    assert_eq!(plain_files(&at("live")), []);
    assert_eq!(plain_files(&at("crashed")), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_for_plain_text_finds_it_in_a_plain_database() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("memory.db"), None).await.unwrap();
    fill(&store).await;
    let found = plain_files(directory.path());
    assert!(found.iter().any(|(path, _)| path.to_str().unwrap().ends_with("-wal")), "{found:?}");
    store.close().await;
    assert_eq!(plain_files(directory.path()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_database_has_no_index_caches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path, Some(key(0))).await.unwrap();
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    let count = 8_100;
    let writes: Vec<Write> = (0..count)
        .map(|number| {
            let record = turn(&lin(), &format!("w{number} common"));
            Write { terms: Some(words(&record.text)), embedding: Some(vector(number)), ..Write::upsert(record) }
        })
        .collect();
    for chunk in writes.chunks(1000) {
        RecordStore::put(&store, &tenant, chunk.to_vec()).await.unwrap();
    }
    let query = KeywordQuery::new(vec![Clause::term("w77")], 10);
    let search = async |store: &SqliteStore| {
        let words = KeywordStore::search(store, &tenant, &query).await.unwrap();
        let vectors = VectorStore::search(store, &tenant, &VectorQuery::new(vector(77), 10)).await.unwrap();
        (words, vectors)
    };
    let hits = search(&store).await;
    assert_eq!((hits.0.len(), hits.1.len()), (1, 10));
    store.close().await;
    assert_eq!(files(directory.path()), [path.as_path()], "caches of a plain database of this size are written");
    let store = open(&path, Some(key(0))).await.unwrap();
    assert_eq!(search(&store).await, hits);
    store.close().await;
    assert_eq!(check_health(DatabaseFile::new(&path).with_key(key(0))).unwrap().problems, Vec::<String>::new());
    // A decrypted database has caches again, and an encrypted one loses them.
    rekey(DatabaseFile::new(&path).with_key(key(0)), None).unwrap();
    let store = open(&path, None).await.unwrap();
    assert_eq!(search(&store).await, hits);
    store.close().await;
    assert!(files(directory.path()).len() > 1);
    rekey(&path, Some(&key(0))).unwrap();
    assert_eq!(files(directory.path()), [path.as_path()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_a_missing_and_a_needless_key_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let [encrypted, plain, other] = ["encrypted.db", "plain.db", "other.db"].map(|name| directory.path().join(name));
    for (path, key) in [(&encrypted, Some(key(0))), (&plain, None)] {
        let store = open(path, key).await.unwrap();
        fill(&store).await;
        store.close().await;
    }
    fs::write(&other, "no database. ".repeat(1000)).unwrap();
    let before = [&encrypted, &plain, &other].map(|path| fs::read(path).unwrap());
    for (path, key, kind, message) in [
        (&encrypted, Some(key(1)), ErrorKind::Unauthorized, "this is not the key of the file"),
        (&encrypted, None, ErrorKind::Unauthorized, "is encrypted; give its key"),
        (&plain, Some(key(0)), ErrorKind::InvalidInput, "is not encrypted, but a key is given"),
        (&other, Some(key(0)), ErrorKind::Unauthorized, "or the file is not a database"),
        (&other, None, ErrorKind::InvalidInput, "is not a SQLite database"),
    ] {
        let file = match key.clone() {
            Some(key) => DatabaseFile::new(path).with_key(key),
            None => DatabaseFile::new(path),
        };
        let errors = [
            open(path, key.clone()).await.unwrap_err(),
            check_health(&file).unwrap_err(),
            namespaces(&file).unwrap_err(),
            schema(&file).unwrap_err(),
            migrate_up(&file).unwrap_err(),
            migrate_down(&file, SCHEMA - 1).unwrap_err(),
            repair(&file).unwrap_err(),
            rekey(&file, Some(&self::key(9))).unwrap_err(),
        ];
        for error in &errors {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(message), "{error}");
        }
    }
    assert_eq!([&encrypted, &plain, &other].map(|path| fs::read(path).unwrap()), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn administration_works_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path, Some(key(0))).await.unwrap();
    let records = fill(&store).await;
    store.close().await;
    let file = DatabaseFile::new(&path).with_key(key(0));
    let report = check_health(&file).unwrap();
    assert!(report.backend.ends_with(", encrypted"), "{}", report.backend);
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(namespaces(&file).unwrap(), [lin()]);
    assert_eq!(schema(&file).unwrap(), SCHEMA);
    assert_eq!(repair(&file).unwrap(), Vec::<String>::new());
    migrate_down(&file, SCHEMA).unwrap();
    let store = open(&path, Some(key(0))).await.unwrap();
    check_contents(&store, &records).await;
    store.close().await;
    migrate_down(&file, 0).unwrap();
    assert_eq!(migrate_up(&file).unwrap(), 0);
    assert_eq!(plain_files(directory.path()), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_an_encrypted_file_is_encrypted() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| DatabaseFile::new(directory.path().join(name)).with_key(key(0));
    let store = open(at("memory.db").path(), Some(key(0))).await.unwrap();
    let records = fill(&store).await;
    // The store is in use.
    back_up(at("memory.db"), at("backup.db"), false, SystemClock.now(), &|_, _| ()).unwrap();
    store.close().await;
    assert_eq!(plain_files(directory.path()), []);
    assert_eq!(check_backup(DatabaseFile::new(at("backup.db").path())).unwrap_err().kind(), ErrorKind::Unauthorized);
    assert_eq!(check_backup(at("backup.db")).unwrap().records, 2);
    restore_backup(at("backup.db"), at("restored.db"), &|_, _| ()).unwrap();
    let restored = open(at("restored.db").path(), Some(key(0))).await.unwrap();
    check_contents(&restored, &records).await;
    restored.close().await;
    assert_eq!(plain_files(directory.path()), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_encrypted_rekeyed_and_decrypted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path, None).await.unwrap();
    let records = fill(&store).await;
    let error = rekey(&path, Some(&key(0))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.message().contains("another process has the database open"), "{error}");
    check_contents(&store, &records).await;
    store.close().await;

    let error = rekey(&path, None).unwrap_err();
    assert!(error.message().contains("is not encrypted; give a new key"), "{error}");
    for (old, new) in [(None, Some(key(0))), (Some(key(0)), Some(key(100))), (Some(key(100)), None)] {
        let file = DatabaseFile::new(&path);
        let file = match &old {
            Some(key) => file.with_key(key.clone()),
            None => file,
        };
        rekey(file, new.as_ref()).unwrap();
        assert_eq!(files(directory.path()), [path.as_path()]);
        assert_eq!(plain_files(directory.path()).is_empty(), new.is_some());
        assert!(open(&path, old).await.is_err());
        let store = open(&path, new).await.unwrap();
        check_contents(&store, &records).await;
        assert_eq!(near(&store, &lin(), vector(1)).await, 2);
        store.close().await;
    }
    let empty = directory.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    let error = rekey(&empty, Some(&key(0))).unwrap_err();
    assert!(error.message().contains("is empty"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_page_is_an_error_and_not_another_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path, Some(key(0))).await.unwrap();
    fill(&store).await;
    store.close().await;
    let content = fs::read(&path).unwrap();
    let pages = content.len() / 8192;
    let mut noticed = 0;
    for page in 1..pages {
        let mut changed = content.clone();
        changed[page * 8192 + 4000] ^= 1;
        fs::write(&path, changed).unwrap();
        let report = check_health(DatabaseFile::new(&path).with_key(key(0)));
        noticed += usize::from(report.map_or(true, |report| !report.problems.is_empty()));
    }
    assert_eq!(noticed, pages - 1);
}
