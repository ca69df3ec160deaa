//! The modes of a write to an existing record.

use memory_engine_core::{
    BlockReason, ErrorKind, Job, ManualClock, Outcome, PutMode, Record, Result, Role, State, Timestamp, Trust, Write,
    WriteResult,
};
use serde_json::json;

use crate::{
    World,
    fixtures::{assert_error_kind, id, lin, mo, numbered, session},
};

async fn put_one(world: &World, record: &Record, mode: PutMode) -> Result<WriteResult> {
    let write = Write { mode, ..Write::upsert(record.clone()) };
    Ok(world.records.put(&record.scope, vec![write]).await?.remove(0))
}

fn with_text(record: &Record, text: &str) -> Record {
    let mut record = record.clone();
    record.text = text.into();
    record
}

pub async fn upsert_replaces_and_keeps_the_first_recorded_at(world: &World) {
    let first = numbered(&lin(), 1);
    world.put(&[&first]).await;
    let mut second =
        Record::new(lin(), first.kind.clone(), "a new text", &ManualClock::new(Timestamp::from_micros(77)));
    (second.id, second.revision) = (first.id, 40);
    let written = put_one(world, &second, PutMode::Upsert).await.unwrap();
    assert_eq!((written.outcome, written.revision), (Outcome::Updated, 2));
    let stored = world.stored(&first).await.unwrap();
    assert!(stored.same_content(&second));
    assert_eq!((stored.revision, stored.recorded_at), (2, first.recorded_at));
}

pub async fn an_identical_upsert_changes_nothing(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let mut again = record.clone();
    (again.recorded_at, again.revision) = (Timestamp::from_micros(5), 9);
    let written = put_one(world, &again, PutMode::Upsert).await.unwrap();
    assert_eq!((written.outcome, written.revision, written.pending), (Outcome::Unchanged, 1, vec![]));
    assert_eq!(world.stored(&record).await.unwrap().recorded_at, record.recorded_at);
}

pub async fn if_absent_keeps_an_existing_record(world: &World) {
    let record = numbered(&lin(), 1);
    assert_eq!(put_one(world, &record, PutMode::IfAbsent).await.unwrap().outcome, Outcome::Created);
    let written = put_one(world, &with_text(&record, "other"), PutMode::IfAbsent).await.unwrap();
    assert_eq!((written.outcome, written.revision, written.pending), (Outcome::Unchanged, 1, vec![]));
    assert_eq!(world.stored(&record).await.unwrap().text, record.text);
}

pub async fn a_replica_keeps_its_revision_and_history(world: &World) {
    let mut replica = numbered(&lin(), 1);
    (replica.revision, replica.trust) = (7, Trust::Import);
    replica.metadata.insert("former_states".into(), json!([]));
    let written = put_one(world, &replica, PutMode::Replica { replaces: 0 }).await.unwrap();
    assert_eq!((written.outcome, written.revision), (Outcome::Created, 7));
    assert_eq!(world.stored(&replica).await, Some(replica.clone()));
    // The same content with a higher revision, and another content with a lower one.
    replica.revision = 9;
    let written = put_one(world, &replica, PutMode::Replica { replaces: 7 }).await.unwrap();
    assert_eq!((written.outcome, written.revision), (Outcome::Updated, 9));
    let mut other = with_text(&replica, "another text");
    (other.revision, other.recorded_at) = (3, Timestamp::from_micros(4));
    assert_error_kind(ErrorKind::Conflict, put_one(world, &other, PutMode::Replica { replaces: 7 }).await);
    assert_error_kind(ErrorKind::Conflict, put_one(world, &other, PutMode::Replica { replaces: 0 }).await);
    let written = put_one(world, &other, PutMode::Replica { replaces: 9 }).await.unwrap();
    assert_eq!((written.outcome, written.revision), (Outcome::Updated, 10));
    other.revision = 10;
    assert_eq!(world.stored(&other).await, Some(other.clone()));
    let written = put_one(world, &other, PutMode::Replica { replaces: 10 }).await.unwrap();
    assert_eq!((written.outcome, written.revision), (Outcome::Unchanged, 10));
    // A tombstone blocks the id, and not the content of another replica.
    world.records.delete(&lin(), &[other.id]).await.unwrap();
    let written = put_one(world, &other, PutMode::Replica { replaces: 0 }).await.unwrap();
    assert_eq!(written.outcome, Outcome::Blocked(BlockReason::Id));
    let mut twin = other.clone();
    twin.id = numbered(&lin(), 2).id;
    let written = put_one(world, &twin, PutMode::IfAbsent).await.unwrap();
    assert_eq!(written.outcome, Outcome::Blocked(BlockReason::Content));
    let written = put_one(world, &twin, PutMode::Replica { replaces: 0 }).await.unwrap();
    assert_eq!(written.outcome, Outcome::Created);
    let missing = numbered(&lin(), 3);
    assert_error_kind(ErrorKind::NotFound, put_one(world, &missing, PutMode::Replica { replaces: 2 }).await);
}

pub async fn create_conflicts_with_an_existing_record(world: &World) {
    let record = numbered(&lin(), 1);
    assert_eq!(put_one(world, &record, PutMode::Create).await.unwrap().outcome, Outcome::Created);
    assert_error_kind(ErrorKind::Conflict, put_one(world, &record, PutMode::Create).await);
    assert_error_kind(ErrorKind::Conflict, put_one(world, &with_text(&record, "other"), PutMode::Create).await);
    assert_eq!(world.stored(&record).await.unwrap().text, record.text);
}

