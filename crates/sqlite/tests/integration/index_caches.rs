//! Index caches of a large database never change a result.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memory_engine_core::{Field, Filter, Hit, Op, Record, RecordId, RecordStore, Scope, State, Timestamp, Write};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_sqlite::SqliteStore;
use memory_engine_vector_store::{VectorQuery, VectorStore};

use crate::fixtures::{found, lin, near, open, options, turn, vector, words};

/// Number of records, slightly more than the minimum for a cache.
const COUNT: u64 = 8_050;

fn tenant_wide() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

fn numbered_write(number: u64) -> Write {
    let scope = Scope::user(format!("u{}", number % 7)).unwrap();
    let record = turn(&scope, &format!("w{number} every{} common", number % 50));
    Write { terms: Some(words(&record.text)), embedding: Some(vector(number)), ..Write::upsert(record) }
}

async fn fill(store: &SqliteStore, from: u64, to: u64) -> Vec<Record> {
    let writes: Vec<Write> = (from..to).map(numbered_write).collect();
    let records = writes.iter().map(|write| write.record.clone()).collect();
    for chunk in writes.chunks(1000) {
        RecordStore::put(store, &tenant_wide(), chunk.to_vec()).await.unwrap();
    }
    records
}

async fn nearest(store: &SqliteStore, number: u64) -> Vec<Hit> {
    VectorStore::search(store, &tenant_wide(), &VectorQuery::new(vector(number), 20)).await.unwrap()
}

async fn records_with_words(store: &SqliteStore, scope: &Scope, words: &[&str]) -> Vec<Hit> {
    let clauses = words.iter().map(|word| Clause::term(*word)).collect();
    KeywordStore::search(store, scope, &KeywordQuery::new(clauses, 30)).await.unwrap()
}

fn cache_files(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let files = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_cache_file = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.starts_with(name) && file != name && !file.ends_with("-wal") && !file.ends_with("-shm")
    };
    let mut files: Vec<PathBuf> = files.filter(is_cache_file).collect();
    files.sort();
    files
}

/// Checks that searches with the caches return the same hits as searches in a copy of the database without caches.
async fn assert_same_hits(path: &Path, with: &SqliteStore) {
    let copy = tempfile::tempdir().unwrap();
    let bare = copy.path().join("bare.db");
    rusqlite::Connection::open(path).unwrap().execute("VACUUM INTO ?1", [bare.to_str().unwrap()]).unwrap();
    let without = open(&bare).await;
    for number in [3, 77, COUNT + 20, 5_345] {
        // A search in the whole tenant compares signs first and may miss a hit. A search for one user is exact.
        assert_eq!(nearest(with, number).await[0], nearest(&without, number).await[0]);
        for user in 0..7 {
            let (user, query) = (Scope::user(format!("u{user}")).unwrap(), VectorQuery::new(vector(number), 20));
            let found = VectorStore::search(with, &user, &query).await.unwrap();
            assert_eq!(found, VectorStore::search(&without, &user, &query).await.unwrap());
        }
    }
    let user = Scope::user("u3").unwrap();
    for words in [&["common", "w17"][..], &["every3", "w8049", "w12"], &["w100"]] {
        assert_eq!(
            records_with_words(with, &tenant_wide(), words).await,
            records_with_words(&without, &tenant_wide(), words).await
        );
        assert_eq!(records_with_words(with, &user, words).await, records_with_words(&without, &user, words).await);
    }
}

