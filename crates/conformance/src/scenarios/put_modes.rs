//! The modes of a write to an existing record.

use memory_engine_core::{
    ErrorKind, Job, ManualClock, Outcome, PutMode, Record, Result, Role, State, Timestamp, Write, WriteResult,
};
use serde_json::json;

use crate::{
    World,
    given::{fails_with, id, lin, mo, numbered, session},
};

async fn put_one(world: &World, record: &Record, mode: PutMode) -> Result<WriteResult> {
    let write = Write { mode, ..Write::upsert(record.clone()) };
    Ok(world.records.put(&record.scope, vec![write]).await?.remove(0))
}

fn saying(record: &Record, text: &str) -> Record {
    let mut record = record.clone();
    record.text = text.into();
    record
}

pub async fn an_upsert_takes_the_place_and_keeps_the_time_of_the_first_recording(world: &World) {
    let first = numbered(&lin(), 1);
    world.put(&[&first]).await;
    let mut second = Record::new(lin(), first.kind.clone(), "anew", &ManualClock::new(Timestamp::from_micros(77)));
    (second.id, second.revision) = (first.id, 40);
    let written = put_one(world, &second, PutMode::Upsert).await.unwrap();
    assert_eq!((written.outcome, written.revision), (Outcome::Updated, 2));
    let stored = world.stored(&first).await.unwrap();
    assert!(stored.same_content(&second));
    assert_eq!((stored.revision, stored.recorded_at), (2, first.recorded_at));
}

pub async fn an_upsert_of_the_same_content_changes_nothing(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let mut again = record.clone();
    (again.recorded_at, again.revision) = (Timestamp::from_micros(5), 9);
    let written = put_one(world, &again, PutMode::Upsert).await.unwrap();
    assert_eq!((written.outcome, written.revision, written.pending), (Outcome::Unchanged, 1, vec![]));
    assert_eq!(world.stored(&record).await.unwrap().recorded_at, record.recorded_at);
}

pub async fn if_absent_writes_what_is_not_there_and_leaves_what_is(world: &World) {
    let record = numbered(&lin(), 1);
    assert_eq!(put_one(world, &record, PutMode::IfAbsent).await.unwrap().outcome, Outcome::Created);
    let written = put_one(world, &saying(&record, "other"), PutMode::IfAbsent).await.unwrap();
    assert_eq!((written.outcome, written.revision, written.pending), (Outcome::Unchanged, 1, vec![]));
    assert_eq!(world.stored(&record).await.unwrap().text, record.text);
}

pub async fn create_writes_what_is_not_there_and_conflicts_with_what_is(world: &World) {
    let record = numbered(&lin(), 1);
    assert_eq!(put_one(world, &record, PutMode::Create).await.unwrap().outcome, Outcome::Created);
    fails_with(ErrorKind::Conflict, put_one(world, &record, PutMode::Create).await);
    fails_with(ErrorKind::Conflict, put_one(world, &saying(&record, "other"), PutMode::Create).await);
    assert_eq!(world.stored(&record).await.unwrap().text, record.text);
}

pub async fn an_update_at_the_revision_that_was_read_succeeds_and_at_another_conflicts(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let second = put_one(world, &saying(&record, "second"), PutMode::Update { revision: 1 }).await.unwrap();
    assert_eq!((second.outcome, second.revision), (Outcome::Updated, 2));
    for revision in [0, 1, 3, u64::MAX] {
        fails_with(ErrorKind::Conflict, put_one(world, &saying(&record, "late"), PutMode::Update { revision }).await);
    }
    let same = put_one(world, &saying(&record, "second"), PutMode::Update { revision: 2 }).await.unwrap();
    assert_eq!((same.outcome, same.revision), (Outcome::Unchanged, 2));
    assert_eq!(world.stored(&record).await.unwrap().text, "second");
}

pub async fn an_update_of_what_is_not_there_is_not_found(world: &World) {
    let record = numbered(&lin(), 1);
    fails_with(ErrorKind::NotFound, put_one(world, &record, PutMode::Update { revision: 1 }).await);
    world.put(&[&record]).await;
    world.forget(&lin(), &[record.id]).await;
    fails_with(ErrorKind::NotFound, put_one(world, &record, PutMode::Update { revision: 1 }).await);
    assert!(world.all(&lin()).await.is_empty());
}

