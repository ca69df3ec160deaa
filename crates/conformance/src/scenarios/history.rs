//! The history of records: former states, and texts that are not known any more.

use std::time::Duration;

use memory_engine_core::{
    Clock, Filter, Outcome, PutMode, Record, ScanQuery, State, Timestamp, Write,
    history::{Edit, FormerState, has_changed, recorded_by},
};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, id, lin, numbered, session},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Writes a changed record a minute later. Returns the time of the write.
async fn change(world: &World, record: &Record) -> Timestamp {
    world.clock.advance(MINUTE);
    world.put(&[record]).await;
    world.clock.now()
}

fn text_at(record: &Record, at: Timestamp) -> Option<String> {
    record.as_of(at).map(|record| record.text)
}

pub async fn a_change_of_the_state_is_kept_with_its_time(world: &World) {
    let record = numbered(&session("a"), 1);
    world.put(&[&record]).await;
    let mut revoked = record.clone();
    revoked.state = State::Revoked;
    let revoked_at = change(world, &revoked).await;
    let restored_at = change(world, &record).await;
    let mut important = record.clone();
    important.importance = 0.9;
    let last_change = change(world, &important).await;
    let stored = world.stored(&record).await.unwrap();
    assert!(stored.same_content(&important), "the history is no part of the content");
    let states = FormerState::all_of(&stored);
    let spans: Vec<_> = states.iter().map(|former| (former.state, former.since, former.until)).collect();
    let created_at = record.recorded_at;
    assert_eq!(
        spans,
        [(State::Active, created_at, revoked_at), (State::Revoked, revoked_at, restored_at)],
        "a change of another field is no change of the state"
    );
    let just_before = |at: Timestamp| at.before(Duration::from_micros(1));
    for (at, is_visible) in [
        (just_before(created_at), false),
        (created_at, true),
        (just_before(revoked_at), true),
        (revoked_at, false),
        (just_before(restored_at), false),
        (restored_at, true),
        (last_change, true),
    ] {
        assert_eq!(stored.as_of(at).is_some(), is_visible, "at {at}");
    }
}

pub async fn a_replaced_text_is_unknown_unless_it_is_kept(world: &World) {
    let first = numbered(&lin(), 1);
    world.put(&[&first]).await;
    let mut second = world.stored(&first).await.unwrap();
    world.clock.advance(MINUTE);
    let edited_at = world.clock.now();
    Edit::push_current_text(&mut second, edited_at, 50, Record::MAX_METADATA_BYTES);
    second.text = "第二个文本".into();
    world.put(&[&second]).await;
    let stored = world.stored(&first).await.unwrap();
    let before = edited_at.before(Duration::from_micros(1));
    assert_eq!(text_at(&stored, before).as_deref(), Some(first.text.as_str()));
    assert_eq!(text_at(&stored, edited_at).as_deref(), Some("第二个文本"));

    let mut third = first.clone();
    third.text = "the third text".into();
    let replaced_at = change(world, &third).await;
    let stored = world.stored(&first).await.unwrap();
    assert_eq!(text_at(&stored, replaced_at.before(Duration::from_micros(1))), None);
    assert_eq!(text_at(&stored, replaced_at).as_deref(), Some("the third text"));
    // A second write of the same content changes nothing.
    world.clock.advance(MINUTE);
    assert_eq!(world.put(&[&third]).await[0].outcome, Outcome::Unchanged);
    assert_eq!(world.stored(&first).await.unwrap(), stored);
}

pub async fn the_history_of_a_caller_is_only_kept_with_a_new_record(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let mut revoked = record.clone();
    revoked.state = State::Revoked;
    change(world, &revoked).await;
    let stored = world.stored(&record).await.unwrap();
    // An import of an export has the history of the exported record.
    let mut copy = stored.clone();
    copy.id = id(2);
    world.records.put(&lin(), vec![Write::new(copy.clone(), PutMode::Create)]).await.unwrap();
    let imported = world.stored(&copy).await.unwrap();
    assert_eq!(FormerState::all_of(&imported), FormerState::all_of(&stored));
    // A replacement cannot change it.
    copy.metadata.clear();
    copy.importance = 0.9;
    world.put(&[&copy]).await;
    let replaced = world.stored(&copy).await.unwrap();
    assert_eq!(FormerState::all_of(&replaced), FormerState::all_of(&stored));
}

pub async fn changed_records_can_be_listed(world: &World) {
    let records: Vec<Record> = (1..=4).map(|number| numbered(&lin(), number)).collect();
    for record in &records {
        world.put(&[record]).await;
    }
    let mut revoked = records[0].clone();
    revoked.state = State::Revoked;
    change(world, &revoked).await;
    change(world, &records[0]).await;
    let mut edited = records[1].clone();
    edited.text = "another text".into();
    change(world, &edited).await;
    let mut superseded = records[2].clone();
    superseded.state = State::Superseded;
    change(world, &superseded).await;
    let listed = async |filter: Filter| {
        let query = ScanQuery::oldest(LARGE_LIMIT).with_filter(filter);
        let page = world.records.scan(&lin(), &query).await.unwrap();
        page.records.into_iter().map(|record| record.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(has_changed()).await, [id(1), id(2), id(3)]);
    let last = records[3].recorded_at;
    assert_eq!(listed(recorded_by(last)).await.len(), 4);
    let earlier = last.before(Duration::from_micros(1));
    assert_eq!(listed(recorded_by(earlier).and(has_changed())).await.len(), {
        let is_earlier = |record: &&Record| record.recorded_at <= earlier;
        records[..3].iter().filter(is_earlier).count()
    });
}