#[tokio::test]
async fn caches_are_written_on_close_and_read_on_the_next_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    fill(&store, 0, COUNT).await;
    assert_eq!(cache_files(&path), Vec::<PathBuf>::new());
    store.close().await;
    let files = cache_files(&path);
    assert_eq!(files.len(), 2, "{files:?}");
    let store = open(&path).await;
    assert_same_hits(&path, &store).await;
    // Later writes are found together with the cached records, by this process and by the next one.
    fill(&store, COUNT, COUNT + 40).await;
    assert_same_hits(&path, &store).await;
    store.close().await;
    let store = open(&path).await;
    assert_eq!(nearest(&store, COUNT + 39).await.len(), 20);
    assert_same_hits(&path, &store).await;
    assert_eq!(cache_files(&path), files);
    drop(store);
    // An incomplete and a missing cache file.
    fs::write(&files[0], &fs::read(&files[0]).unwrap()[..5000]).unwrap();
    fs::remove_file(&files[1]).unwrap();
    let store = open(&path).await;
    assert_same_hits(&path, &store).await;
}

#[tokio::test]
async fn a_deleted_record_is_in_no_cache_and_old_caches_are_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, 0, COUNT).await;
    store.close().await;
    let old_caches: Vec<(PathBuf, Vec<u8>)> =
        cache_files(&path).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert_eq!(old_caches.len(), 2);

    let store = open(&path).await;
    assert_eq!((nearest(&store, 1).await.len(), found(&store, &tenant_wide(), "w5000").await), (20, 1));
    let deleted = &records[5000];
    assert_eq!(RecordStore::delete(&store, &deleted.scope, &[deleted.id]).await.unwrap().ids, [deleted.id]);
    assert_eq!(cache_files(&path), Vec::<PathBuf>::new());
    // A process that has read everything writes new caches when it closes.
    store.close().await;
    assert_eq!(cache_files(&path), old_caches.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>());
    assert_same_hits(&path, &open(&path).await).await;
    // Old cache files that are put back are not used.
    for (path, bytes) in &old_caches {
        fs::write(path, bytes).unwrap();
    }
    let store = open(&path).await;
    assert_eq!(found(&store, &tenant_wide(), "w5000").await, 0);
    assert!(!nearest(&store, 5000).await.iter().any(|hit| hit.id == deleted.id));
    assert_same_hits(&path, &store).await;
    assert_eq!(near(&store, &lin(), vector(1)).await, 0);
    // The rebuilt index is written to a cache.
    store.close().await;
    for (path, old) in old_caches {
        assert!(fs::read(&path).unwrap() != old, "{path:?}");
    }
    assert_same_hits(&path, &open(&path).await).await;
}

#[tokio::test]
async fn a_restored_database_ignores_caches_of_a_later_state() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    fill(&store, 0, COUNT).await;
    store.close().await;
    // The epoch is in the copy, but the caches belong to a later state.
    let copy = fs::read(&path).unwrap();
    let store = open(&path).await;
    fill(&store, COUNT, COUNT + 11_000).await;
    nearest(&store, 1).await;
    records_with_words(&store, &tenant_wide(), &["common"]).await;
    store.close().await;
    let newer = cache_files(&path);
    fs::write(&path, copy).unwrap();
    let store = SqliteStore::open(&path, options()).await.unwrap();
    // More changes than a flush needs, and too few for a rebuild.
    fill(&store, 50_000, 57_200).await;
    assert_eq!(cache_files(&path), newer);
    assert_same_hits(&path, &store).await;
    assert_eq!(found(&store, &tenant_wide(), &format!("w{COUNT}")).await, 0);
    assert_eq!(found(&store, &tenant_wide(), "w50001").await, 1);
}

