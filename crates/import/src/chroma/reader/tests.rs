#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use serde_json::json;

use super::*;

/// Returns the folder that `make.py` there has created with the real program.
fn made_by(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-cli/tests/fixtures/chroma").join(version)
}

fn everything(reader: &ChromaReader, name: &str, limit: usize) -> Vec<ChromaItem> {
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
fn both_versions_give_what_was_written_and_nothing_that_was_deleted() {
    for version in ["0.5", "1.5"] {
        let reader = ChromaReader::open(made_by(version)).unwrap().with_embeddings(true);
        let collections = reader.collections().unwrap();
        let seen: Vec<_> = collections.iter().map(|c| (c.name.as_str(), c.dimension, c.items)).collect();
        assert_eq!(seen, [("conversations", Some(4), 3), ("summaries", Some(2), 4)], "{version}");
        assert_eq!(
            (collections[0].tenant.as_str(), collections[0].database.as_str()),
            ("default_tenant", "default_database")
        );

        let turns = everything(&reader, "conversations", 500);
        let seen: Vec<_> = turns.iter().map(|item| (item.id.as_str(), item.document.as_deref().unwrap())).collect();
        let expected =
            [("t1", "我对海鲜过敏，虾也不行"), ("t4", "周日去爬山 with Anna, the new way"), ("t5", "写在最后的一条")];
        assert_eq!(seen, expected, "{version}");
        assert_eq!(
            Value::Object(turns[0].metadata.clone()),
            json!({"role": "user", "scene_type": "daily", "session_id": "monday", "timestamp": "2026-02-16T20:00:00+08:00",
                   "user_id": "lin"}),
            "{version}"
        );
        assert!(turns.iter().all(|item| item.created_at.is_some()), "{version}");
        let second: Vec<f32> = turns.iter().map(|item| item.embedding.as_ref().unwrap()[1]).collect();
        assert_eq!(second, [6.0, 7.0, 5.0], "{version}: the last vector of each");
        assert_eq!(everything(&reader, "conversations", 1), turns, "{version}: page by page");

        let summaries = everything(&reader, "summaries", 3);
        assert_eq!(summaries[2].document, None);
        assert_eq!(summaries[2].metadata["data"], "Likes green tea");
        assert_eq!((&summaries[3].document, summaries[3].metadata.len()), (&None, 0), "{version}");
    }
}

#[test]
fn lists_numbers_and_truth_values_keep_their_type() {
    let reader = ChromaReader::open(made_by("1.5").join(FILE)).unwrap();
    let last = everything(&reader, "conversations", 9).pop().unwrap();
    let expected = json!({"entities": ["Anna", "双头鹰"], "pinned": true, "score": 0.5, "user_id": "lin"});
    let mut found: Vec<_> = last.metadata.into_iter().collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(Value::Object(found.into_iter().collect()), expected);
    assert_eq!(last.embedding, None, "nobody asked for it");
}

#[test]
fn a_read_only_directory_is_read_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    std::fs::copy(made_by("1.5").join(FILE), &file).unwrap();
    let before = std::fs::read(&file).unwrap();
    let mut permissions = std::fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    assert_eq!(everything(&ChromaReader::open(folder.path()).unwrap(), "summaries", 9).len(), 4);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no log, no journal");
}

#[test]
fn what_is_no_chroma_directory_is_refused_with_what_to_name() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path, words: &str| {
        let error = ChromaReader::open(path).unwrap_err();
        assert!(error.to_string().contains(words), "{error:?}");
        error
    };
    assert!(matches!(refused(folder.path(), "chromadb.PersistentClient"), ChromaError::Missing { .. }));
    assert!(matches!(refused(&folder.path().join("nowhere"), "nowhere"), ChromaError::Missing { .. }));
    std::fs::write(folder.path().join("chroma-collections.parquet"), "x").unwrap();
    assert!(matches!(refused(folder.path(), "0.4"), ChromaError::OldVersion { .. }));
    std::fs::write(folder.path().join(FILE), "this is no database, however long one looks at it").unwrap();
    assert!(matches!(refused(folder.path(), "not a SQLite database"), ChromaError::Database { .. }));
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE collections (id, name)").unwrap();
    assert!(matches!(refused(&other, "something else"), ChromaError::ForeignDatabase { .. }));
}
