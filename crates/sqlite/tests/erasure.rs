//! Deleted or replaced text leaves no bytes in the database or in its log.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

mod fixtures;

use std::{fs, path::Path, time::Duration};

use fixtures::{embed, lin, open, tokens, turn, vector, write};
use memory_engine_core::{Embedding, Record, RecordStore};
use memory_engine_graph::{EntityKind, Extraction, GraphEntry, GraphQuery, Mention, Relation};
use memory_engine_sqlite::SqliteStore;
use memory_engine_synonyms::{PairVerdict, SynonymGroup, SynonymStore, WordPair};
use rustc_hash::FxHashSet;

/// Returns true if the bytes are in the database or in its log.
fn holds(path: &Path, needle: &[u8]) -> bool {
    ["", "-wal"].iter().any(|end| {
        let file = fs::read(format!("{}{end}", path.display())).unwrap_or_default();
        file.windows(needle.len()).any(|window| window == needle)
    })
}

fn bytes(vector: &Embedding) -> Vec<u8> {
    vector.values().iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A record whose every field tells the number it was made with.
fn telling(number: u64) -> Record {
    let mark = |field: &str| format!("{field}-{}", secret(number));
    let mut record = turn(&lin().with_session("s").unwrap(), &format!("some {} words {}", mark("text"), number % 7));
    record.speaker = Some(mark("speaker"));
    record.topic = Some(mark("topic"));
    record.tags = vec![mark("tag")];
    record.entities = vec![mark("entity")];
    record.source.message_id = Some(mark("message"));
    record.metadata.insert(mark("key"), mark("value").into());
    record
}

/// A text that occurs nowhere else, not even in part.
fn secret(number: u64) -> String {
    format!("{:016x}", (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Bytes of a record that would give it away; the beginning of a vector is enough.
fn traces(number: u64) -> [[u8; 16]; 3] {
    let first = |bytes: &[u8]| std::array::from_fn(|i| bytes[i]);
    let tokens = tokens(&vector(number)).codes().iter().map(|code| code.to_le_bytes()[0]).collect::<Vec<u8>>();
    [first(secret(number).as_bytes()), first(&bytes(&vector(number))), first(&tokens)]
}

async fn fill(store: &SqliteStore, count: u64) -> Vec<Record> {
    let records: Vec<Record> = (0..count).map(telling).collect();
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
    assert!(traces(1).iter().all(|trace| holds(&path, trace)));

    assert_eq!(store.delete(&lin(), &[records[1].id]).await.unwrap().ids, [records[1].id]);
    for trace in traces(1) {
        assert!(!holds(&path, &trace));
    }
    assert!(traces(2).iter().all(|trace| holds(&path, trace)), "the others stay");
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
    let (gone, kept) = order.split_at(1100);
    for numbers in gone.chunks(37) {
        let ids: Vec<_> = numbers.iter().map(|n| records[*n as usize].id).collect();
        assert_eq!(store.delete(&lin(), &ids).await.unwrap().ids, ids);
    }
    let file = [fs::read(&path).unwrap(), fs::read(format!("{}-wal", path.display())).unwrap_or_default()].concat();
    let windows: FxHashSet<&[u8]> = file.windows(16).collect();
    let found = |number: &u64| traces(*number).iter().filter(|trace| windows.contains(&trace[..])).count();
    let left: Vec<u64> = gone.iter().copied().filter(|number| found(number) > 0).collect();
    assert!(left.is_empty(), "{} of {} deleted records are still in the file: {left:?}", left.len(), gone.len());
    assert!(kept.iter().all(|number| found(number) == traces(*number).len()));
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
    // The log is cleared after the caller was told, when there is nothing else to write.
    for _ in 0..100 {
        if !traces(1).iter().any(|trace| holds(&path, trace)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the old text is still there");
}

/// A reader of an old state keeps it in the log. After the reader has finished, it is cleared automatically.
#[tokio::test]
async fn what_a_slow_reader_keeps_goes_when_they_are_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, 3).await;
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM records;").unwrap();
    let count = || reader.query_row("SELECT count(*) FROM records", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 3);
    store.delete(&lin(), &[records[1].id]).await.unwrap();
    assert_eq!(count(), 3, "they still see what they saw");
    reader.execute_batch("COMMIT").unwrap();
    for _ in 0..200 {
        if !holds(&path, &traces(1)[0]) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the deleted text is still there");
}

#[tokio::test]
async fn synonyms_that_were_removed_leave_no_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let words = [1, 2, 3].map(|n| format!("word{}", secret(n)));
    let groups = [SynonymGroup::new(&words[0], ["x"]), SynonymGroup::new("kept", [&words[1]])];
    SynonymStore::put(&store, &lin(), &groups).await.unwrap();
    let pair = WordPair::new(&words[2], "x").unwrap();
    store.judge(&lin(), &[PairVerdict { pair, accepted: false }]).await.unwrap();
    assert!(words.iter().all(|word| holds(&path, word.as_bytes())));
    SynonymStore::remove(&store, &lin(), &words[..1]).await.unwrap();
    assert!(!holds(&path, words[0].as_bytes()) && holds(&path, words[1].as_bytes()));
    store.clear(&lin()).await.unwrap();
    assert!(words.iter().all(|word| !holds(&path, word.as_bytes())));
}

/// An extraction with names, aliases and relations that occur in no other record.
fn statement(number: u64) -> (Extraction, [String; 3]) {
    let [name, alias, relation] = [1, 2, 3].map(|n| format!("graph{}", secret(number * 10 + n + 90_000)));
    let mention = Mention::new(&name, EntityKind::Person).with_alias(&alias);
    let relations = vec![Relation::new(&name, &relation, "the mill")];
    let entities = vec![mention, Mention::new("the mill", EntityKind::Place)];
    (Extraction { entities, relations }, [name, alias, relation])
}

async fn say(store: &SqliteStore, record: &Record, number: u64) -> [String; 3] {
    let stored = store.get(&record.scope, &[record.id]).await.unwrap().remove(0).unwrap();
    let (extraction, words) = statement(number);
    memory_engine_graph::GraphStore::upsert(store, &lin(), &[GraphEntry::new(stored, extraction)]).await.unwrap();
    words
}

#[tokio::test]
async fn what_a_deleted_record_said_of_entities_leaves_no_bytes() {
    const COUNT: u64 = 300;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let records = fill(&store, COUNT).await;
    let mut said = Vec::new();
    for (record, number) in records.iter().zip(0..) {
        said.push(say(&store, record, number).await);
    }
    assert!(said[7].iter().all(|word| holds(&path, word.as_bytes())));
    let (gone, kept) = records.split_at(200);
    for some in gone.chunks(23) {
        let ids: Vec<_> = some.iter().map(|record| record.id).collect();
        RecordStore::delete(&store, &lin(), &ids).await.unwrap();
    }
    // Of one of those that stay only the graph goes.
    memory_engine_graph::GraphStore::delete(&store, &lin(), &[kept[0].id]).await.unwrap();
    let file = [fs::read(&path).unwrap(), fs::read(format!("{}-wal", path.display())).unwrap_or_default()].concat();
    let windows: FxHashSet<&[u8]> = file.windows(16).collect();
    // The last sixteen bytes of a word are its secret.
    let left =
        |words: &[String; 3]| words.iter().filter(|word| windows.contains(&word.as_bytes()[word.len() - 16..])).count();
    assert_eq!(said[..201].iter().map(left).sum::<usize>(), 0, "of what was deleted");
    assert!(said[201..].iter().all(|words| left(words) == 3));
    let around = memory_engine_graph::GraphStore::expand(&store, &lin(), &GraphQuery::of(["the mill"])).await.unwrap();
    assert_eq!((around.entities.len(), around.entities[0].mentions), (32, 99));
}