/// An import gives the same ids in every run. A backup is restored next to newer caches, and the corrected file is
/// imported: change numbers and ids agree with those of the caches, and the contents do not.
#[tokio::test]
async fn a_repeated_import_after_a_restore_ignores_caches_of_the_first_import() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    fill(&store, 0, COUNT).await;
    store.close().await;
    let backup = fs::read(&path).unwrap();
    let import = |seed: u64| -> Vec<Write> {
        let number = |n: u64| {
            let mut write = numbered_write(seed + n);
            write.record.id = RecordId::from_bytes((u128::from(n) + 1).to_be_bytes());
            write
        };
        (0..2_000).map(number).collect()
    };
    let store = open(&path).await;
    RecordStore::put(&store, &tenant_wide(), import(100_000)).await.unwrap();
    store.close().await;
    fs::write(&path, backup).unwrap();
    let store = open(&path).await;
    RecordStore::put(&store, &tenant_wide(), import(200_000)).await.unwrap();
    for number in [200_000, 200_777, 201_999] {
        let id = RecordId::from_bytes((u128::from(number - 200_000) + 1).to_be_bytes());
        assert_eq!(nearest(&store, number).await[0].id, id);
        assert_eq!(found(&store, &tenant_wide(), &format!("w{number}")).await, 1);
    }
    assert_eq!(found(&store, &tenant_wide(), "w100777").await, 0);
    assert_same_hits(&path, &store).await;
    store.close().await;
    assert_eq!(memory_engine_sqlite::check_health(&path).unwrap().repairable, 0);
}

/// Copies the files, as they are after a crash at this moment.
fn copy_after_crash(path: &Path) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    for entry in fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap()) {
        let file = entry.file_name();
        if file.to_str().unwrap().starts_with(&name) && !file.to_str().unwrap().ends_with("-shm") {
            fs::copy(entry.path(), directory.path().join(file)).unwrap();
        }
    }
    let path = directory.path().join(name);
    (directory, path)
}

#[tokio::test]
async fn an_import_appends_to_the_caches_and_a_crash_leaves_them_usable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    fill(&store, 0, COUNT + 2000).await;
    let files = cache_files(&path);
    assert_eq!(files.len(), 2, "{files:?}");
    let first_segments: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    fill(&store, COUNT + 2000, COUNT + 12_000).await;
    // The first segments stay unchanged, and later ones are appended.
    let [terms, vectors] = &files[..] else { panic!("{files:?}") };
    let fresh = PathBuf::from(format!("{}-fresh", terms.display()));
    assert_eq!(cache_files(&path), [terms.clone(), fresh.clone(), vectors.clone()]);
    assert_eq!(fs::read(terms).unwrap(), first_segments[0]);
    let grown = fs::read(vectors).unwrap();
    assert!(grown.len() > first_segments[1].len() && grown.starts_with(&first_segments[1]));
    // A crash leaves half of the last segment, or nothing of it.
    let (added, length) = ((grown.len() - first_segments[1].len()) as u64, first_segments[1].len() as u64);
    for kept in [length + added / 2, length] {
        let (_directory, copy) = copy_after_crash(&path);
        let copied = |file: &Path| copy.with_file_name(file.file_name().unwrap());
        fs::OpenOptions::new().write(true).open(copied(vectors)).unwrap().set_len(kept).unwrap();
        let fresh = fs::OpenOptions::new().write(true).open(copied(&fresh)).unwrap();
        fresh.set_len(fresh.metadata().unwrap().len() * (kept - length) / added).unwrap();
        let store = open(&copy).await;
        assert_same_hits(&copy, &store).await;
        // Later writes continue from the cache.
        fill(&store, COUNT + 12_000, COUNT + 13_000).await;
        store.close().await;
        let store = open(&copy).await;
        assert_same_hits(&copy, &store).await;
        assert_eq!(fs::read(copied(vectors)).unwrap()[..first_segments[1].len()], first_segments[1]);
    }
    // A flipped bit is detected, and the whole file is ignored.
    let (_directory, copy) = copy_after_crash(&path);
    for file in cache_files(&copy) {
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(&file, bytes).unwrap();
    }
    let store = open(&copy).await;
    assert_same_hits(&copy, &store).await;
    store.close().await;
    assert_same_hits(&copy, &open(&copy).await).await;
}

