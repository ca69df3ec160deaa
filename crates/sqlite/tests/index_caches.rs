//! Index caches of a large database: they are only caches, and never change a result.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

mod fixtures;

use std::{
    fs,
    path::{Path, PathBuf},
};

use fixtures::{found, lin, near, open, options, turn, vector, words};
use memory_engine_core::{Field, Filter, Hit, Op, Record, RecordId, RecordStore, Scope, State, Timestamp, Write};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_sqlite::SqliteStore;
use memory_engine_vector_store::{VectorQuery, VectorStore};

/// More than what is worth a file.
const COUNT: u64 = 20_050;

fn all() -> Scope {
    Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()
}

fn one(number: u64) -> Write {
    let scope = Scope::user(format!("u{}", number % 7)).unwrap();
    let record = turn(&scope, &format!("w{number} every{} common", number % 50));
    Write { terms: Some(words(&record.text)), embedding: Some(vector(number)), ..Write::upsert(record) }
}

async fn fill(store: &SqliteStore, from: u64, to: u64) -> Vec<Record> {
    let writes: Vec<Write> = (from..to).map(one).collect();
    let records = writes.iter().map(|write| write.record.clone()).collect();
    for chunk in writes.chunks(1000) {
        RecordStore::put(store, &all(), chunk.to_vec()).await.unwrap();
    }
    records
}

async fn nearest(store: &SqliteStore, number: u64) -> Vec<Hit> {
    VectorStore::search(store, &all(), &VectorQuery::new(vector(number), 20)).await.unwrap()
}

async fn holders(store: &SqliteStore, scope: &Scope, words: &[&str]) -> Vec<Hit> {
    let clauses = words.iter().map(|word| Clause::term(*word)).collect();
    KeywordStore::search(store, scope, &KeywordQuery::new(clauses, 30)).await.unwrap()
}

fn side_files(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let files = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_side_file = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.starts_with(name) && file != name && !file.ends_with("-wal") && !file.ends_with("-shm")
    };
    let mut files: Vec<PathBuf> = files.filter(is_side_file).collect();
    files.sort();
    files
}

/// Checks that a store that has loaded its cache finds the same as one that has not.
async fn assert_the_same(path: &Path, with: &SqliteStore) {
    let copy = tempfile::tempdir().unwrap();
    let bare = copy.path().join("bare.db");
    rusqlite::Connection::open(path).unwrap().execute("VACUUM INTO ?1", [bare.to_str().unwrap()]).unwrap();
    let without = open(&bare).await;
    for number in [3, 77, COUNT + 20, 12_345] {
        // What is searched among very many may miss one; among those of a user nothing is ever missed.
        assert_eq!(nearest(with, number).await[0], nearest(&without, number).await[0]);
        for user in 0..7 {
            let (user, query) = (Scope::user(format!("u{user}")).unwrap(), VectorQuery::new(vector(number), 20));
            let found = VectorStore::search(with, &user, &query).await.unwrap();
            assert_eq!(found, VectorStore::search(&without, &user, &query).await.unwrap());
        }
    }
    let user = Scope::user("u3").unwrap();
    for words in [&["common", "w17"][..], &["every3", "w20049", "w12"], &["w100"]] {
        assert_eq!(holders(with, &all(), words).await, holders(&without, &all(), words).await);
        assert_eq!(holders(with, &user, words).await, holders(&without, &user, words).await);
    }
}

#[tokio::test]
async fn what_was_written_much_is_kept_beside_the_database_and_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    fill(&store, 0, COUNT).await;
    assert_eq!(side_files(&path), Vec::<PathBuf>::new());
    store.close().await;
    let files = side_files(&path);
    assert_eq!(files.len(), 2, "{files:?}");
    // They are read, and give what the database gives.
    let store = open(&path).await;
    assert_the_same(&path, &store).await;
    // What comes later is found with it, by this process and the next.
    fill(&store, COUNT, COUNT + 40).await;
    assert_the_same(&path, &store).await;
    store.close().await;
    let store = open(&path).await;
    assert_eq!(nearest(&store, COUNT + 39).await.len(), 20);
    assert_the_same(&path, &store).await;
    assert_eq!(side_files(&path), files);
    drop(store);
    // Torn or gone, they are not missed.
    fs::write(&files[0], &fs::read(&files[0]).unwrap()[..5000]).unwrap();
    fs::remove_file(&files[1]).unwrap();
    let store = open(&path).await;
    assert_the_same(&path, &store).await;
}

