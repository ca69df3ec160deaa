//! Records that wait for a review: stored, and in no index.

use memory_engine_core::{
    Field, Filter, Job, Kind, Outcome, Record, RecordGroup, RecordId, ScanQuery, State, Write, review_keys,
};
use serde_json::json;

use crate::{
    World,
    fixtures::{LARGE_LIMIT, at_angle, id, lin, mo, numbered, session, terms},
};

/// Returns a record that waits for a review.
fn pending(mut record: Record) -> Record {
    record.state = State::Pending;
    record.metadata.insert(review_keys::SOURCE.into(), json!("imports"));
    record
}

async fn scanned(world: &World, filter: Filter) -> Vec<RecordId> {
    let query = ScanQuery::oldest(LARGE_LIMIT).with_filter(filter);
    world.records.scan(&lin(), &query).await.unwrap().records.iter().map(|record| record.id).collect()
}

async fn is_in_an_index(world: &World) -> bool {
    !world.found(&lin(), &["word"]).await.is_empty() || !world.nearest(&lin(), at_angle(0.0)).await.is_empty()
}

pub async fn pending_records_are_stored_and_in_no_index(world: &World) {
    let record = pending(numbered(&session("a"), 1));
    let write = Write { terms: Some(terms(["word"])), jobs: vec![Job::Facts], ..Write::upsert(record.clone()) };
    let written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
    assert_eq!((written.outcome, written.pending), (Outcome::Created, Vec::new()));
    if world.one_database {
        // Separate indexes contain what an engine writes to them, and it writes no pending records.
        world.index(&record, terms(["word"])).await;
        world.embed(&record, at_angle(0.0)).await;
    }
    assert!(!is_in_an_index(world).await);
    assert_eq!(world.stored(&record).await.unwrap().state, State::Pending);
    assert_eq!(world.all(&lin()).await.len(), 1);
    assert_eq!(world.jobs.requeue(&lin(), Job::Embedding).await.unwrap(), 0);
}

pub async fn pending_records_can_be_listed_and_counted(world: &World) {
    let mut records: Vec<Record> = (1..=4).map(|number| numbered(&session("a"), number)).collect();
    records[1] = pending(records[1].clone());
    records[2] = pending(records[2].clone());
    records[2].metadata.insert(review_keys::SOURCE.into(), json!("summaries"));
    records[2].kind = Kind::SUMMARY;
    world.put(&records.iter().collect::<Vec<_>>()).await;
    world.put(&[&pending(numbered(&mo(), 5))]).await;
    let waiting = Filter::eq(Field::State, State::Pending.as_str());
    assert_eq!(scanned(world, waiting.clone()).await, [2, 3].map(id));
    let of_source = Filter::eq(Field::Metadata(review_keys::SOURCE.into()), "imports");
    assert_eq!(scanned(world, waiting.clone().and(of_source)).await, [id(2)]);
    let of_kind = Filter::eq(Field::Kind, Kind::SUMMARY.as_str());
    assert_eq!(scanned(world, waiting.and(of_kind)).await, [id(3)]);
    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!((stats.records, stats.states.get("pending")), (4, Some(&2)));
    let groups = world.records.record_groups(&lin()).await.unwrap();
    let waiting: Vec<&RecordGroup> = groups.iter().filter(|group| group.state == State::Pending).collect();
    assert_eq!(waiting.iter().map(|group| group.records).collect::<Vec<_>>(), [1, 1]);
}

pub async fn an_accepted_record_gets_terms_and_jobs(world: &World) {
    let mut record = pending(numbered(&lin(), 1));
    world.put(&[&record]).await;
    record.state = State::Active;
    let write = Write { jobs: vec![Job::Facts], ..Write::upsert(record.clone()) };
    let written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
    assert_eq!(written.outcome, Outcome::Updated);
    assert!(written.pending.contains(&Job::Embedding) && written.pending.contains(&Job::Facts), "{written:?}");
    world.index(&record, terms(["word"])).await;
    world.embed(&record, at_angle(0.0)).await;
    assert_eq!(world.found(&lin(), &["word"]).await, [id(1)]);
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(1)]);
}

pub async fn a_record_that_waits_again_leaves_the_indexes(world: &World) {
    let record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    world.index(&record, terms(["word"])).await;
    world.embed(&record, at_angle(0.0)).await;
    assert!(is_in_an_index(world).await);
    world.put(&[&pending(record)]).await;
    if !world.one_database {
        world.keywords.delete(&lin(), &[id(1)]).await.unwrap();
        world.vectors.delete(&lin(), &[id(1)]).await.unwrap();
    }
    assert!(!is_in_an_index(world).await);
}

pub async fn pending_records_are_deleted_with_their_source(world: &World) {
    let source = numbered(&lin(), 1);
    let mut derived = pending(numbered(&session("a"), 2));
    derived.derived_from = vec![source.id];
    world.put(&[&source, &derived]).await;
    let deleted = world.forget(&lin(), &[source.id]).await;
    assert_eq!(deleted, [1, 2].map(id));
    assert_eq!(world.stored(&derived).await, None);
}
