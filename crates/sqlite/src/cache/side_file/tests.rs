#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use tempfile::TempDir;

use super::*;
use crate::database::schema;

fn database() -> (TempDir, PathBuf, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let mut connection = Connection::open(&path).unwrap();
    schema::in_transaction(&mut connection, |transaction| schema::up(transaction, &path)).unwrap();
    let names = "INSERT INTO tenants VALUES (1, 't'); INSERT INTO namespaces VALUES (1, 1, 'u');
        INSERT INTO scopes VALUES (1, 1, '', '', '');";
    connection.execute_batch(names).unwrap();
    (directory, path, connection)
}

/// Writes records of these numbers, each a change.
fn write(connection: &Connection, numbers: std::ops::RangeInclusive<i64>) {
    for number in numbers {
        let sql =
            "INSERT INTO records (record, namespace, scope, id, revision, state, kind, trust, occurred_at, recorded_at,
            confidence, importance, entities, tags, derived_from, metadata, text)
            VALUES (?1, 1, 1, ?2, 1, 'active', 'turn', 'user', 0, 0, 1, 1, '[]', '[]', '[]', '{}', '')";
        connection.execute(sql, params![number, RecordId::new().as_bytes()]).unwrap();
        changes::note(connection, number).unwrap();
    }
}

fn append(file: &SideFile, connection: &Connection, number: i64) {
    write(connection, number..=number);
    let chain = file.chain(connection).unwrap().unwrap();
    let section = Section { from: chain.seen(), seen: number, records: 1, gone: 0, last_row: number };
    file.append(connection, &chain, section, |out| out.deltas([number])).unwrap();
}

fn take(numbers: &mut Vec<i64>, input: &mut Input<'_>) -> io::Result<()> {
    numbers.extend(input.deltas()?);
    Ok(())
}

fn read(file: &SideFile, connection: &Connection) -> Option<(Vec<i64>, i64)> {
    file.read(connection, Vec::with_capacity, take).unwrap()
}

#[test]
fn what_is_moved_to_the_first_part_is_never_there_twice_nor_missing() {
    let (_directory, path, connection) = database();
    let file = SideFile::in_two_parts(&path, "terms-1");
    write(&connection, 1..=3);
    let mut beginning = file.begin(&connection, 3).unwrap().unwrap();
    beginning.write(2, 2, |out| out.deltas([1, 2]));
    assert!(read(&file, &connection).is_none(), "it is not finished");
    beginning.write(1, 3, |out| out.deltas([3]));
    beginning.finish();
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3], 3)));
    append(&file, &connection, 4);
    append(&file, &connection, 5);
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5], 5)));

    let chain = file.chain(&connection).unwrap().unwrap();
    assert_eq!((chain.fresh(), chain.last_row()), (2, 5));
    let fresh = fs::read(&file.parts[1]).unwrap();
    file.move_up(&connection, &chain, Vec::new(), take, |all, out| out.deltas(all)).unwrap();
    assert!(!file.parts[1].exists());
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5], 5)));
    // The machine stops before what was moved is removed.
    fs::write(&file.parts[1], fresh).unwrap();
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5], 5)));
    append(&file, &connection, 6);
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3, 4, 5, 6], 6)));
    assert_eq!(file.chain(&connection).unwrap().unwrap().fresh(), 1);
    // What belongs between is missing: what follows is not believed.
    fs::remove_file(&file.parts[0]).unwrap();
    assert_eq!(read(&file, &connection), None);
}

#[test]
fn a_section_that_was_not_finished_is_none_and_makes_room_for_the_next() {
    let (_directory, path, connection) = database();
    let file = SideFile::of(&path, "vectors");
    write(&connection, 1..=1);
    let mut beginning = file.begin(&connection, 1).unwrap().unwrap();
    beginning.write(1, 1, |out| out.deltas([1]));
    beginning.finish();
    let whole = fs::read(&file.parts[0]).unwrap();
    append(&file, &connection, 2);
    let longer = fs::read(&file.parts[0]).unwrap();
    for length in [whole.len() + 1, whole.len() + 8, longer.len() - 1] {
        fs::write(&file.parts[0], &longer[..length]).unwrap();
        assert_eq!(read(&file, &connection), Some((vec![1], 1)));
    }
    // A write that fails half-way leaves what was there.
    write(&connection, 3..=3);
    let chain = file.chain(&connection).unwrap().unwrap();
    let section = Section { from: 1, seen: 3, records: 2, gone: 0, last_row: 3 };
    let fails = |out: &mut Output| out.deltas(0..9).and(Err(io::ErrorKind::StorageFull.into()));
    file.append(&connection, &chain, section, fails).unwrap();
    assert_eq!(fs::read(&file.parts[0]).unwrap(), whole);
    file.append(&connection, &chain, section, |out| out.deltas([2, 3])).unwrap();
    assert_eq!(read(&file, &connection), Some((vec![1, 2, 3], 3)));
    // Another state, and another mark: none of it is believed.
    connection.execute("UPDATE records SET id = randomblob(16) WHERE record = 3", []).unwrap();
    assert_eq!(read(&file, &connection), None);
    remove_all(&connection, &path).unwrap();
    assert!(!file.parts[0].exists());
    fs::write(&file.parts[0], whole).unwrap();
    assert_eq!(read(&file, &connection), None);
}