#[tokio::test]
async fn what_was_deleted_is_in_no_file_and_comes_back_from_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, 0, COUNT).await;
    store.close().await;
    let kept: Vec<(PathBuf, Vec<u8>)> =
        side_files(&path).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert_eq!(kept.len(), 2);

    let store = open(&path).await;
    assert_eq!((nearest(&store, 1).await.len(), found(&store, &all(), "w5000").await), (20, 1));
    let gone = &records[5000];
    assert_eq!(RecordStore::delete(&store, &gone.scope, &[gone.id]).await.unwrap().ids, [gone.id]);
    assert_eq!(side_files(&path), Vec::<PathBuf>::new());
    // A process that has read everything writes new caches when it closes.
    store.close().await;
    assert_eq!(side_files(&path), kept.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>());
    assert_the_same(&path, &open(&path).await).await;
    // Old cache files that are put back are not used.
    for (path, bytes) in &kept {
        fs::write(path, bytes).unwrap();
    }
    let store = open(&path).await;
    assert_eq!(found(&store, &all(), "w5000").await, 0);
    assert!(!nearest(&store, 5000).await.iter().any(|hit| hit.id == gone.id));
    assert_the_same(&path, &store).await;
    assert_eq!(near(&store, &lin(), vector(1)).await, 0);
    // The rebuilt index is written to a cache.
    store.close().await;
    for (path, old) in kept {
        assert!(fs::read(&path).unwrap() != old, "{path:?}");
    }
    assert_the_same(&path, &open(&path).await).await;
}

#[tokio::test]
async fn a_database_that_was_put_back_and_went_on_does_not_go_by_what_is_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    fill(&store, 0, COUNT).await;
    store.close().await;
    // The mark is in the copy, and the files are of what comes after it.
    let copy = fs::read(&path).unwrap();
    let store = open(&path).await;
    fill(&store, COUNT, COUNT + 11_000).await;
    nearest(&store, 1).await;
    holders(&store, &all(), &["common"]).await;
    store.close().await;
    let newer = side_files(&path);
    fs::write(&path, copy).unwrap();
    let store = SqliteStore::open(&path, options()).await.unwrap();
    fill(&store, 50_000, 61_500).await;
    assert_eq!(side_files(&path), newer);
    assert_the_same(&path, &store).await;
    assert_eq!(found(&store, &all(), &format!("w{COUNT}")).await, 0);
    assert_eq!(found(&store, &all(), "w50001").await, 1);
}

/// Copies the files as a crash at this moment would leave them.
fn left_behind(path: &Path) -> (tempfile::TempDir, PathBuf) {
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
async fn an_import_adds_to_the_files_as_it_goes_on_and_may_end_at_any_point() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    fill(&store, 0, COUNT + 2000).await;
    // What is left to write when it is closed, is little.
    let files = side_files(&path);
    assert_eq!(files.len(), 2, "{files:?}");
    let begun: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    fill(&store, COUNT + 2000, COUNT + 12_000).await;
    // What was written stays as it is, and what is new stands behind it.
    let [terms, vectors] = &files[..] else { panic!("{files:?}") };
    let fresh = PathBuf::from(format!("{}-fresh", terms.display()));
    assert_eq!(side_files(&path), [terms.clone(), fresh.clone(), vectors.clone()]);
    assert_eq!(fs::read(terms).unwrap(), begun[0]);
    let grown = fs::read(vectors).unwrap();
    assert!(grown.len() > begun[1].len() && grown.starts_with(&begun[1]));
    // The machine stops: with half of what was written last, and with none of it.
    let (added, length) = ((grown.len() - begun[1].len()) as u64, begun[1].len() as u64);
    for kept in [length + added / 2, length] {
        let (_directory, copy) = left_behind(&path);
        let beside = |file: &Path| copy.with_file_name(file.file_name().unwrap());
        fs::OpenOptions::new().write(true).open(beside(vectors)).unwrap().set_len(kept).unwrap();
        let fresh = fs::OpenOptions::new().write(true).open(beside(&fresh)).unwrap();
        fresh.set_len(fresh.metadata().unwrap().len() * (kept - length) / added).unwrap();
        let store = open(&copy).await;
        assert_the_same(&copy, &store).await;
        // Later writes continue from the cache.
        fill(&store, COUNT + 12_000, COUNT + 13_000).await;
        store.close().await;
        let store = open(&copy).await;
        assert_the_same(&copy, &store).await;
        assert_eq!(fs::read(beside(vectors)).unwrap()[..begun[1].len()], begun[1]);
    }
    // A bit that is another one in the middle is seen, and nothing of the file is believed.
    let (_directory, copy) = left_behind(&path);
    for file in side_files(&copy) {
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(&file, bytes).unwrap();
    }
    let store = open(&copy).await;
    assert_the_same(&copy, &store).await;
    store.close().await;
    assert_the_same(&copy, &open(&copy).await).await;
}

