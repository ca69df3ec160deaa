//! Opening and closing database files.

use std::{fs, path::Path, time::Duration};

use memory_engine_core::{EmbeddingSpace, Error, ErrorKind, Job, JobQueue, Record, RecordStore};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphStoreExt, Mention};
use memory_engine_sqlite::{Mismatch, SCHEMA, SqliteStore, StoreOptions, migrate_down};
use memory_engine_synonyms::{SynonymGroup, SynonymStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fixtures::{embed, found, lin, near, open, options, turn, vector, write};

fn new_path() -> (TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    (directory, path)
}

async fn open_error(path: &Path, options: StoreOptions) -> Error {
    SqliteStore::open(path, options).await.unwrap_err()
}

/// Writes two records with vectors. Returns the first.
async fn fill(store: &SqliteStore) -> Record {
    let records = ["green tea", "black coffee"].map(|text| turn(&lin(), text));
    for (record, number) in records.iter().zip(1..) {
        RecordStore::put(store, &lin(), vec![write(record)]).await.unwrap();
        embed(store, record, vector(number)).await;
    }
    let [first, _] = records;
    first
}

#[tokio::test]
async fn writes_survive_closing_and_dropping() {
    let (directory, path) = new_path();
    let store = open(&path).await;
    let record = fill(&store).await;
    drop(store);
    let store = open(&path).await;
    assert_eq!(store.get(&lin(), &[record.id]).await.unwrap()[0].as_ref().unwrap().text, "green tea");
    assert_eq!((found(&store, &lin(), "tea").await, near(&store, &lin(), vector(1)).await), (1, 2));
    store.close().await;
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no log is left next to the file");
    let e = store.stats(&lin()).await.unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::Closed, "the store is closed; open it again"));
    store.close().await;
    assert_eq!(open(&path).await.stats(&lin()).await.unwrap().records, 2);
}

#[tokio::test]
async fn an_unusable_path_is_refused_with_the_reason() {
    let (directory, path) = new_path();
    let e = open_error(&directory.path().join("missing/memory.db"), options()).await;
    assert_eq!(e.kind(), ErrorKind::NotFound);
    assert!(e.to_string().contains("missing does not exist; create it first"), "{e}");
    let e = open_error(directory.path(), options()).await;
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
    assert!(e.to_string().contains("is a directory"), "{e}");
    open(&path).await.close().await;
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let e = open_error(&path, options()).await;
    assert_eq!(e.kind(), ErrorKind::Unauthorized);
    assert!(e.to_string().contains("memory.db is read-only; make it writable"), "{e}");
}

