use memory_engine::SystemClock;
use memory_engine_import::json_lines::object;

use super::*;

fn read(text: &str) -> Result<ParsedLine> {
    let scope = Scope::tenant_wide("default").unwrap();
    super::read(object(text)?, &LineDefaults { scope: &scope, zone: &TimeZone::UTC, clock: &SystemClock })
}

fn record(text: &str) -> Record {
    match read(text).unwrap().line {
        ImportLine::Record(record) => *record,
        ImportLine::Tombstone(_) => panic!("a record was expected"),
    }
}

#[test]
fn scope_means_user_and_unknown_keys_become_metadata() {
    let r = record(
        r#"{"id":"D1:3","scope":"conv-26","session":"s1","role":"participant","speaker":"Mel","text":"hi",
            "time":"2023-05-08T13:56:00","lang":"en","place":"上海"}"#,
    );
    assert_eq!((r.scope.user_name(), r.scope.session()), (Some("conv-26"), Some("s1")));
    assert_eq!(r.source.message_id.as_deref(), Some("D1:3"));
    assert_eq!(r.occurred_at.to_string(), "2023-05-08T13:56:00Z");
    assert_eq!(r.metadata.get("place"), Some(&json!("上海")));
    assert_eq!(r.trust, Trust::Import);
}

#[test]
fn timestamp_is_the_time() {
    for (key, time) in [
        ("timestamp", r#""2024-07-05T18:30:00+02:00""#),
        ("timestamp", "1720197000"),
        ("time", "1720197000000"),
        ("time", r#""2024-07-05T16:30:00Z""#),
    ] {
        let line = format!(r#"{{"user":"lin","text":"hi","{key}":{time}}}"#);
        let record = record(&line);
        assert_eq!(record.occurred_at.to_string(), "2024-07-05T16:30:00Z", "{line}");
        assert!(!record.metadata.contains_key("timestamp"), "{line}");
    }
    let both = record(r#"{"user":"lin","text":"hi","time":"2024-07-05","timestamp":"noon"}"#);
    assert_eq!(
        (both.occurred_at.to_string().as_str(), &both.metadata["timestamp"]),
        ("2024-07-05T00:00:00Z", &json!("noon"))
    );
}

#[test]
fn records_round_trip() {
    let mut r = record(
        r#"{"user":"lin","text":"周三面试 \"x\"","tags":["a","b"],"confidence":0.25,"sequence":-7,"kind":"fact",
            "valid_from":"2026-01-01"}"#,
    );
    r.derived_from = vec![RecordId::new()];
    r.state = State::Superseded;
    r.trust = Trust::User;
    let again = record(&write(&r).to_string());
    assert_eq!(again, r);
}

#[test]
fn tombstones_round_trip() {
    let scope = Scope::user("lin").unwrap().with_session("s").unwrap();
    let content_hash = memory_engine::store::ContentHash::of("x");
    let tombstone =
        Tombstone::new(RecordId::new(), scope, content_hash, Timestamp::from_micros(5)).with_cascade_deleted(true);
    match read(&write_tombstone(&tombstone).to_string()).unwrap().line {
        ImportLine::Tombstone(again) => assert_eq!(again, tombstone),
        ImportLine::Record(_) => panic!("a tombstone was expected"),
    }
}

#[test]
fn bad_lines_are_rejected_with_a_reason() {
    let cases = [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ("{\"user\":\"lin\"}", "no \"text\""),
        ("{\"text\":\"hi\"}", "no user"),
        ("{\"user\":\"lin\",\"text\":\" \"}", "empty"),
        ("{\"user\":\"lin\",\"text\":7}", "\"text\" is not a string"),
        ("{\"user\":\"lin\",\"text\":\"a\\u0000b\"}", "NUL"),
        ("{\"user\":\"lin\",\"text\":\"x\",\"time\":\"soon\"}", "no time"),
        ("{\"user\":\"lin\",\"text\":\"x\",\"timestamp\":\"noon\"}", "no time"),
        ("{\"user\":\"lin\",\"text\":\"x\",\"tags\":[1]}", "tags"),
        ("{\"user\":\"lin\",\"text\":\"x\",\"confidence\":3}", "confidence"),
        ("{\"user\":\" \",\"text\":\"x\"}", "white space"),
        ("{\"user\":\"lin\",\"text\":\"x\",\"trust\":\"me\"}", "trust"),
    ];
    for (line, word) in cases {
        let e = format!("{:#}", read(line).unwrap_err());
        assert!(e.contains(word), "{line}: {e}");
    }
}
