//! The JSON form of filters, times, queries and pages.

#![allow(clippy::unwrap_used, reason = "this is test code: a failed expectation is a panic")]

use std::{
    str::FromStr,
    time::{Duration, SystemTime},
};

use jiff::{civil::date, tz::TimeZone};
use memory_engine_core::{
    BlockReason, Cursor, Error, ErrorKind, Field, Filter, FilterValue, Job, Kind, Metric, Mismatch, Op, Order, Outcome,
    Page, PutMode, Record, RecordId, Role, ScanQuery, Scope, State, SystemClock, Timestamp, Trust, WriteResult,
};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let json = serde_json::to_string(value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&json).unwrap(), *value, "{json}");
}

fn record() -> Record {
    let mut record = Record::new(Scope::user("lin").unwrap(), Kind::NOTE, "hello", &SystemClock);
    record.role = Some(Role::USER);
    record.occurred_at = "2024-05-01T23:30:00Z".parse().unwrap();
    record.metadata.insert("room".into(), 3.into());
    record
}

#[test]
fn filter_constructors_accept_values_of_many_types() {
    let record = record();
    let in_2100: jiff::Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
    let matching = [
        Filter::eq(Field::Role, Role::USER),
        Filter::eq(Field::Role, &Role::USER),
        Filter::eq(Field::Kind, Kind::NOTE),
        Filter::eq(Field::State, State::Active),
        Filter::eq(Field::Trust, Trust::Import) | Filter::eq(Field::Kind, Kind::NOTE),
        Filter::eq(Field::Id, record.id),
        Filter::eq(Field::meta("room"), 3_u64),
        Filter::meta("room", 3_i64),
        Filter::meta("room", 3_usize),
        Filter::meta("room", 3_u8) & Filter::meta("room", 3.0_f32),
        Filter::compare(Field::meta("room"), Op::Gt, 2_i16),
        Filter::any_of(Field::Kind, [Kind::TURN, Kind::NOTE]),
        !Filter::eq(Field::Kind, String::from("turn")),
        Filter::until(in_2100),
        Filter::since(SystemTime::UNIX_EPOCH),
        Filter::since("2024-05-01T23:30:00Z".parse::<jiff::Timestamp>().unwrap()),
        Filter::on_day(date(2024, 5, 1), &TimeZone::UTC),
        Filter::on_day(date(2024, 5, 2), &TimeZone::fixed(jiff::tz::offset(8))),
    ];
    for filter in matching {
        filter.validate().unwrap();
        assert!(filter.matches(&record), "{filter:?}");
    }
    assert!(!Filter::on_day(date(2024, 5, 1), &TimeZone::fixed(jiff::tz::offset(8))).matches(&record));
    assert!(!Filter::until("2024-05-01T23:30:00Z".parse::<Timestamp>().unwrap()).matches(&record));
}

#[test]
fn inexact_numbers_and_unknown_names_are_invalid() {
    for exact in [1_i64 << 53, -(1 << 53), 0] {
        Filter::eq(Field::Sequence, exact).validate().unwrap();
    }
    for inexact in [(1_i64 << 53) + 1, 1 << 54, i64::MAX, i64::MIN] {
        let error = Filter::eq(Field::Sequence, inexact).validate().unwrap_err();
        assert!(error.to_string().contains("2^53"), "{error}");
    }
    assert!(Filter::eq(Field::Sequence, u64::MAX).validate().is_err());
    let error = Filter::eq(Field::State, "activ").validate().unwrap_err();
    assert!(error.to_string().contains("active, "), "{error}");
    assert!(Filter::eq(Field::Trust, "owner").validate().is_err());
    assert!(Filter::any_of(Field::State, ["active", "gone"]).validate().is_err());
}