#[tokio::test]
async fn a_record_that_is_deleted_during_an_import_is_in_no_cache() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, 0, COUNT + 2000).await;
    let before = cache_files(&path);
    assert_eq!(before.len(), 2);
    let deleted = &records[5000];
    RecordStore::delete(&store, &deleted.scope, &[deleted.id]).await.unwrap();
    assert_eq!(cache_files(&path), Vec::<PathBuf>::new());
    // After the deletion of the last record, the next record reuses its row number.
    let last = &records[records.len() - 1];
    RecordStore::delete(&store, &last.scope, &[last.id]).await.unwrap();
    fill(&store, COUNT + 3000, COUNT + 15_000).await;
    assert_same_hits(&path, &store).await;
    store.close().await;
    assert!(cache_files(&path).len() >= 2);
    let store = open(&path).await;
    assert_same_hits(&path, &store).await;
    assert_eq!(found(&store, &tenant_wide(), "w5000").await, 0);
    for file in cache_files(&path) {
        let bytes = fs::read(file).unwrap();
        let (high, low) = deleted.id.as_u64_pair();
        let id = [high.to_le_bytes(), low.to_le_bytes()].concat();
        assert!(!bytes.windows(16).any(|found| found == id));
    }
}

#[tokio::test]
async fn a_topic_that_is_added_keeps_the_caches_and_one_that_is_replaced_removes_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let mut record = fill(&store, 0, COUNT + 2000).await.swap_remove(5000);
    let files = cache_files(&path);
    assert_eq!(files.len(), 2);
    for (topic, expected) in [("music", files), ("work", Vec::new())] {
        record.topic = Some(topic.to_owned());
        let write = Write::upsert(record.clone());
        RecordStore::put(&store, &record.scope, vec![write]).await.unwrap();
        assert_eq!(cache_files(&path), expected, "{topic}");
        let stored = RecordStore::get(&store, &record.scope, &[record.id]).await.unwrap().remove(0).unwrap();
        assert_eq!(stored.topic, record.topic);
        assert_same_hits(&path, &store).await;
    }
}

#[tokio::test]
async fn caches_contain_the_writes_of_two_processes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (one, other) = (open(&path).await, open(&path).await);
    fill(&one, 0, COUNT).await;
    for step in 0..2 {
        let from = COUNT + 2000 * step;
        fill(&other, from, from + 1000).await;
        fill(&one, from + 1000, from + 2000).await;
    }
    // Some records are revoked, and some get another time.
    let mut changed: Vec<Write> = (20..40).map(|number| repeated_write(&path, number)).collect();
    for (n, write) in changed.iter_mut().enumerate() {
        if n % 2 == 0 {
            write.record.state = State::Revoked;
        } else {
            write.record.occurred_at = Timestamp::from_micros(7);
        }
    }
    RecordStore::put(&other, &tenant_wide(), changed).await.unwrap();
    fill(&one, 60_000, 67_000).await;
    assert_same_hits(&path, &one).await;
    one.close().await;
    assert_same_hits(&path, &other).await;
    other.close().await;
    let store = open(&path).await;
    assert_same_hits(&path, &store).await;
    assert_eq!(found(&store, &tenant_wide(), "w20").await, 0);
    assert_eq!(found(&store, &tenant_wide(), "w21").await, 1);
    let long_ago = Filter::compare(Field::OccurredAt, Op::Lt, Timestamp::from_micros(100));
    let query = VectorQuery::new(vector(1), 50).with_filter(Some(long_ago));
    assert_eq!(VectorStore::search(&store, &tenant_wide(), &query).await.unwrap().len(), 10);
}

/// Returns a write that stores the record of this number again, unchanged.
fn repeated_write(path: &Path, number: u64) -> Write {
    let mut write = numbered_write(number);
    let id: [u8; 16] = rusqlite::Connection::open(path)
        .unwrap()
        .query_row("SELECT id FROM records WHERE text = ?1", [&write.record.text], |row| row.get(0))
        .unwrap();
    write.record.id = RecordId::from_bytes(id);
    write
}
