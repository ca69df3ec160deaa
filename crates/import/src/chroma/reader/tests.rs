#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

use serde_json::json;

use super::*;

/// Returns the directory that `make.py` created with this version of chromadb.
fn fixture_of(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-cli/tests/fixtures/chroma").join(version)
}

fn all_items(reader: &ChromaReader, name: &str, limit: usize) -> Vec<ChromaItem> {
    let collections = reader.collections().unwrap();
    let collection = collections.iter().find(|collection| collection.name == name).unwrap();
    let mut all: Vec<ChromaItem> = Vec::new();
    loop {
        let page = reader.page(collection, all.last().map(|item| item.position), limit).unwrap();
        if page.is_empty() {
            assert_eq!(all.len() as u64, collection.items);
            return all;
        }
        all.extend(page);
    }
}

#[test]
fn items_of_both_versions_are_read_and_deleted_ones_are_not() {
    for version in ["0.5", "1.5"] {
        let reader = ChromaReader::open(fixture_of(version)).unwrap().with_embeddings(true);
        let collections = reader.collections().unwrap();
        let seen: Vec<_> = collections.iter().map(|c| (c.name.as_str(), c.dimension, c.items)).collect();
        assert_eq!(seen, [("conversations", Some(4), 3), ("summaries", Some(2), 4)], "{version}");
        assert_eq!(
            (collections[0].tenant.as_str(), collections[0].database.as_str()),
            ("default_tenant", "default_database")
        );

        let turns = all_items(&reader, "conversations", 500);
        let seen: Vec<_> = turns.iter().map(|item| (item.id.as_str(), item.document.as_deref().unwrap())).collect();
        let expected =
            [("t1", "我对海鲜过敏，虾也不行"), ("t4", "周日去爬山 with Anna, the new way"), ("t5", "写在最后的一条")];
        assert_eq!(seen, expected, "{version}");
        assert_eq!(
            Value::Object(turns[0].metadata.clone()),
            json!({"role": "user", "scene_type": "daily", "session_id": "monday",
                   "timestamp": "2026-02-16T20:00:00+08:00", "user_id": "lin"}),
            "{version}"
        );
        assert!(turns.iter().all(|item| item.created_at.is_some()), "{version}");
        let second_values: Vec<f32> = turns.iter().map(|item| item.embedding.as_ref().unwrap()[1]).collect();
        assert_eq!(second_values, [6.0, 7.0, 5.0], "{version}: the last vector of each");
        assert_eq!(all_items(&reader, "conversations", 1), turns, "{version}: page by page");

        let summaries = all_items(&reader, "summaries", 3);
        assert_eq!(summaries[2].document, None);
        assert_eq!(summaries[2].metadata["data"], "Likes green tea");
        assert_eq!((&summaries[3].document, summaries[3].metadata.len()), (&None, 0), "{version}");
    }
}

#[test]
fn metadata_values_keep_their_types() {
    let reader = ChromaReader::open(fixture_of("1.5").join(DATABASE_FILE)).unwrap();
    let last = all_items(&reader, "conversations", 9).pop().unwrap();
    let expected = json!({"entities": ["Anna", "双头鹰"], "pinned": true, "score": 0.5, "user_id": "lin"});
    assert_eq!(Value::Object(last.metadata), expected);
    assert_eq!(last.embedding, None, "vectors were not requested");
}

#[test]
fn a_read_only_directory_is_read_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(DATABASE_FILE);
    std::fs::copy(fixture_of("1.5").join(DATABASE_FILE), &file).unwrap();
    let before = std::fs::read(&file).unwrap();
    let mut permissions = std::fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    assert_eq!(all_items(&ChromaReader::open(directory.path()).unwrap(), "summaries", 9).len(), 4);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no log, no journal");
}

#[test]
fn other_files_and_directories_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let open_error = |path: &Path, words: &str| {
        let error = ChromaReader::open(path).unwrap_err();
        assert!(error.to_string().contains(words), "{error:?}");
        error
    };
    assert!(matches!(open_error(directory.path(), "chromadb.PersistentClient"), ChromaError::Missing { .. }));
    assert!(matches!(open_error(&directory.path().join("nowhere"), "nowhere"), ChromaError::Missing { .. }));
    std::fs::write(directory.path().join("chroma-collections.parquet"), "x").unwrap();
    assert!(matches!(open_error(directory.path(), "0.4"), ChromaError::OldVersion { .. }));
    std::fs::write(directory.path().join(DATABASE_FILE), "this is a text file and not an SQLite database").unwrap();
    assert!(matches!(open_error(directory.path(), "not a SQLite database"), ChromaError::Database { .. }));
    let other = directory.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE collections (id, name)").unwrap();
    assert!(matches!(open_error(&other, "something else"), ChromaError::ForeignDatabase { .. }));
}
