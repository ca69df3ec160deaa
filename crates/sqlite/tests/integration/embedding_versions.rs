//! Files with vectors of two spaces.

use std::{fs, path::Path, time::Duration};

use memory_engine_core::{Embedding, EmbeddingSpace, Job, JobQueue, Record, RecordStore};
use memory_engine_sqlite::{Mismatch, SqliteStore, StoreOptions};
use memory_engine_vector_store::{EmbeddingVersionRole, EmbeddingVersionStore};

use crate::fixtures::{embed, lin, near, open, options, turn, vector, write};

fn other_space() -> StoreOptions {
    StoreOptions::new(EmbeddingSpace::cosine("another", crate::fixtures::DIMENSIONS), "words-1")
}

async fn open_with_refill(path: &Path) -> SqliteStore {
    SqliteStore::open(path, other_space().with_mismatch(Mismatch::Refill)).await.unwrap()
}

/// Stores two records with vectors of the default space.
async fn store_two_records(path: &Path) -> Vec<Record> {
    let store = open(path).await;
    let records = vec![turn(&lin(), "green tea"), turn(&lin(), "苦 咖啡")];
    RecordStore::put(&store, &lin(), records.iter().map(write).collect()).await.unwrap();
    embed_and_complete(&store, Job::Embedding, &records, 1).await;
    records
}

/// Stores a vector for each record, from the seed `first` on, and completes the queued jobs.
async fn embed_and_complete(store: &SqliteStore, job: Job, records: &[Record], first: u64) {
    for (record, number) in records.iter().zip(first..) {
        embed(store, record, vector(number)).await;
    }
    let done: Vec<_> = store.claim(job, 99, Duration::ZERO).await.unwrap().iter().map(|p| p.done()).collect();
    store.complete(&done).await.unwrap();
}

#[tokio::test]
async fn deleted_records_and_dropped_generations_leave_no_vector_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let records = store_two_records(&path).await;
    let store = open_with_refill(&path).await;
    embed_and_complete(&store, Job::Reembedding, &records, 11).await;
    let is_in_file = |vector: Embedding| {
        let bytes: Vec<u8> = vector.values().iter().flat_map(|value| value.to_le_bytes()).collect();
        ["", "-wal"].iter().any(|end| {
            let file = fs::read(format!("{}{end}", path.display())).unwrap_or_default();
            file.windows(16).any(|window| *window == bytes[..16])
        })
    };
    let vectors_in_file = || [1, 2, 11, 12].map(|number| is_in_file(vector(number)));
    assert_eq!(vectors_in_file(), [true; 4]);
    RecordStore::delete(&store, &lin(), &[records[0].id]).await.unwrap();
    assert_eq!(vectors_in_file(), [false, true, false, true]);
    assert!(store.drop_second().await.unwrap().is_some());
    assert_eq!(vectors_in_file(), [false, true, false, false]);
    assert_eq!(open(&path).await.role().await.unwrap(), EmbeddingVersionRole::Serving);
}

/// A cut-over in another process changes the table of the serving vectors.
#[tokio::test]
async fn vectors_are_read_again_after_a_cut_over_in_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let records = store_two_records(&path).await;
    let old = open(&path).await;
    assert_eq!(near(&old, &lin(), vector(1)).await, 2);
    for remaining in [&records[..], &records[1..]] {
        let new = open_with_refill(&path).await;
        embed_and_complete(&new, Job::Reembedding, remaining, 11).await;
        RecordStore::delete(&new, &lin(), &[records[0].id]).await.unwrap();
        assert!(new.switch(0).await.unwrap());
        assert_eq!(near(&new, &lin(), vector(11)).await, 1);
        let back = SqliteStore::open(&path, options().with_mismatch(Mismatch::Refill)).await.unwrap();
        back.drop_second().await.unwrap();
        assert_eq!(back.begin().await.unwrap(), 1);
        embed_and_complete(&back, Job::Reembedding, &records[1..], 2).await;
        assert!(back.switch(0).await.unwrap());
        assert_eq!(near(&old, &lin(), vector(2)).await, 1, "the vectors in memory are outdated");
        back.drop_second().await.unwrap();
    }
}

/// The file was written during a change of embedder.
#[tokio::test]
async fn a_change_of_embedder_in_a_golden_file_is_continued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-1.sqlite"), &path).unwrap();
    let store = open(&path).await;
    let versions = store.embedding_versions().await.unwrap();
    assert_eq!((versions.records, versions.serving.vectors, versions.serving.dead_letters), (3, 2, 1));
    let second = versions.second.unwrap();
    assert_eq!((second.vectors, second.waiting), (1, 2));
    assert_eq!(near(&store, &lin(), vector(1)).await, 2);
    let new = open_with_refill(&path).await;
    let records: Vec<Record> = crate::fixtures::golden();
    embed_and_complete(&new, Job::Reembedding, &records, 21).await;
    assert!(new.switch(0).await.unwrap());
    assert_eq!(near(&new, &lin(), vector(21)).await, 3);
}
