#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use memory_engine_core::RecordId;
use rusqlite::params;
use tempfile::TempDir;

use super::*;
use crate::database::{epoch, schema};

fn database() -> (TempDir, PathBuf, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let mut connection = Connection::open(&path).unwrap();
    schema::in_transaction(&mut connection, |transaction| schema::migrate_to_latest(transaction, &path)).unwrap();
    let names = "INSERT INTO tenants VALUES (1, 't'); INSERT INTO namespaces VALUES (1, 1, 'u');
        INSERT INTO scopes VALUES (1, 1, '', '', '');";
    connection.execute_batch(names).unwrap();
    (directory, path, connection)
}

/// Writes records with these numbers, and logs a change for each.
fn write(connection: &Connection, numbers: std::ops::RangeInclusive<i64>) {
    for number in numbers {
        let sql =
            "INSERT INTO records (record, namespace, scope, id, revision, state, kind, trust, occurred_at, recorded_at,
            confidence, importance, entities, tags, derived_from, metadata, text)
            VALUES (?1, 1, 1, ?2, 1, 'active', 'turn', 'user', 0, 0, 1, 1, '[]', '[]', '[]', '{}', '')";
        connection.execute(sql, params![number, RecordId::new().as_bytes()]).unwrap();
        change_log::append(connection, number).unwrap();
    }
}

fn append(file: &IndexCacheFile, connection: &Connection, number: i64) {
    write(connection, number..=number);
    let manifest = file.manifest(connection).unwrap().unwrap();
    let header = SegmentHeader {
        base_change: manifest.newest_change(),
        newest_change: number,
        records: 1,
        obsolete: 0,
        last_row: number,
        role: SegmentRole::Appended,
    };
    file.append(connection, &manifest, header, |out| out.deltas([number])).unwrap();
}

fn take(numbers: &mut Vec<i64>, input: &mut SegmentReader<'_>) -> io::Result<()> {
    numbers.extend(input.deltas()?);
    Ok(())
}

fn read(file: &IndexCacheFile, connection: &Connection) -> Option<(Vec<i64>, i64)> {
    file.read(connection, Vec::with_capacity, take).unwrap()
}

#[test]
fn a_compacted_segment_is_never_missing_and_never_counted_twice() {
    let (_directory, path, connection) = database();
    let file = IndexCacheFile::with_append_file(&path, "terms-1");
    write(&connection, 1..=3);
    let mut builder = file.builder(&connection, 3).unwrap().unwrap();
    builder.push_segment(2, 2, |out| out.deltas([1, 2]));
    assert!(read(&file, &connection).is_none(), "the new cache is not published yet");
    builder.push_segment(1, 3, |out| out.deltas([3]));
    builder.publish();
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3], 3)));
    append(&file, &connection, 4);
    append(&file, &connection, 5);
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5], 5)));

    let manifest = file.manifest(&connection).unwrap().unwrap();
    assert_eq!((manifest.appended_records(), manifest.last_row()), (2, 5));
    let fresh = fs::read(&file.files[1]).unwrap();
    file.compact(&connection, &manifest, Vec::new(), take, |all, out| out.deltas(all)).unwrap();
    assert!(!file.files[1].exists());
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5], 5)));
    // As after a crash before the compacted segments are removed from the append file.
    fs::write(&file.files[1], fresh).unwrap();
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5], 5)));
    append(&file, &connection, 6);
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5, 6], 6)));
    assert_eq!(file.manifest(&connection).unwrap().unwrap().appended_records(), 1);
    // Without the main file, the segments after it are ignored.
    fs::remove_file(&file.files[0]).unwrap();
    assert_eq!(read(&file, &connection), None);
}

#[test]
fn an_incomplete_segment_is_ignored_and_overwritten() {
    let (_directory, path, connection) = database();
    let file = IndexCacheFile::new(&path, "vectors");
    write(&connection, 1..=1);
    let mut builder = file.builder(&connection, 1).unwrap().unwrap();
    builder.push_segment(1, 1, |out| out.deltas([1]));
    builder.publish();
    let first_segment = fs::read(&file.files[0]).unwrap();
    append(&file, &connection, 2);
    let both_segments = fs::read(&file.files[0]).unwrap();
    for length in [first_segment.len() + 1, first_segment.len() + 8, both_segments.len() - 1] {
        fs::write(&file.files[0], &both_segments[..length]).unwrap();
        assert_eq!(read(&file, &connection), Some((vec![1], 1)));
    }
    // A failed write leaves the earlier segments unchanged.
    write(&connection, 3..=3);
    let manifest = file.manifest(&connection).unwrap().unwrap();
    let header =
        SegmentHeader { base_change: 1, newest_change: 3, records: 2, last_row: 3, ..SegmentHeader::default() };
    let fails = |out: &mut SegmentWriter| out.deltas(0..9).and(Err(io::ErrorKind::StorageFull.into()));
    file.append(&connection, &manifest, header, fails).unwrap();
    assert_eq!(fs::read(&file.files[0]).unwrap(), first_segment);
    file.append(&connection, &manifest, header, |out| out.deltas([2, 3])).unwrap();
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3], 3)));
    // Another fingerprint or another epoch: the cache is ignored.
    connection.execute("UPDATE changes SET nonce = nonce + 1 WHERE change = 3", []).unwrap();
    assert_eq!(read(&file, &connection), None);
    epoch::end(&connection, &path).unwrap();
    assert!(!file.files[0].exists());
    fs::write(&file.files[0], first_segment).unwrap();
    assert_eq!(read(&file, &connection), None);
}
