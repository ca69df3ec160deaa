use std::{sync::mpsc::channel, time::Duration};

use memory_engine_core::{
    Embedding, EmbeddingSpace, ErrorKind, Kind, PutMode, Record, RecordStore, Scope, SystemClock, Terms, Write,
};
use memory_engine_keyword_store::{Clause, KeywordQuery, KeywordStore};
use memory_engine_vector_store::{VectorQuery, VectorStore};

use super::*;
use crate::database::options::Synchronous;

/// The threads keep running, and writes in the same group commit are not affected.
#[tokio::test]
async fn a_call_that_panics_is_rolled_back_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = StoreOptions::new(EmbeddingSpace::cosine("test", 2), "test");
    let options = SqliteOptions::default().with_readers(1);
    let store = SqliteStore::open_with(directory.path().join("memory.db"), store, options).await.unwrap();
    let insert = |name: &'static str| {
        move |connection: &Connection| Ok(connection.execute("INSERT INTO tenants (name) VALUES (?1)", [name])?)
    };
    let broken = move |connection: &Connection| -> Result<usize, SqliteError> {
        insert("broken")(connection)?;
        panic!("a bug")
    };
    let residue = |_: &usize| Residue::None;
    let writes = tokio::join!(
        store.write("a", residue, insert("a")),
        store.write("b", residue, broken),
        store.write("c", residue, insert("c"))
    );
    assert!(writes.0.is_ok() && writes.2.is_ok());
    assert_eq!(writes.1.unwrap_err().kind(), ErrorKind::Internal);

    let read = store.read::<()>("read", |_| panic!("a bug")).await;
    assert_eq!(read.unwrap_err().kind(), ErrorKind::Internal);
    let names = store
        .read("read", |connection| {
            Ok(connection
                .query_row("SELECT group_concat(name, ' ') FROM tenants", [], |row| row.get::<_, String>(0))?)
        })
        .await;
    assert_eq!(names.unwrap(), "a c");
}

#[tokio::test]
async fn a_reader_connection_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(EmbeddingSpace::cosine("test", 2), "test");
    let store = SqliteStore::open(directory.path().join("memory.db"), options).await.unwrap();
    let write = |connection: &Connection| Ok(connection.execute("DELETE FROM records", [])?);
    assert_eq!(store.read("read", write).await.unwrap_err().kind(), ErrorKind::Unauthorized);
}

#[tokio::test]
async fn every_connection_has_the_settings_of_the_options() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = StoreOptions::new(EmbeddingSpace::cosine("test", 2), "test");
    let options = SqliteOptions::default()
        .with_readers(2)
        .with_cache_bytes(8 << 20)
        .with_synchronous(Synchronous::Normal)
        .with_mmap_bytes(1 << 20)
        .with_max_log_bytes(1 << 16);
    let refused = SqliteStore::open_with(&path, store.clone(), options.clone().with_readers(0)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(!path.exists(), "options are checked before the file is created");
    let store = SqliteStore::open_with(&path, store, options).await.unwrap();
    let settings = |connection: &Connection| {
        let pragma = |name| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        Ok([pragma("cache_size")?, pragma("synchronous")?, pragma("mmap_size")?, pragma("journal_size_limit")?])
    };
    assert_eq!(store.read("read", settings).await.unwrap(), [-2048, 1, 1 << 20, 1 << 16]);
    assert_eq!(store.write("write", |_| Residue::None, settings).await.unwrap(), [-4096, 1, 1 << 20, 1 << 16]);
}

#[tokio::test]
async fn a_commit_waits_for_the_disk_unless_all_its_writes_are_deferred() {
    let directory = tempfile::tempdir().unwrap();
    let store = StoreOptions::new(EmbeddingSpace::cosine("test", 2), "test");
    let store = SqliteStore::open(directory.path().join("memory.db"), store).await.unwrap();
    let (normal, full) = (1, 2);
    let residue = |_: &i64| Residue::None;
    let synchronous = |connection: &Connection| Ok(connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?);
    let deferred = || store.write_with(Durability::Deferred, "deferred", residue, synchronous);
    let immediate = || store.write("immediate", residue, synchronous);
    assert_eq!(deferred().await.unwrap(), normal);
    assert_eq!(immediate().await.unwrap(), full);
    assert_eq!(deferred().await.unwrap(), normal);
    // The first write blocks the writer thread until the others are queued.
    let (release, released) = channel::<()>();
    let busy = store.write("wait", |_: &bool| Residue::None, move |_| Ok(released.recv().is_ok()));
    let (was_released, first, second, ()) = tokio::join!(busy, deferred(), immediate(), async {
        release.send(()).unwrap();
    });
    assert!(was_released.unwrap());
    assert_eq!((first.unwrap(), second.unwrap()), (full, full));
}

/// Opens a store with one reader, and writes a record with a vector and terms.
async fn open_with_record(path: &Path) -> SqliteStore {
    let store = StoreOptions::new(EmbeddingSpace::cosine("test", 2), "test");
    let store = SqliteStore::open_with(path, store, SqliteOptions::default().with_readers(1)).await.unwrap();
    let lin = Scope::user("lin").unwrap();
    let record = Record::new(lin.clone(), Kind::NOTE, "walnuts", &SystemClock);
    let embedding = Embedding::new(vec![1.0, 0.0]).unwrap();
    let terms = Terms::from_iter(["walnut"]);
    let write = Write { embedding: Some(embedding), terms: Some(terms), ..Write::new(record, PutMode::Create) };
    store.put(&lin, vec![write]).await.unwrap();
    store
}

/// A recall that reaches its deadline drops its searches. The indexes are loaded for the next recall.
#[tokio::test]
async fn a_dropped_search_still_loads_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_record(&directory.path().join("memory.db")).await;
    let lin = Scope::user("lin").unwrap();
    let (release, released) = channel::<()>();
    let busy = store.read("wait", move |_| Ok(released.recv().is_ok()));
    tokio::pin!(busy);
    let deadline = Duration::from_millis(20);
    assert!(tokio::time::timeout(deadline, &mut busy).await.is_err(), "the only reader is blocked");
    let query = VectorQuery::new(Embedding::new(vec![1.0, 0.0]).unwrap(), 9);
    assert!(tokio::time::timeout(deadline, VectorStore::search(&store, &lin, &query)).await.is_err());
    let query = KeywordQuery::new(vec![Clause::term("walnut")], 9);
    assert!(tokio::time::timeout(deadline, KeywordStore::search(&store, &lin, &query)).await.is_err());
    assert!(!store.caches.vectors.has_been_read() && !store.caches.keywords.any_read());
    release.send(()).unwrap();
    assert!(busy.await.unwrap());
    // The reader runs jobs in order: the queued searches are finished before this one.
    store.read("wait", |_| Ok(())).await.unwrap();
    assert!(store.caches.vectors.has_been_read() && store.caches.keywords.any_read());
}

#[tokio::test]
async fn warming_up_loads_vectors_and_postings() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_with_record(&directory.path().join("memory.db")).await;
    VectorStore::warm_up(&store).await.unwrap();
    assert!(store.caches.vectors.has_been_read() && !store.caches.keywords.any_read());
    KeywordStore::warm_up(&store).await.unwrap();
    assert!(store.caches.keywords.any_read());
}