#[tokio::test]
async fn what_is_deleted_while_an_import_goes_on_is_in_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, 0, COUNT + 2000).await;
    let before = side_files(&path);
    assert_eq!(before.len(), 2);
    let gone = &records[5000];
    RecordStore::delete(&store, &gone.scope, &[gone.id]).await.unwrap();
    assert_eq!(side_files(&path), Vec::<PathBuf>::new());
    // Another deletion finds a number of a row free, which the next record takes.
    let last = &records[records.len() - 1];
    RecordStore::delete(&store, &last.scope, &[last.id]).await.unwrap();
    fill(&store, COUNT + 3000, COUNT + 15_000).await;
    assert_the_same(&path, &store).await;
    store.close().await;
    assert!(side_files(&path).len() >= 2);
    let store = open(&path).await;
    assert_the_same(&path, &store).await;
    assert_eq!(found(&store, &all(), "w5000").await, 0);
    for file in side_files(&path) {
        let bytes = fs::read(file).unwrap();
        let (high, low) = gone.id.as_u64_pair();
        let id = [high.to_le_bytes(), low.to_le_bytes()].concat();
        assert!(!bytes.windows(16).any(|found| found == id));
    }
}

#[tokio::test]
async fn two_who_write_at_once_leave_files_that_have_what_both_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (one, other) = (open(&path).await, open(&path).await);
    fill(&one, 0, COUNT).await;
    for step in 0..2 {
        let from = COUNT + 2000 * step;
        fill(&other, from, from + 1000).await;
        fill(&one, from + 1000, from + 2000).await;
    }
    // Not all that one wrote is as it was: some is taken back, some says when it really happened.
    let mut again: Vec<Write> = (20..40).map(|number| one_of(&path, number)).collect();
    for (n, write) in again.iter_mut().enumerate() {
        if n % 2 == 0 {
            write.record.state = State::Revoked;
        } else {
            write.record.occurred_at = Timestamp::from_micros(7);
        }
    }
    RecordStore::put(&other, &all(), again).await.unwrap();
    fill(&one, 60_000, 67_000).await;
    assert_the_same(&path, &one).await;
    one.close().await;
    assert_the_same(&path, &other).await;
    other.close().await;
    let store = open(&path).await;
    assert_the_same(&path, &store).await;
    assert_eq!(found(&store, &all(), "w20").await, 0);
    assert_eq!(found(&store, &all(), "w21").await, 1);
    let long_ago = Filter::compare(Field::OccurredAt, Op::Lt, Timestamp::from_micros(100));
    let query = VectorQuery::new(vector(1), 50).with_filter(Some(long_ago));
    assert_eq!(VectorStore::search(&store, &all(), &query).await.unwrap().len(), 10);
}

/// Returns a write that stores the record of this number again, unchanged.
fn one_of(path: &Path, number: u64) -> Write {
    let mut write = one(number);
    let id: [u8; 16] = rusqlite::Connection::open(path)
        .unwrap()
        .query_row("SELECT id FROM records WHERE text = ?1", [&write.record.text], |row| row.get(0))
        .unwrap();
    write.record.id = RecordId::from_bytes(id);
    write
}
