//! Deleted or replaced text leaves no bytes in the database or in its log.

use std::{fs, path::Path, time::Duration};

use memory_engine_core::{Embedding, Record, RecordGroup, RecordStore};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphQuery, Mention, Relation};
use memory_engine_sqlite::SqliteStore;
use memory_engine_synonyms::{PairVerdict, SynonymGroup, SynonymStore, WordPair};
use rustc_hash::FxHashSet;

use crate::fixtures::{embed, lin, open, tokens, turn, vector, write};

/// Returns true if the database file or its log contains these bytes.
fn is_in_database(path: &Path, needle: &[u8]) -> bool {
    ["", "-wal"].iter().any(|end| {
        let file = fs::read(format!("{}{end}", path.display())).unwrap_or_default();
        file.windows(needle.len()).any(|window| window == needle)
    })
}

fn bytes(vector: &Embedding) -> Vec<u8> {
    vector.values().iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns a record with the secret of this number in every text field.
fn record_with_secret(number: u64) -> Record {
    let value = |field: &str| format!("{field}-{}", secret(number));
    let mut record = turn(&lin().with_session("s").unwrap(), &format!("some {} words {}", value("text"), number % 7));
    record.speaker = Some(value("speaker"));
    record.topic = Some(value("topic"));
    record.tags = vec![value("tag")];
    record.entities = vec![value("entity")];
    record.source.message_id = Some(value("message"));
    record.metadata.insert(value("key"), value("value").into());
    record
}

/// Returns a text that occurs in no other record, not even partly.
fn secret(number: u64) -> String {
    format!("{:016x}", (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Returns the bytes that identify a record: its secret, and the first bytes of its vector and of its token vectors.
fn traces(number: u64) -> [[u8; 16]; 3] {
    let first = |bytes: &[u8]| std::array::from_fn(|i| bytes[i]);
    let tokens = tokens(&vector(number)).codes().iter().map(|code| code.to_le_bytes()[0]).collect::<Vec<u8>>();
    [first(secret(number).as_bytes()), first(&bytes(&vector(number))), first(&tokens)]
}

async fn fill(store: &SqliteStore, count: u64) -> Vec<Record> {
    let records: Vec<Record> = (0..count).map(record_with_secret).collect();
    for chunk in records.chunks(100) {
        RecordStore::put(store, &lin(), chunk.iter().map(write).collect()).await.unwrap();
    }
    for (record, number) in records.iter().zip(0..) {
        embed(store, record, vector(number)).await;
    }
    records
}

#[tokio::test]
async fn a_deleted_record_leaves_no_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, 3).await;
    assert!(traces(1).iter().all(|trace| is_in_database(&path, trace)));

    assert_eq!(store.delete(&lin(), &[records[1].id]).await.unwrap().ids, [records[1].id]);
    for trace in traces(1) {
        assert!(!is_in_database(&path, &trace));
    }
    assert!(traces(2).iter().all(|trace| is_in_database(&path, trace)), "the others stay");
}

/// With many records the pages of every table and index have been split, merged and moved.
#[tokio::test]
async fn a_deleted_record_among_many_leaves_no_bytes() {
    const COUNT: u64 = 1500;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, COUNT).await;
    let order: Vec<u64> = (0..COUNT).map(|n| n * 701 % COUNT).collect();
    let (deleted, kept) = order.split_at(1100);
    for numbers in deleted.chunks(37) {
        let ids: Vec<_> = numbers.iter().map(|n| records[*n as usize].id).collect();
        assert_eq!(store.delete(&lin(), &ids).await.unwrap().ids, ids);
    }
    let file = [fs::read(&path).unwrap(), fs::read(format!("{}-wal", path.display())).unwrap_or_default()].concat();
    let windows: FxHashSet<&[u8]> = file.windows(16).collect();
    let found = |number: &u64| traces(*number).iter().filter(|trace| windows.contains(&trace[..])).count();
    let remaining: Vec<u64> = deleted.iter().copied().filter(|number| found(number) > 0).collect();
    assert!(
        remaining.is_empty(),
        "{} of {} deleted records are still in the file: {remaining:?}",
        remaining.len(),
        deleted.len()
    );
    assert!(kept.iter().all(|number| found(number) == traces(*number).len()));
}

/// Applications are in the counts of records, too, whose pages are split and merged as those of the records are.
#[tokio::test]
async fn applications_of_deleted_records_leave_no_bytes() {
    const COUNT: u64 = 400;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let app = |number: u64| format!("app{}", secret(number));
    let scope = lin().with_session("s").unwrap();
    let mut records = Vec::new();
    for number in 0..COUNT {
        let mut record = turn(&scope, &format!("message {number}"));
        record.metadata.insert(RecordGroup::APP_KEY.into(), app(number).into());
        records.push(record);
    }
    for chunk in records.chunks(50) {
        RecordStore::put(&store, &lin(), chunk.iter().map(write).collect()).await.unwrap();
    }
    assert!((0..COUNT).all(|number| is_in_database(&path, app(number).as_bytes())));
    // Of every fourth record only the application changes, and half of the others are deleted.
    let (mut changed, mut deleted) = (Vec::new(), Vec::new());
    for (number, mut record) in (0..COUNT).map(|n| n * 171 % COUNT).map(|n| (n, records[n as usize].clone())) {
        if number % 4 == 0 {
            record.metadata.clear();
            RecordStore::put(&store, &lin(), vec![write(&record)]).await.unwrap();
            changed.push(number);
        } else if number % 4 < 3 {
            RecordStore::delete(&store, &lin(), &[record.id]).await.unwrap();
            deleted.push(number);
        }
    }
    let groups = store.record_groups(&lin()).await.unwrap();
    assert_eq!((groups.len(), groups[0].records, changed.len(), deleted.len()), (101, 100, 100, 200));
    // The last write was a deletion or is followed by one, so that the log is empty.
    let last = records.iter().zip(0..).find(|(_, number)| number % 4 == 3).map(|(record, _)| record.id).unwrap();
    RecordStore::delete(&store, &lin(), &[last]).await.unwrap();
    for number in changed.into_iter().chain(deleted).chain([3]) {
        assert!(!is_in_database(&path, app(number).as_bytes()), "{number}");
    }
    assert!(is_in_database(&path, app(7).as_bytes()), "the others stay");
}

#[tokio::test]
async fn a_replaced_text_leaves_no_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let mut records = fill(&store, 3).await;
    let (id, scope) = (records[1].id, records[1].scope.clone());
    records[1] = turn(&scope, "something else");
    records[1].id = id;
    RecordStore::put(&store, &lin(), vec![write(&records[1])]).await.unwrap();
    // The log is cleared after the reply to the caller, when no write is queued.
    for _ in 0..3000 {
        if !traces(1).iter().any(|trace| is_in_database(&path, trace)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the old text is still there");
}

/// A reader of an earlier state prevents clearing the log.
#[tokio::test]
async fn the_log_is_cleared_after_a_slow_reader_has_finished() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, 3).await;
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM records;").unwrap();
    let count = || reader.query_row("SELECT count(*) FROM records", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 3);
    store.delete(&lin(), &[records[1].id]).await.unwrap();
    assert_eq!(count(), 3, "the reader still sees the earlier state");
    reader.execute_batch("COMMIT").unwrap();
    for _ in 0..3000 {
        if !is_in_database(&path, &traces(1)[0]) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the deleted text is still there");
}

#[tokio::test]
async fn removed_synonyms_leave_no_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let words = [1, 2, 3].map(|n| format!("word{}", secret(n)));
    let groups = [SynonymGroup::new(&words[0], ["x"]), SynonymGroup::new("kept", [&words[1]])];
    SynonymStore::put(&store, &lin(), &groups).await.unwrap();
    let pair = WordPair::new(&words[2], "x").unwrap();
    store.judge(&lin(), &[PairVerdict { pair, accepted: false }]).await.unwrap();
    assert!(words.iter().all(|word| is_in_database(&path, word.as_bytes())));
    SynonymStore::remove(&store, &lin(), &words[..1]).await.unwrap();
    assert!(!is_in_database(&path, words[0].as_bytes()) && is_in_database(&path, words[1].as_bytes()));
    store.clear(&lin()).await.unwrap();
    assert!(words.iter().all(|word| !is_in_database(&path, word.as_bytes())));
}