#[tokio::test]
async fn a_foreign_file_is_refused_and_not_changed() {
    let (_directory, path) = new_path();
    let text = "this is a letter and no database; ".repeat(100);
    fs::write(&path, &text).unwrap();
    let e = open_error(&path, options()).await;
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
    assert!(e.to_string().contains("memory.db: the file is not a SQLite database"), "{e}");
    assert_eq!(fs::read(&path).unwrap(), text.as_bytes());

    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let e = open_error(&path, options()).await;
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
    assert!(e.to_string().contains("another application"), "{e}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn an_empty_file_is_opened_as_a_new_database() {
    let (_directory, path) = new_path();
    fs::write(&path, b"").unwrap();
    fill(&open(&path).await).await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let (_directory, path) = new_path();
    open(&path).await.close().await;
    Connection::open(&path).unwrap().pragma_update(None, "user_version", SCHEMA + 1).unwrap();
    let e = open_error(&path, options()).await;
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    let expected = format!("newer memory-engine (schema {}, this one knows {SCHEMA}); update", SCHEMA + 1);
    assert!(e.to_string().contains(&expected), "{e}");
}

#[tokio::test]
async fn another_analyzer_or_space_is_refused_with_both_names() {
    let (_directory, path) = new_path();
    fill(&open(&path).await).await;
    let e = open_error(&path, StoreOptions::new(options().space, "words-2")).await;
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(["'words-1'", "'words-2'", "Mismatch::Rebuild"].iter().all(|part| e.message().contains(part)), "{e}");
    let e = open_error(&path, StoreOptions::new(EmbeddingSpace::cosine("test", 3), "words-1")).await;
    assert_eq!(e.kind(), ErrorKind::SchemaMismatch);
    assert!(["'test (16-d, cosine)'", "'test (3-d, cosine)'"].iter().all(|part| e.message().contains(part)), "{e}");
    assert_eq!(found(&open(&path).await, &lin(), "tea").await, 1, "the file is unchanged");
}

#[tokio::test]
async fn rebuilding_clears_the_mismatched_index_and_queues_its_records() {
    let (_directory, path) = new_path();
    fill(&open(&path).await).await;
    let waiting = async |store: &SqliteStore| {
        let mut waiting = Vec::new();
        for job in Job::INDEXING {
            waiting.push(store.claim(job, 10, Duration::ZERO).await.unwrap().len());
        }
        waiting
    };
    let store = open(&path).await;
    for job in Job::INDEXING {
        let done: Vec<_> = store.claim(job, 10, Duration::ZERO).await.unwrap().iter().map(|p| p.done()).collect();
        store.complete(&done).await.unwrap();
    }
    drop(store);
    let rebuild = |space, analyzer: &str| StoreOptions::new(space, analyzer).with_mismatch(Mismatch::Rebuild);
    let store = SqliteStore::open(&path, rebuild(options().space, "words-2")).await.unwrap();
    assert_eq!(waiting(&store).await, [2, 0]);
    assert_eq!((found(&store, &lin(), "tea").await, near(&store, &lin(), vector(1)).await), (0, 2));
    for pending in store.claim(Job::Keywords, 10, Duration::ZERO).await.unwrap() {
        let terms = crate::fixtures::words(&pending.record.text);
        let entry = memory_engine_keyword_store::KeywordEntry { record: pending.record.into(), terms };
        memory_engine_keyword_store::KeywordStore::upsert(&store, &lin(), &[entry]).await.unwrap();
    }
    assert_eq!(found(&store, &lin(), "tea").await, 1);
    drop(store);

    let other = EmbeddingSpace::cosine("other", 16);
    let store = SqliteStore::open(&path, rebuild(other.clone(), "words-2")).await.unwrap();
    assert_eq!(waiting(&store).await, [2, 2]);
    assert_eq!((found(&store, &lin(), "tea").await, near(&store, &lin(), vector(1)).await), (1, 0));
    drop(store);
    SqliteStore::open(&path, StoreOptions::new(other, "words-2")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_file_is_created_once_by_concurrent_opens() {
    for _ in 0..15 {
        let (_directory, path) = new_path();
        let opening: Vec<_> = (0..6)
            .map(|_| {
                let path = path.clone();
                tokio::spawn(async move { open(&path).await })
            })
            .collect();
        for store in opening {
            fill(&store.await.unwrap()).await;
        }
        assert_eq!(open(&path).await.stats(&lin()).await.unwrap().records, 12);
    }
}

#[tokio::test]
async fn a_schema_is_migrated_down_and_up_again() {
    let (_directory, path) = new_path();
    let store = open(&path).await;
    let record = fill(&store).await;
    RecordStore::delete(&store, &lin(), &[record.id]).await.unwrap();
    store.close().await;
    assert_eq!(migrate_down(&path, SCHEMA + 1).unwrap_err().kind(), ErrorKind::InvalidInput);
    migrate_down(&path, 0).unwrap();
    let tables = "SELECT count(*) FROM sqlite_schema";
    let remaining: i64 = Connection::open(&path).unwrap().query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(remaining, 0);
    let store = open(&path).await;
    assert_eq!(store.stats(&lin()).await.unwrap(), memory_engine_core::Stats::default());
    fill(&store).await;
    assert_eq!(migrate_down(Path::new("/nowhere/memory.db"), 0).unwrap_err().kind(), ErrorKind::NotFound);
}

/// Users can add synonym groups by SQL.
#[tokio::test]
async fn a_synonym_group_added_by_sql_is_listed() {
    let (_directory, path) = new_path();
    let store = open(&path).await;
    fill(&store).await;
    let connection = Connection::open(&path).unwrap();
    let insert = |members: &str| {
        let sql = "INSERT INTO synonym_groups (namespace, term, members)
                   SELECT namespace, 'Tea', ?1 FROM namespaces WHERE user = 'lin'";
        connection.execute(sql, [members])
    };
    assert!(insert("茶").is_err(), "the members must be a JSON list");
    assert_eq!(insert(r#"["茶", "チャ"]"#).unwrap(), 1);
    assert_eq!(SynonymStore::list(&store, &lin()).await.unwrap(), [SynonymGroup::new("Tea", ["茶", "チャ"])]);
    SynonymStore::put(&store, &lin(), &[SynonymGroup::new("ＴＥＡ", ["chai"])]).await.unwrap();
    assert_eq!(SynonymStore::list(&store, &lin()).await.unwrap(), [SynonymGroup::new("ＴＥＡ", ["chai"])]);
}

#[tokio::test]
async fn a_damaged_database_is_reported_as_corrupt() {
    let (_directory, path) = new_path();
    fill(&open(&path).await).await;
    let mut file = fs::read(&path).unwrap();
    for byte in &mut file[4096..] {
        *byte = 0x5a;
    }
    fs::write(&path, file).unwrap();
    assert_eq!(open_error(&path, options()).await.kind(), ErrorKind::Corrupt);
}

/// A file of each schema, written by a version with that schema, is migrated and read.
#[tokio::test]
async fn golden_files_of_all_schemas_are_read() {
    let golden = crate::fixtures::golden();
    let mut expected = golden.clone();
    expected.iter_mut().for_each(|record| record.revision = 1);
    for schema in 1..=SCHEMA {
        let (_directory, path) = new_path();
        let file = format!("{}/tests/golden/schema-{schema}.sqlite", env!("CARGO_MANIFEST_DIR"));
        fs::copy(file, &path).unwrap();
        let store = open(&path).await;
        let records = store.scan(&lin(), &memory_engine_core::ScanQuery::oldest(10)).await.unwrap().records;
        assert_eq!(records, expected);
        assert_eq!((found(&store, &lin(), "海鲜").await, found(&store, &lin(), "c++").await), (1, 1));
        assert_eq!(found(&store, &lin().with_session("monday").unwrap(), "海鲜").await, 0);
        let nearest = memory_engine_vector_store::VectorQuery::new(vector(2), 1);
        let nearest = memory_engine_vector_store::VectorStore::search(&store, &lin(), &nearest).await.unwrap();
        assert_eq!(nearest[0].id, golden[1].id);
        assert_eq!(store.tombstones(&lin(), None, 10).await.unwrap().len(), 1);
        assert_eq!(store.derived(&lin(), &[golden[0].id]).await.unwrap(), [golden[1].id]);
        let (failures, stats) = (store.failures(&lin(), 9).await.unwrap(), store.stats(&lin()).await.unwrap());
        assert_eq!((failures.len(), failures[0].id, failures[0].retry_at), (1, golden[2].id, None));
        assert_eq!(stats.dead_letters, [(Job::Embedding, 1)].into());
        assert_eq!(SynonymStore::list(&store, &lin()).await.unwrap(), crate::fixtures::golden_groups());
        assert_eq!(store.verdicts(&lin()).await.unwrap(), crate::fixtures::golden_verdicts());
        let named = store.entities(&lin(), &["docker"]).await.unwrap();
        assert_eq!((named.entities.len(), &named.entities[0].evidence), (1, &vec![golden[1].id]));
        store.close().await;
        assert_eq!(memory_engine_sqlite::check_health(&path).unwrap().problems, Vec::<String>::new());
    }
}

/// Writes the golden file of the current schema. Never run it again for a released schema, which users have. Command:
/// `cargo test -- --ignored write_the_golden_file`.
#[tokio::test]
#[ignore = "it writes into the source tree"]
async fn write_the_golden_file() {
    let path = format!("{}/tests/golden/schema-{SCHEMA}.sqlite", env!("CARGO_MANIFEST_DIR"));
    let _ = fs::remove_file(&path);
    let store = open(Path::new(&path)).await;
    for (record, number) in crate::fixtures::golden().iter().zip(1..) {
        RecordStore::put(&store, &lin(), vec![write(record)]).await.unwrap();
        if number < 3 {
            embed(&store, record, vector(number)).await;
            let pending = store.claim(Job::Embedding, 1, Duration::ZERO).await.unwrap().remove(0);
            store.complete(&[pending.done()]).await.unwrap();
        }
    }
    let stored = store.get(&lin(), &[crate::fixtures::golden()[1].id]).await.unwrap().remove(0).unwrap();
    let extraction = Extraction { entities: vec![Mention::new("Docker", EntityKind::Concept)], relations: Vec::new() };
    memory_engine_graph::GraphStore::upsert(&store, &lin(), &[GraphEntry::new(stored, extraction)]).await.unwrap();
    let deleted = turn(&lin(), "to be forgotten");
    RecordStore::put(&store, &lin(), vec![write(&deleted)]).await.unwrap();
    RecordStore::delete(&store, &lin(), &[deleted.id]).await.unwrap();
    SynonymStore::put(&store, &lin(), &crate::fixtures::golden_groups()).await.unwrap();
    store.judge(&lin(), &crate::fixtures::golden_verdicts()).await.unwrap();
    let pending = store.claim(Job::Embedding, 1, Duration::ZERO).await.unwrap().remove(0);
    let error = memory_engine_core::Error::new(ErrorKind::Timeout, "embed", "it took too long");
    store.fail(&[pending.failed(&error, None)]).await.unwrap();
    let space = EmbeddingSpace::cosine("another", crate::fixtures::DIMENSIONS);
    let refill = StoreOptions::new(space, "words-1").with_mismatch(Mismatch::Refill);
    let second = SqliteStore::open(Path::new(&path), refill).await.unwrap();
    embed(&second, &crate::fixtures::golden()[0], vector(11)).await;
    let pending = second.claim(Job::Reembedding, 1, Duration::ZERO).await.unwrap().remove(0);
    assert_eq!(pending.record.id, crate::fixtures::golden()[0].id);
    second.complete(&[pending.done()]).await.unwrap();
    second.close().await;
    store.close().await;
}
