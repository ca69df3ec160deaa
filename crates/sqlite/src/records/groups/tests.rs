#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use std::path::Path;

use memory_engine_core::{ManualClock, Record};
use rusqlite::StatementStatus;

use super::*;
use crate::{database::schema, rows::row};

/// Returns a database with `records` records of lin and one of mo.
fn database(records: i64) -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::in_transaction(&mut connection, |transaction| {
        schema::migrate_to_latest(transaction, Path::new("memory.db"))
    })
    .unwrap();
    for number in 0..records {
        insert(&connection, "lin", number);
    }
    insert(&connection, "mo", 0);
    connection
}

fn insert(connection: &Connection, user: &str, micros: i64) {
    let clock = ManualClock::new(Timestamp::from_micros(micros));
    let record = Record::new(Scope::user(user).unwrap(), Kind::TURN, "some words", &clock);
    let address = scopes::get_or_create(connection, &record.scope).unwrap();
    row::insert(connection, address, &record).unwrap();
}

/// Returns the number of steps of SQLite that read the groups within a scope.
fn read_steps(connection: &Connection, scope: &Scope) -> i32 {
    let covered = CoveredScope::of(connection, scope).unwrap().unwrap();
    let (mut prepared, values) = statement(&covered).prepare(connection).unwrap();
    prepared.reset_status(StatementStatus::VmStep);
    let mut rows = prepared.query(values).unwrap();
    let mut groups = 0;
    while rows.next().unwrap().is_some() {
        groups += 1;
    }
    drop(rows);
    assert!(groups > 0);
    prepared.get_status(StatementStatus::VmStep)
}

#[test]
fn the_cost_of_reading_groups_does_not_depend_on_the_number_of_records() {
    let [few, many] = [10, 1000].map(database);
    for scope in [Scope::user("lin").unwrap(), Scope::user("mo").unwrap(), Scope::tenant_wide("default").unwrap()] {
        assert_eq!(read_steps(&few, &scope), read_steps(&many, &scope), "{scope}");
    }
}

#[test]
fn the_cost_of_the_groups_of_one_user_does_not_depend_on_other_users() {
    let connection = database(10);
    let lin = Scope::user("lin").unwrap();
    let steps = read_steps(&connection, &lin);
    for number in 0..200 {
        insert(&connection, &format!("user{number}"), 0);
    }
    assert_eq!(read_steps(&connection, &lin), steps);
}

/// Counts the groups with wrong times, if all records of a scope are in one group.
const WRONG_TIMES_SQL: &str = "SELECT count(*) FROM record_groups g
    WHERE g.stale > 0 OR (g.oldest, g.newest) IS NOT (
        SELECT min(r.occurred_at), max(r.occurred_at) FROM records r WHERE r.scope = g.scope)";

/// The first and the last record of a group are found at the ends of an index.
#[test]
fn the_cost_of_a_removal_does_not_depend_on_the_number_of_records() {
    let steps = |records: i64| {
        let connection = database(records);
        connection.execute("DELETE FROM records WHERE occurred_at IN (0, ?1)", [records - 1]).unwrap();
        let mut refresh = connection.prepare(REFRESH_SQL).unwrap();
        refresh.execute([]).unwrap();
        let wrong: i64 = connection.query_row(WRONG_TIMES_SQL, [], |row| row.get(0)).unwrap();
        assert_eq!(wrong, 0);
        refresh.get_status(StatementStatus::VmStep)
    };
    assert_eq!(steps(10), steps(1000));
}