/// Returns an extraction whose name, alias and relation occur in no other record.
fn extraction(number: u64) -> (Extraction, [String; 3]) {
    let [name, alias, relation] = [1, 2, 3].map(|n| format!("graph{}", secret(number * 10 + n + 90_000)));
    let mention = Mention::new(&name, EntityKind::Person).with_alias(&alias);
    let relations = vec![Relation::new(&name, &relation, "the mill")];
    let entities = vec![mention, Mention::new("the mill", EntityKind::Place)];
    (Extraction { entities, relations }, [name, alias, relation])
}

async fn store_extraction(store: &SqliteStore, record: &Record, number: u64) -> [String; 3] {
    let stored = store.get(&record.scope, &[record.id]).await.unwrap().remove(0).unwrap();
    let (extraction, words) = extraction(number);
    memory_engine_graph::GraphStore::upsert(store, &lin(), &[GraphEntry::new(stored, extraction)]).await.unwrap();
    words
}

#[tokio::test]
async fn graph_rows_of_a_deleted_record_leave_no_bytes() {
    const COUNT: u64 = 300;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, COUNT).await;
    let mut words = Vec::new();
    for (record, number) in records.iter().zip(0..) {
        words.push(store_extraction(&store, record, number).await);
    }
    assert!(words[7].iter().all(|word| is_in_database(&path, word.as_bytes())));
    let (deleted, kept) = records.split_at(200);
    for chunk in deleted.chunks(23) {
        let ids: Vec<_> = chunk.iter().map(|record| record.id).collect();
        RecordStore::delete(&store, &lin(), &ids).await.unwrap();
    }
    // For one of the kept records, only the graph rows are deleted.
    memory_engine_graph::GraphStore::delete(&store, &lin(), &[kept[0].id]).await.unwrap();
    let file = [fs::read(&path).unwrap(), fs::read(format!("{}-wal", path.display())).unwrap_or_default()].concat();
    let windows: FxHashSet<&[u8]> = file.windows(16).collect();
    // The last sixteen bytes of a word are its secret.
    let count_in_file =
        |words: &[String; 3]| words.iter().filter(|word| windows.contains(&word.as_bytes()[word.len() - 16..])).count();
    assert_eq!(words[..201].iter().map(count_in_file).sum::<usize>(), 0, "words of deleted rows");
    assert!(words[201..].iter().all(|words| count_in_file(words) == 3));
    let around = memory_engine_graph::GraphStore::expand(&store, &lin(), &GraphQuery::of(["the mill"])).await.unwrap();
    assert_eq!((around.entities.len(), around.entities[0].mentions), (32, 99));
}