pub async fn the_later_write_of_a_batch_sees_what_the_earlier_did(world: &World) {
    let record = numbered(&lin(), 1);
    let write = |text: &str, mode| Write { mode, ..Write::upsert(saying(&record, text)) };
    let batch = vec![
        write("first", PutMode::Create),
        write("first", PutMode::Upsert),
        write("second", PutMode::Update { revision: 1 }),
        write("third", PutMode::IfAbsent),
        write("fourth", PutMode::Upsert),
    ];
    let written = world.records.put(&lin(), batch).await.unwrap();
    let told: Vec<_> = written.iter().map(|w| (w.outcome, w.revision)).collect();
    let (created, updated, unchanged) = (Outcome::Created, Outcome::Updated, Outcome::Unchanged);
    assert_eq!(told, [(created, 1), (unchanged, 1), (updated, 2), (unchanged, 2), (updated, 3)]);
    let stored = world.all(&lin()).await;
    assert_eq!((stored.len(), stored[0].text.as_str(), stored[0].revision), (1, "fourth", 3));
    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!(stats.backlog.get(&Job::Embedding), Some(&1), "it waits once, however often it was written");
}

pub async fn a_conflict_late_in_a_batch_undoes_the_earlier_writes(world: &World) {
    let there = numbered(&lin(), 1);
    world.put(&[&there]).await;
    let (new, changed) = (numbered(&lin(), 2), saying(&there, "changed"));
    let last = [
        (ErrorKind::Conflict, Write { mode: PutMode::Create, ..Write::upsert(new.clone()) }),
        (ErrorKind::Conflict, Write { mode: PutMode::Update { revision: 1 }, ..Write::upsert(saying(&there, "late")) }),
        (ErrorKind::NotFound, Write { mode: PutMode::Update { revision: 1 }, ..Write::upsert(numbered(&lin(), 3)) }),
    ];
    for (kind, last) in last {
        let batch = vec![Write::upsert(new.clone()), Write::upsert(changed.clone()), last];
        fails_with(kind, world.records.put(&lin(), batch).await);
        let stored = world.all(&lin()).await;
        assert_eq!((stored.len(), stored[0].text.as_str(), stored[0].revision), (1, there.text.as_str(), 1));
    }
    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!(stats.backlog.get(&Job::Embedding), Some(&1));
}

pub async fn a_record_cannot_move_to_another_address_of_its_user(world: &World) {
    let record = numbered(&session("a"), 1);
    world.put(&[&record]).await;
    let mut moved = record.clone();
    for address in [session("b"), lin(), session("a").with_branch("x").unwrap()] {
        moved.scope = address;
        for mode in [PutMode::Upsert, PutMode::Create, PutMode::Update { revision: 1 }] {
            fails_with(ErrorKind::Conflict, put_one(world, &moved, mode).await);
        }
    }
    assert_eq!(world.stored(&record).await.unwrap().revision, 1);
    moved.scope = mo();
    assert_eq!(put_one(world, &moved, PutMode::Create).await.unwrap().outcome, Outcome::Created);
}

pub async fn a_change_of_text_speaker_or_role_queues_the_record_again(world: &World) {
    let mut record = numbered(&lin(), 1);
    (record.role, record.speaker) = (Some(Role::USER), Some("user".into()));
    world.put(&[&record]).await;
    let changes: [fn(&mut Record); 3] =
        [|r| r.text.push('!'), |r| r.role = Some(Role::ASSISTANT), |r| r.speaker = Some("Kai".into())];
    for change in changes {
        change(&mut record);
        let mut pending = world.put(&[&record]).await.remove(0).pending;
        pending.sort();
        assert_eq!(pending, Job::INDEXING);
    }
}

pub async fn a_change_of_anything_else_updates_without_queueing(world: &World) {
    let mut record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let changes: [fn(&mut Record); 6] = [
        |r| drop(r.metadata.insert("mood".into(), json!("glad"))),
        |r| r.tags.push("btc".into()),
        |r| r.scene = Some("plot".into()),
        |r| r.importance = 0.75,
        |r| r.occurred_at = Timestamp::from_micros(-1),
        |r| r.derived_from.push(id(9)),
    ];
    for (change, revision) in changes.iter().zip(2..) {
        change(&mut record);
        let written = world.put(&[&record]).await.remove(0);
        assert_eq!((written.outcome, written.revision, written.pending), (Outcome::Updated, revision, vec![]));
    }
    assert!(world.stored(&record).await.unwrap().same_content(&record));
}

pub async fn a_record_that_is_not_active_is_kept_and_not_queued(world: &World) {
    for (state, number) in State::ALL.iter().zip(1..) {
        let mut record = numbered(&lin(), number);
        record.state = *state;
        let written = world.put(&[&record]).await.remove(0);
        assert_eq!(written.outcome, Outcome::Created);
        assert_eq!(written.pending.is_empty(), *state != State::Active, "{state}");
        assert_eq!(world.stored(&record).await.unwrap().state, *state);
    }
}