pub async fn an_update_needs_the_current_revision(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let second = put_one(world, &with_text(&record, "second"), PutMode::Update { revision: 1 }).await.unwrap();
    assert_eq!((second.outcome, second.revision), (Outcome::Updated, 2));
    for revision in [0, 1, 3, u64::MAX] {
        assert_error_kind(
            ErrorKind::Conflict,
            put_one(world, &with_text(&record, "late"), PutMode::Update { revision }).await,
        );
    }
    let same = put_one(world, &with_text(&record, "second"), PutMode::Update { revision: 2 }).await.unwrap();
    assert_eq!((same.outcome, same.revision), (Outcome::Unchanged, 2));
    assert_eq!(world.stored(&record).await.unwrap().text, "second");
}

pub async fn an_update_of_a_missing_record_is_not_found(world: &World) {
    let record = numbered(&lin(), 1);
    assert_error_kind(ErrorKind::NotFound, put_one(world, &record, PutMode::Update { revision: 1 }).await);
    world.put(&[&record]).await;
    world.forget(&lin(), &[record.id]).await;
    assert_error_kind(ErrorKind::NotFound, put_one(world, &record, PutMode::Update { revision: 1 }).await);
    assert!(world.all(&lin()).await.is_empty());
}

pub async fn later_writes_of_a_batch_see_earlier_ones(world: &World) {
    let record = numbered(&lin(), 1);
    let write = |text: &str, mode| Write { mode, ..Write::upsert(with_text(&record, text)) };
    let batch = vec![
        write("first", PutMode::Create),
        write("first", PutMode::Upsert),
        write("second", PutMode::Update { revision: 1 }),
        write("third", PutMode::IfAbsent),
        write("fourth", PutMode::Upsert),
    ];
    let written = world.records.put(&lin(), batch).await.unwrap();
    let results: Vec<_> = written.iter().map(|w| (w.outcome, w.revision)).collect();
    let (created, updated, unchanged) = (Outcome::Created, Outcome::Updated, Outcome::Unchanged);
    assert_eq!(results, [(created, 1), (unchanged, 1), (updated, 2), (unchanged, 2), (updated, 3)]);
    let stored = world.all(&lin()).await;
    assert_eq!((stored.len(), stored[0].text.as_str(), stored[0].revision), (1, "fourth", 3));
    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!(stats.queued.get(&Job::Embedding), Some(&1), "one job, although it was written several times");
}

pub async fn a_conflict_rolls_back_the_whole_batch(world: &World) {
    let existing = numbered(&lin(), 1);
    world.put(&[&existing]).await;
    let (new, changed) = (numbered(&lin(), 2), with_text(&existing, "changed"));
    let last = [
        (ErrorKind::Conflict, Write { mode: PutMode::Create, ..Write::upsert(new.clone()) }),
        (
            ErrorKind::Conflict,
            Write { mode: PutMode::Update { revision: 1 }, ..Write::upsert(with_text(&existing, "late")) },
        ),
        (ErrorKind::NotFound, Write { mode: PutMode::Update { revision: 1 }, ..Write::upsert(numbered(&lin(), 3)) }),
    ];
    for (kind, last) in last {
        let batch = vec![Write::upsert(new.clone()), Write::upsert(changed.clone()), last];
        assert_error_kind(kind, world.records.put(&lin(), batch).await);
        let stored = world.all(&lin()).await;
        assert_eq!((stored.len(), stored[0].text.as_str(), stored[0].revision), (1, existing.text.as_str(), 1));
    }
    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!(stats.queued.get(&Job::Embedding), Some(&1));
}

pub async fn a_record_cannot_move_to_another_address(world: &World) {
    let record = numbered(&session("a"), 1);
    world.put(&[&record]).await;
    let mut moved = record.clone();
    for address in [session("b"), lin(), session("a").with_branch("x").unwrap()] {
        moved.scope = address;
        for mode in [PutMode::Upsert, PutMode::Create, PutMode::Update { revision: 1 }] {
            assert_error_kind(ErrorKind::Conflict, put_one(world, &moved, mode).await);
        }
    }
    assert_eq!(world.stored(&record).await.unwrap().revision, 1);
    moved.scope = mo();
    assert_eq!(put_one(world, &moved, PutMode::Create).await.unwrap().outcome, Outcome::Created);
}

pub async fn a_new_text_speaker_or_role_requeues_the_record(world: &World) {
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

pub async fn other_changes_do_not_requeue_the_record(world: &World) {
    let mut record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let changes: [fn(&mut Record); 8] = [
        |r| drop(r.metadata.insert("mood".into(), json!("glad"))),
        |r| r.tags.push("btc".into()),
        |r| r.scene = Some("plot".into()),
        |r| r.importance = 0.75,
        |r| r.pinned = true,
        |r| r.expires_at = Some(Timestamp::from_micros(5)),
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

pub async fn an_inactive_record_is_stored_and_not_queued(world: &World) {
    for (state, number) in State::ALL.iter().zip(1..) {
        let mut record = numbered(&lin(), number);
        record.state = *state;
        let written = world.put(&[&record]).await.remove(0);
        assert_eq!(written.outcome, Outcome::Created);
        assert_eq!(written.pending.is_empty(), *state != State::Active, "{state}");
        assert_eq!(world.stored(&record).await.unwrap().state, *state);
    }
}
