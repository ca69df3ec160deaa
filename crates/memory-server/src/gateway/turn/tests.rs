#![allow(clippy::unwrap_used, reason = "a test may panic")]

use memory_engine::testing::ManualClock;

use super::*;

const AT: i64 = 1_771_400_000_000_000;

fn turn(user: &str, assistant: &str) -> ChatTurn {
    let address = Scope::user("lin").unwrap().with_session("s").unwrap();
    ChatTurn {
        address,
        key: TurnKey {
            key: "k".into(),
            follows: Some("f".into()),
            parent: Some("p".into()),
            history: Vec::new(),
            edited: None,
        },
        exchange: Exchange { user: user.into(), assistant: assistant.into() },
        previous: Some(Exchange { user: "a".into(), assistant: "b".into() }),
        scene: Some("daily".into()),
        model: Some("m".into()),
        injected: Vec::new(),
        session_scene: Some("daily".into()),
        partial_reason: None,
        asked_at: Timestamp::from_micros(AT),
        answered_at: None,
        clock: Arc::new(ManualClock::new(Timestamp::from_micros(AT + 5))),
        request_id: Some("r-1".into()),
    }
}

#[test]
fn a_new_turn_is_two_ordered_records() {
    let records = turn("你好", "早").records(StoredTurn::default(), 3);
    let [user, reply] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((user.source.round, user.source.sequence, reply.source.sequence), (Some(3), Some(5), Some(6)));
    assert!(user.position() < reply.position());
    assert_eq!((user.trust, reply.trust, user.scene.as_deref()), (Trust::User, Trust::Assistant, Some("daily")));
    assert_eq!(reply.metadata["model"], "m");
    assert!(records.iter().all(|record| record.metadata[REQUEST_ID] == "r-1"));
}

#[test]
fn a_new_reply_replaces_the_old_one_at_its_time() {
    let first = turn("你好", "早").records(StoredTurn::default(), 3);
    let stored = || StoredTurn { user: Some(first[0].clone()), reply: Some(first[1].clone()), ..StoredTurn::default() };
    assert_eq!(stored().round(), Some(3));
    assert!(turn("你好", "早").records(stored(), 3).is_empty());
    let mut later = turn("你好", "晚上好");
    later.asked_at = Timestamp::from_micros(AT + 1_000_000);
    let again = later.records(stored(), 3);
    let [reply] = again.as_slice() else { panic!("{again:?}") };
    assert_eq!((reply.id, reply.occurred_at, reply.text.as_str()), (first[1].id, first[1].occurred_at, "晚上好"));
}

#[test]
fn an_edited_previous_reply_is_updated() {
    let mut parent = turn("a", "another").records(StoredTurn::default(), 2).pop().unwrap();
    parent.metadata.insert("partial".into(), json!("client_gone"));
    let stored = StoredTurn { parent_reply: Some(parent.clone()), ..StoredTurn::default() };
    assert_eq!(stored.round(), Some(3));
    let records = turn("c", "d").records(stored, 3);
    assert_eq!((records.len(), records[0].id, records[0].text.as_str()), (3, parent.id, "b"));
    assert!(!records[0].metadata.contains_key("partial"));
}

#[test]
fn long_texts_are_truncated_and_empty_ones_skipped() {
    let long = "我".repeat(Record::MAX_TEXT_BYTES);
    let records = turn("", &long).records(StoredTurn::default(), 1);
    assert_eq!(records.len(), 1);
    records[0].validate().unwrap();
}
