use super::*;
use crate::{
    scope::Scope,
    store::{Decision, PutMode},
    time::ManualClock,
};

fn time(minute: i64) -> Timestamp {
    Timestamp::from_micros(minute * 60_000_000)
}

fn record(text: &str, minute: i64) -> Record {
    Record::new(Scope::user("lin").unwrap(), Kind::NOTE, text, &ManualClock::new(time(minute)))
}

/// Returns the record that is stored after a change at this minute.
fn changed(old: &Record, minute: i64, change: impl FnOnce(&mut Record)) -> Record {
    let mut new = old.clone();
    change(&mut new);
    match Decision::of(PutMode::Upsert, new, Some(old), time(minute)).unwrap() {
        Decision::Replace { record, .. } => *record,
        decision @ (Decision::Keep(_) | Decision::Insert(_)) => panic!("{decision:?}"),
    }
}

fn text_at(record: &Record, minute: i64) -> Option<String> {
    record.as_of(time(minute)).map(|record| record.text)
}

#[test]
fn a_record_exists_from_the_time_at_which_it_was_recorded() {
    let stored = record("住在波尔图", 10);
    assert_eq!(text_at(&stored, 9), None);
    assert_eq!(stored.as_of(time(10)), Some(stored.clone()));
    assert!(!stored.has_changed());
}

#[test]
fn every_state_between_two_changes_is_known() {
    let stored = record("I live in Porto", 10);
    let retracted = changed(&stored, 20, |record| {
        record.state = State::Revoked;
        record.metadata.insert("retraction".into(), json!("id"));
    });
    let restored = changed(&retracted, 30, |record| {
        record.state = State::Active;
        record.metadata.remove("retraction");
    });
    let superseded = changed(&restored, 40, |record| {
        record.state = State::Superseded;
        record.valid_until = Some(time(40));
        record.metadata.insert("superseded_by".into(), json!("id"));
    });
    for (minute, is_visible) in [(10, true), (19, true), (20, false), (29, false), (30, true), (39, true), (40, false)]
    {
        assert_eq!(superseded.as_of(time(minute)).is_some(), is_visible, "minute {minute}");
    }
    let then = superseded.as_of(time(19)).unwrap();
    assert_eq!(Record { revision: then.revision, ..stored }, then);
    assert!(superseded.has_changed());
    assert!(has_changed().matches(&superseded) && has_changed().matches(&restored));
    assert!(!has_changed().matches(&record("x", 1)));
}

#[test]
fn a_superseded_record_holds_until_its_validity_ends() {
    let stored = record("The user lives in Porto.", 10);
    // Said at minute 20: a move at minute 50.
    let superseded = changed(&stored, 20, |record| {
        record.state = State::Superseded;
        record.valid_until = Some(time(50));
    });
    assert_eq!(superseded.as_of(time(49)).unwrap().valid_until, Some(time(50)));
    assert_eq!(superseded.as_of(time(50)), None);
    let merged = changed(&stored, 20, |record| {
        record.state = State::Superseded;
        record.valid_until = Some(time(50));
        record.metadata.insert(MERGED_INTO.into(), json!("id"));
    });
    let reopened = changed(&merged, 30, |record| {
        record.state = State::Active;
        record.valid_until = Some(time(50));
        record.metadata.remove(MERGED_INTO);
    });
    assert_eq!((text_at(&merged, 25), text_at(&reopened, 25)), (None, None));
    assert!(text_at(&reopened, 30).is_some());
}

#[test]
fn validity_includes_its_start_but_not_its_end_and_plans_are_known_before() {
    let mut stored = record("The user lives in Lisbon.", 10);
    stored.valid_from = Some(time(20));
    stored.valid_until = Some(time(30));
    assert_eq!((text_at(&stored, 19), text_at(&stored, 30)), (None, None));
    assert!(text_at(&stored, 20).is_some());
    stored.kind = Kind::FACT;
    stored.metadata.insert("slot".into(), json!("plan.dentist"));
    assert!(text_at(&stored, 19).is_some());
}

#[test]
fn a_text_that_was_kept_is_that_of_the_time_and_one_that_was_not_is_unknown() {
    let stored = record("钥匙在垫子下面", 10);
    let edited = changed(&stored, 20, |record| {
        Edit::push_current_text(record, time(20), 50, 1 << 16);
        record.text = "钥匙在小莫那里".into();
    });
    assert_eq!(text_at(&edited, 19).as_deref(), Some("钥匙在垫子下面"));
    assert_eq!(edited.as_of(time(19)), Some(Record { revision: edited.revision, ..stored.clone() }));
    assert_eq!(text_at(&edited, 20).as_deref(), Some("钥匙在小莫那里"));
    // A caller that replaces the record without the former texts.
    let replaced = changed(&edited, 30, |record| {
        record.text = "钥匙丢了".into();
        record.metadata.clear();
    });
    assert_eq!((text_at(&replaced, 19), text_at(&replaced, 29)), (None, None));
    assert_eq!(text_at(&replaced, 30).as_deref(), Some("钥匙丢了"));
    // The same text without the former texts.
    let stripped = changed(&edited, 30, |record| _ = record.metadata.remove(EDITS));
    assert_eq!(text_at(&stripped, 19), None);
    assert!(text_at(&stripped, 20).is_some());
}

#[test]
fn dropped_edits_and_states_are_unknown() {
    let mut stored = record("text 0", 0);
    for minute in 1..=60 {
        stored = changed(&stored, minute, |record| {
            Edit::push_current_text(record, time(minute), 3, 1 << 16);
            record.text = format!("text {minute}");
        });
    }
    assert_eq!((text_at(&stored, 56), text_at(&stored, 57)), (None, Some("text 57".into())));
    let mut stored = record("text", 0);
    for minute in 1..=60 {
        let state = if minute % 2 == 0 { State::Active } else { State::Revoked };
        stored = changed(&stored, minute, |record| record.state = state);
    }
    assert_eq!((text_at(&stored, 8), text_at(&stored, 12).is_some()), (None, true));
    assert_eq!(text_at(&stored, 11), None);
}

#[test]
fn a_caller_cannot_change_the_history() {
    let stored = record("I live in Porto", 10);
    let retracted = changed(&stored, 20, |record| record.state = State::Revoked);
    let forged = changed(&retracted, 30, |record| {
        record.metadata.insert(FORMER_STATES.into(), json!([]));
        record.metadata.insert(TEXT_KNOWN_SINCE.into(), json!(time(25)));
        record.importance = 0.9;
    });
    assert_eq!(FormerState::all_of(&forged).len(), 1);
    assert!(text_at(&forged, 15).is_some());
    // The history is not a change of the content.
    let mut same = retracted.clone();
    same.metadata.clear();
    let decision = Decision::of(PutMode::Upsert, same, Some(&retracted), time(40)).unwrap();
    assert!(matches!(decision, Decision::Keep(_)), "{decision:?}");
}
