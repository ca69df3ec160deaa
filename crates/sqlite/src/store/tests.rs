use memory_engine_core::{EmbeddingSpace, ErrorKind};

use super::*;

/// A bug in one call takes down neither the threads nor what is committed together with it.
#[tokio::test]
async fn a_call_that_panics_is_undone_and_the_store_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(EmbeddingSpace::cosine("test", 2), "test").with_readers(1);
    let store = SqliteStore::open(directory.path().join("memory.db"), options).await.unwrap();
    let note = |name: &'static str| {
        move |connection: &Connection| Ok(connection.execute("INSERT INTO tenants (name) VALUES (?1)", [name])?)
    };
    let broken = move |connection: &Connection| -> Result<usize, SqliteError> {
        note("broken")(connection)?;
        panic!("a bug")
    };
    let residue = |_: &usize| Residue::None;
    let writes = tokio::join!(
        store.write("a", residue, note("a")),
        store.write("b", residue, broken),
        store.write("c", residue, note("c"))
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
async fn a_reading_connection_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(EmbeddingSpace::cosine("test", 2), "test");
    let store = SqliteStore::open(directory.path().join("memory.db"), options).await.unwrap();
    let write = |connection: &Connection| Ok(connection.execute("DELETE FROM records", [])?);
    assert_eq!(store.read("read", write).await.unwrap_err().kind(), ErrorKind::Unauthorized);
}
