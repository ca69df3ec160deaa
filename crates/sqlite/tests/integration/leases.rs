//! The leases of a store end when the store is closed or its process ends.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use memory_engine_core::{
    Clock, EmbeddingSpace, Error, ErrorKind, Job, JobQueue, Kind, ManualClock, PutMode, Record, RecordStore, Scope,
    SystemClock, Write,
};
use memory_engine_sqlite::{SqliteStore, StoreOptions};

const LEASE: Duration = Duration::from_secs(3600);
/// The database of the process that is killed.
const DATABASE: &str = "MEMORY_ENGINE_LEASES_TEST_DATABASE";

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, StoreOptions::new(EmbeddingSpace::cosine("test", 2), "test")).await.unwrap()
}

async fn put(store: &SqliteStore, count: usize) {
    let lin = Scope::user("lin").unwrap();
    for n in 0..count {
        let record = Record::new(lin.clone(), Kind::NOTE, format!("note {n}"), &SystemClock);
        store.put(&lin, vec![Write::new(record, PutMode::Create)]).await.unwrap();
    }
}

async fn claim(store: &SqliteStore, limit: usize) -> usize {
    store.claim(Job::Embedding, limit, LEASE).await.unwrap().len()
}

fn owner_files(path: &Path) -> usize {
    let files = fs::read_dir(path.parent().unwrap()).unwrap();
    files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().contains("-owner-")).count()
}

#[tokio::test]
async fn closing_a_store_releases_its_leases_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let (first, second) = (open(&path).await, open(&path).await);
    put(&first, 3).await;
    assert_eq!(claim(&first, 2).await, 2);
    assert_eq!(claim(&second, 9).await, 1, "the first store lives");
    assert_eq!(owner_files(&path), 2);
    first.close().await;
    assert_eq!(owner_files(&path), 1);
    assert_eq!(claim(&second, 9).await, 2);
    drop(second);
    assert_eq!(owner_files(&path), 0);
    assert_eq!(claim(&open(&path).await, 9).await, 3);
}

#[tokio::test]
async fn retries_and_dead_letters_outlive_their_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    put(&store, 3).await;
    let pending = store.claim(Job::Embedding, 2, LEASE).await.unwrap();
    let error = Error::new(ErrorKind::Unavailable, "embed", "away");
    let later = memory_engine_core::Clock::now(&SystemClock).after(LEASE);
    store.fail(&[pending[0].failed(&error, Some(later)), pending[1].failed(&error, None)]).await.unwrap();
    store.close().await;
    assert_eq!(claim(&open(&path).await, 9).await, 1, "one waits for its retry, one is a dead letter");
}

#[tokio::test]
async fn an_owner_whose_file_is_missing_is_dead() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    put(&store, 1).await;
    assert_eq!(claim(&store, 9).await, 1);
    // As in a copy of the database, without its owner files.
    for file in fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path()) {
        if file.to_string_lossy().contains("-owner-") {
            fs::remove_file(file).unwrap();
        }
    }
    assert_eq!(claim(&open(&path).await, 9).await, 1);
}

/// A process whose clock is two hours ahead claims records and ends; then the clock is right.
#[tokio::test]
async fn leases_and_retries_of_a_clock_that_was_ahead_end_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let ahead = ManualClock::new(SystemClock.now().after(2 * LEASE));
    let options = StoreOptions::new(EmbeddingSpace::cosine("test", 2), "test").with_clock(ahead);
    let store = SqliteStore::open(&path, options).await.unwrap();
    put(&store, 4).await;
    let pending = store.claim(Job::Embedding, 3, LEASE).await.unwrap();
    let error = Error::new(ErrorKind::Unavailable, "embed", "away");
    let retry_at = SystemClock.now().after(2 * LEASE + LEASE / 60);
    store.fail(&[pending[0].failed(&error, Some(retry_at)), pending[1].failed(&error, None)]).await.unwrap();
    let right = open(&path).await;
    assert_eq!(claim(&right, 9).await, 2, "the retry and the unclaimed item; the owner of the lease lives");
    // A lease without an owner, as where lock files are not supported.
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE jobs SET owner = NULL", []).unwrap();
    assert_eq!(claim(&right, 9).await, 1, "two leases are from the right clock, and one is a dead letter");
    drop(store);
}

/// Runs in a process of its own, which `the_leases_of_a_killed_process_are_released_at_once` kills.
#[test]
fn claims_and_waits() {
    let Ok(path) = std::env::var(DATABASE) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let store = open(Path::new(&path)).await;
        println!("claimed {}", claim(&store, 9).await);
        tokio::time::sleep(LEASE).await;
    });
}

#[tokio::test]
async fn the_leases_of_a_killed_process_are_released_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    put(&store, 3).await;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leases::claims_and_waits", "--nocapture"])
        .env(DATABASE, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let claimed = lines.map(Result::unwrap).find(|line| line.contains("claimed")).unwrap();
    assert!(claimed.contains("claimed 3"), "{claimed}");
    assert_eq!(claim(&store, 9).await, 0, "the process lives");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(claim(&store, 9).await, 3);
    assert_eq!(owner_files(&path), 1, "the file of the killed process is removed");
}
