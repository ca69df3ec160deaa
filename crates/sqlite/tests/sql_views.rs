//! The SQL views that other programs read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is test code: a failed expectation is a panic")]

mod fixtures;

use fixtures::{lin, open, turn, write};
use memory_engine_core::{Kind, Record, RecordStore, Role, Scope, State, SystemClock};
use rusqlite::Connection;
use serde_json::{Value, json};

fn record(scope: &Scope, kind: Kind, text: &str, metadata: Value) -> Record {
    let mut record = Record::new(scope.clone(), kind, text, &SystemClock);
    record.metadata = metadata.as_object().unwrap().clone();
    record
}

#[tokio::test]
async fn a1_the_tables_of_a_companion_are_read_under_the_names_of_its_document() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.db");
    let store = open(&path).await;
    let aicy = lin().with_agent("aicy").unwrap();
    let mut question = turn(&aicy, "你好");
    question.metadata = json!({"affection_delta": 21, "key_moment_id": "first_meet"}).as_object().unwrap().clone();
    let mut reply = turn(&aicy, "（眨眼）");
    (reply.role, reply.metadata) =
        (Some(Role::ASSISTANT), json!({"affection_delta": "much"}).as_object().unwrap().clone());
    let mut moment = record(
        &aicy,
        Kind::KEY_MOMENT,
        "用户：你好",
        json!({"chapter": 1, "moment_name": "第一次见面", "user_response": "你好", "aicy_response": "（眨眼）",
            "affection_gained": 20, "status": "completed"}),
    );
    moment.source.message_id = Some("first_meet".into());
    let state = record(
        &aicy,
        Kind::ledger("companion"),
        "affection 21",
        json!({"affection": 21, "current_chapter": 1, "total_messages": 2, "consecutive_days": 1,
            "last_active_micros": 1_772_000_000_123_456_i64}),
    );
    let log = record(
        &aicy,
        Kind::ledger("affection"),
        "message",
        json!({"delta": 1, "reason": "message", "before_value": 0, "after_value": 1}),
    );
    let profile = record(&aicy, Kind::PROFILE, "x", json!({"nickname": "小林", "personality_summary": "话不多"}));
    let mut old = record(&aicy, Kind::PROFILE, "y", json!({"nickname": "Lin"}));
    old.state = State::Superseded;
    let profile_only = record(&Scope::user("mo").unwrap(), Kind::PROFILE, "curious", json!({"affection": 7}));
    let records = [&question, &reply, &moment, &state, &log, &profile, &old];
    store.put(&lin(), records.into_iter().map(write).collect()).await.unwrap();
    store.put(&profile_only.scope, vec![write(&profile_only)]).await.unwrap();
    let connection = Connection::open(&path).unwrap();
    let rows = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let conversations = rows(
        "SELECT concat_ws(',', user_id, agent, role, content, affection_delta, is_key_moment, key_moment_id)
         FROM conversations ORDER BY role DESC",
    );
    assert_eq!(conversations, ["lin,aicy,user,你好,21,1,first_meet", "lin,aicy,assistant,（眨眼）,0,0"]);
    assert_eq!(rows("SELECT id FROM conversations WHERE role = 'user'"), [question.id.to_string()]);
    assert_eq!(
        rows(
            "SELECT concat_ws(',', id, user_id, chapter, moment_name, user_response, aicy_response, affection_gained,
                 status)
             FROM key_moments"
        ),
        ["first_meet,lin,1,第一次见面,你好,（眨眼）,20,completed"]
    );
    assert_eq!(
        rows(
            "SELECT concat_ws(',', user_id, agent, nickname, affection, current_chapter, personality_summary,
                 total_messages, consecutive_days, last_active_at)
             FROM user_profiles ORDER BY user_id"
        ),
        [
            "lin,aicy,小林,21,1,话不多,2,1,2026-02-25T06:13:20.123Z".to_owned(),
            format!("mo,,7,1,curious,0,0,{}", rows("SELECT last_active_at FROM user_profiles WHERE user_id = 'mo'")[0]),
        ]
    );
    assert_eq!(
        rows("SELECT concat_ws(',', user_id, delta, reason, before_value, after_value) FROM affection_logs"),
        ["lin,1,message,0,1"]
    );
    store.delete(&lin(), &[question.id]).await.unwrap();
    assert_eq!(rows("SELECT content FROM conversations"), ["（眨眼）"]);
}
