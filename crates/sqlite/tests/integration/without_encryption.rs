//! Keys in a build whose SQLite cannot encrypt.
#![cfg(not(feature = "encryption"))]

use memory_engine_core::{EmbeddingSpace, ErrorKind};
use memory_engine_sqlite::{DatabaseFile, EncryptionKey, SqliteOptions, SqliteStore, StoreOptions, rekey};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_refused_and_nothing_is_written_in_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = || StoreOptions::new(EmbeddingSpace::cosine("test", 2), "words");
    let key = EncryptionKey::new([7; 32]);
    let options = SqliteOptions::default().with_encryption_key(key.clone());
    let error = SqliteStore::open_with(&path, store(), options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("without encryption") && error.message().contains("feature"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap_or_default(), b"");

    SqliteStore::open(&path, store()).await.unwrap().close().await;
    let error = rekey(DatabaseFile::new(&path), Some(&key)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    SqliteStore::open(&path, store()).await.unwrap().close().await;
}
