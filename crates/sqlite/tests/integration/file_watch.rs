//! A file that another program removes, replaces or cuts is noticed before a write is acknowledged.
#![cfg(unix)]

use std::{fs, path::Path};

use memory_engine_core::{
    ErrorKind, Record, RecordStore, Result, Timestamp,
    residue::{ResidueProbes, SearchExtent},
};
use memory_engine_sqlite::{SqliteStore, back_up, find_residue};
use rusqlite::Connection;

use crate::fixtures::{lin, open, turn, write};

async fn put(store: &SqliteStore, text: &str) -> Result<Record> {
    let record = turn(&lin(), text);
    store.put(&lin(), vec![write(&record)]).await?;
    Ok(record)
}

fn sibling(path: &Path, suffix: &str) -> std::path::PathBuf {
    path.with_file_name(format!("memory.db{suffix}"))
}

/// What happens to the file, a part of the error, and the act.
type Hazard<'a> = (&'a str, &'a str, &'a dyn Fn(&Path));

#[tokio::test]
async fn no_write_into_a_lost_file_is_acknowledged() {
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    let hazards: [Hazard<'_>; 7] = [
        ("deleted", "deleted or replaced", &remove),
        ("replaced by a copy", "deleted or replaced", &|path| {
            let copy = sibling(path, ".copy");
            fs::copy(path, &copy).unwrap();
            fs::rename(copy, path).unwrap();
        }),
        ("without its log", "-wal or -shm", &|path| remove(&sibling(path, "-wal"))),
        ("without its index of the log", "-wal or -shm", &|path| remove(&sibling(path, "-shm"))),
        ("cut to nothing", "was cut", &|path| {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap()
        }),
        ("cut to a few bytes", "was cut", &|path| {
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap();
        }),
        ("cut to its half", "was cut", &|path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        }),
    ];
    for (what, words, act) in hazards {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.db");
        let store = open(&path).await;
        let kept = put(&store, "green tea").await.unwrap();
        act(&path);
        for _ in 0..2 {
            let error = put(&store, "black coffee").await.unwrap_err();
            assert!(error.kind() == ErrorKind::Unavailable && error.message().contains(words), "{what}: {error}");
            let error = store.get(&lin(), &[kept.id]).await.unwrap_err();
            assert!(error.message().contains(words), "{what}: {error}");
        }
    }
}

/// Returns true if this process has a lock on the file.
#[cfg(target_os = "linux")]
fn is_locked(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let (process, inode) = (std::process::id().to_string(), format!(":{}", fs::metadata(path).unwrap().ino()));
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.contains(&"POSIX") && words.contains(&process.as_str()) && words.iter().any(|word| word.ends_with(&inode))
    })
}

/// Without the lock, another program that closes the file takes itself for the last one, and removes the log.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_open_file_stays_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let store = open(&path).await;
    put(&store, "green tea").await.unwrap();
    assert!(is_locked(&path), "after opening");
    let probes = ResidueProbes::default().with_extent(SearchExtent::Database);
    find_residue(path.as_path(), &probes).unwrap();
    assert!(is_locked(&path), "after a search of the file");
    back_up(path.as_path(), folder.path().join("b.backup").as_path(), false, Timestamp::default(), &|_, _| ()).unwrap();
    assert!(is_locked(&path), "after a backup");
    open(&path).await.close().await;
    assert!(is_locked(&path), "after another store of the process was closed");
}

#[tokio::test]
async fn a_file_that_is_opened_again_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let store = open(&path).await;
    put(&store, "green tea").await.unwrap();
    fs::remove_file(&path).unwrap();
    put(&store, "black coffee").await.unwrap_err();
    store.close().await;
    let store = open(&path).await;
    put(&store, "black coffee").await.unwrap();
    assert_eq!(store.stats(&lin()).await.unwrap().records, 1);
}

#[tokio::test]
async fn the_ordinary_life_of_a_file_is_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let store = open(&path).await;
    let long = "a long text about tea, ".repeat(2000);
    let mut records = Vec::new();
    for number in 0..40 {
        records.push(put(&store, &format!("{number} {long}")).await.unwrap().id);
    }
    let others = open(&path).await;
    others.delete(&lin(), &records).await.unwrap();
    let before = fs::metadata(&path).unwrap().len();
    Connection::open(&path).unwrap().execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(fs::metadata(&path).unwrap().len() < before, "VACUUM makes the file smaller");
    put(&store, "green tea").await.unwrap();
    others.close().await;
    put(&store, "black coffee").await.unwrap();
    assert_eq!(store.stats(&lin()).await.unwrap().records, 2);
}
