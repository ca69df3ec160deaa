//! The stored form of a record does not depend on the order of keys in the maps of a program.

use memory_engine_core::{Outcome, RecordStore};
use serde_json::json;

use crate::fixtures::{lin, open, turn, write};

#[tokio::test]
async fn metadata_are_stored_with_sorted_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let store = open(&path).await;
    let mut record = turn(&lin(), "I live in Porto.");
    record.metadata.insert("room".into(), json!({"name": "kitchen", "floor": [{"level": 1, "east": true}]}));
    record.metadata.insert("app".into(), json!(3));
    RecordStore::put(&store, &lin(), vec![write(&record)]).await.unwrap();

    let database = rusqlite::Connection::open(&path).unwrap();
    let stored: String = database.query_row("SELECT metadata FROM records", [], |row| row.get(0)).unwrap();
    assert_eq!(stored, r#"{"app":3,"room":{"floor":[{"east":true,"level":1}],"name":"kitchen"}}"#);

    let app = record.metadata.remove("app").unwrap();
    record.metadata.insert("app".into(), app);
    let written = RecordStore::put(&store, &lin(), vec![write(&record)]).await.unwrap();
    assert_eq!(written[0].outcome, Outcome::Unchanged);
}