#[test]
fn the_error_of_an_invalid_filter_has_a_hint() {
    let read = |json: &str| serde_json::from_str::<Filter>(json);
    let date: Timestamp = "2024-05-01".parse().unwrap();
    assert_eq!(
        read(r#"{"field": "occurred_at", "op": "ge", "value": "2024-05-01"}"#).unwrap(),
        Filter::compare(Field::OccurredAt, Op::Ge, date)
    );
    assert_eq!(read(r#"{"field": "tags", "exists": false}"#).unwrap(), !Filter::Exists(Field::Tags));
    for (invalid, hint) in [
        (r#"{"field": "kind"}"#, "\"exists\": true"),
        (r#"{"field": "kind", "value": "note", "exists": true}"#, "a filter is"),
        (r#"{"fields": "kind"}"#, "unknown field `fields`"),
        (r#"{"field": "sort", "value": 1}"#, "it is one of id, agent"),
        (r#"{"field": "occurred_at", "value": "monday"}"#, "2026-03-02"),
        (r#"{"field": "kind", "op": "like", "value": "n"}"#, "unknown variant `like`"),
        (r#""note""#, "a filter: an object"),
    ] {
        let error = read(invalid).unwrap_err().to_string();
        assert!(error.contains(hint), "{invalid}: {error}");
    }
}

#[test]
fn queries_pages_and_outcomes_round_trip() {
    let record = record();
    let cursor = Cursor::at(&record);
    let filter = Filter::meta("room", 3);
    round_trip(&ScanQuery::newest(7).with_filter(filter).with_after(Some(cursor)).with_skip(2).counted());
    round_trip(&Page::new(vec![record.clone()], Some(cursor)).with_total(Some(1)));
    round_trip(&WriteResult::new(record.id, Outcome::Blocked(BlockReason::Content), 3, vec![Job::Embedding]));
    for mode in [PutMode::Upsert, PutMode::IfAbsent, PutMode::Create, PutMode::Update { revision: 3 }] {
        round_trip(&mode);
    }
    let defaults: ScanQuery = serde_json::from_str("{}").unwrap();
    assert_eq!((defaults.limit, defaults.order, defaults.counted), (100, Order::OldestFirst, false));
    assert!(serde_json::from_str::<ScanQuery>(r#"{"limits": 3}"#).is_err());
    for invalid in ["", "1_2", "x_0_018f0000-0000-7000-8000-000000000000", "1_2_3_4"] {
        assert_eq!(invalid.parse::<Cursor>().unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn timestamps_convert_to_and_from_other_types() {
    let time: Timestamp = "1969-12-31T23:59:59.999999Z".parse().unwrap();
    assert_eq!(time.as_micros(), -1);
    assert_eq!(Timestamp::from(SystemTime::from(time)), time);
    assert_eq!(Timestamp::from(jiff::Timestamp::from(time)), time);
    let just_before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
    assert_eq!(Timestamp::from(just_before), time, "rounded down");
    assert_eq!(format!("{time:?}"), "1969-12-31T23:59:59.999999Z");
    assert_eq!(Timestamp::from(jiff::Timestamp::from_nanosecond(-1).unwrap()), time);
}

#[test]
fn names_are_in_snake_case() {
    assert_eq!(ErrorKind::InvalidInput.to_string(), "invalid_input");
    assert_eq!(Order::NewestFirst.to_string(), "newest_first");
    assert_eq!(PutMode::Update { revision: 1 }.to_string(), "update");
    assert_eq!(Outcome::Blocked(BlockReason::Id).to_string(), "blocked");
    assert_eq!("ge".parse::<Op>().unwrap(), Op::Ge);
}

fn assert_names_round_trip<T>(values: &[T])
where
    T: std::fmt::Display + FromStr<Err = Error> + Serialize + PartialEq + std::fmt::Debug,
{
    for value in values {
        assert_eq!(value.to_string().parse::<T>().unwrap(), *value);
        assert_eq!(serde_json::to_value(value).unwrap(), value.to_string());
    }
    let error = "no such name".parse::<T>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains(&values[0].to_string()), "{error}");
}

#[test]
fn names_round_trip_and_equal_the_json() {
    assert_names_round_trip(&ErrorKind::ALL);
    assert_names_round_trip(&Job::ALL);
    assert_names_round_trip(&Op::ALL);
    assert_names_round_trip(&Order::ALL);
    assert_names_round_trip(&Metric::ALL);
    assert_names_round_trip(&Mismatch::ALL);
    assert_names_round_trip(&BlockReason::ALL);
    assert_names_round_trip(State::ALL);
    assert_names_round_trip(Trust::ALL);
}

#[test]
fn inexact_numbers_in_a_filter_are_invalid() {
    let json = |value: FilterValue| serde_json::to_string(&value).unwrap();
    assert_eq!((json(3_u64.into()), json(2.5.into()), json((-7_i8).into())), ("3".into(), "2.5".into(), "-7".into()));
    assert_eq!(json((1_i64 << 53).into()), "9007199254740992");
    let read = |text: &str| serde_json::from_str::<FilterValue>(text);
    assert_eq!(read("9007199254740992").unwrap(), FilterValue::from(1_i64 << 53));
    for inexact in ["9007199254740993", "-9007199254740993", "18446744073709551615"] {
        let error = read(inexact).unwrap_err().to_string();
        assert!(error.contains("2^53"), "{error}");
    }
    assert!(read("null").is_err() && read("[1]").is_err());
    assert!(serde_json::from_str::<Filter>(r#"{"field": "metadata.n", "value": 9007199254740993}"#).is_err());
}

fn values() -> impl Strategy<Value = FilterValue> {
    prop_oneof![
        any::<bool>().prop_map(FilterValue::from),
        // serde_json reads the last digit of a long fraction to within one unit only.
        any::<i32>().prop_map(|eighths| FilterValue::from(f64::from(eighths) / 8.0)),
        any::<i32>().prop_map(FilterValue::from),
        ".{0,8}".prop_map(FilterValue::from),
    ]
}

fn filters() -> impl Strategy<Value = Filter> {
    let micros = -62_000_000_000_000_000_i64..250_000_000_000_000_000;
    let leaf = prop_oneof![
        values().prop_map(|value| Filter::eq(Field::meta("k-1"), value)),
        prop::collection::vec(values(), 0..3).prop_map(|values| Filter::In(Field::meta("k"), values)),
        micros.prop_map(|micros| Filter::compare(Field::ValidFrom, Op::Lt, Timestamp::from_micros(micros))),
        Just(Filter::Exists(Field::Speaker)),
        Just(Filter::eq(Field::Id, RecordId::new())),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Filter::And),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Filter::Or),
            inner.prop_map(|one| !one),
        ]
    })
}

proptest! {
    #[test]
    fn every_filter_round_trips(filter in filters()) {
        round_trip(&filter);
    }

    #[test]
    fn every_cursor_round_trips(micros: i64, sequence: i64) {
        let cursor = Cursor { occurred_at: Timestamp::from_micros(micros), sequence, id: RecordId::new() };
        round_trip(&cursor);
        let text = cursor.to_string();
        prop_assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{}", text);
    }
}
