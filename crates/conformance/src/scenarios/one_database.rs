//! Scenarios for a backend whose stores share a database. Other worlds pass without a check.

use std::sync::Arc;

use memory_engine_core::{ErrorKind, Field, Filter, Job, Record, RecordId, State, Tombstone, Write};
use memory_engine_keyword_store::KeywordEntry;
use memory_engine_vector_store::VectorEntry;
use serde_json::json;

use crate::{
    World,
    given::{at_angle, fails_with, find, id, lin, near, numbered, terms},
};

async fn remember(world: &World, record: &Record) {
    world.put(&[record]).await;
    world.index(record, terms(["x"])).await;
    world.embed(record, at_angle(0.1)).await;
}

async fn offer(world: &World, record: &Record) {
    let record = Arc::new(record.clone());
    let entry = KeywordEntry { record: Arc::clone(&record), terms: terms(["late"]) };
    world.keywords.upsert(&lin(), &[entry]).await.unwrap();
    world.vectors.upsert(&lin(), &[VectorEntry { record, embedding: at_angle(3.0) }]).await.unwrap();
}

async fn finds_nothing(world: &World) -> bool {
    world.found(&lin(), &["x", "late"]).await.is_empty() && world.nearest(&lin(), at_angle(0.0)).await.is_empty()
}

fn written(write: Record, words: [&str; 1]) -> Write {
    Write { terms: Some(terms(words)), ..Write::upsert(write) }
}

pub async fn deleting_a_record_takes_its_terms_and_its_vector_along(world: &World) {
    remember(world, &numbered(&lin(), 1)).await;
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    assert!(finds_nothing(world).await);
}

pub async fn burying_a_record_takes_its_terms_and_its_vector_along(world: &World) {
    let record = numbered(&lin(), 1);
    remember(world, &record).await;
    let tombstone = Tombstone::new(record.id, lin(), record.content_hash(), record.occurred_at);
    world.records.import_tombstones(&lin(), &[tombstone]).await.unwrap();
    assert!(finds_nothing(world).await);
}

pub async fn a_record_that_is_no_longer_active_leaves_the_indexes(world: &World) {
    let mut record = numbered(&lin(), 1);
    remember(world, &record).await;
    record.state = State::Superseded;
    world.put(&[&record]).await;
    assert!(finds_nothing(world).await);
}

pub async fn entries_of_records_that_are_gone_are_not_taken(world: &World) {
    let record = numbered(&lin(), 1);
    offer(world, &record).await;
    assert!(finds_nothing(world).await, "it was never there");
    remember(world, &record).await;
    let stored = world.stored(&record).await.unwrap();
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    offer(world, &stored).await;
    assert!(finds_nothing(world).await, "it was deleted");
}

pub async fn entries_of_records_that_are_not_active_are_not_taken(world: &World) {
    let mut record = numbered(&lin(), 1);
    record.state = State::Revoked;
    world.put(&[&record]).await;
    offer(world, &world.stored(&record).await.unwrap()).await;
    assert!(finds_nothing(world).await);
}

pub async fn entries_of_what_was_written_again_since_are_not_taken(world: &World) {
    let mut record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let before = world.stored(&record).await.unwrap();
    record.text.push('!');
    world.put(&[&record]).await;
    offer(world, &before).await;
    assert!(finds_nothing(world).await);
    offer(world, &world.stored(&record).await.unwrap()).await;
    assert_eq!(world.found(&lin(), &["late"]).await, [id(1)]);
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(1)]);
}

pub async fn an_entry_that_is_not_taken_does_not_keep_the_others_of_its_batch_away(world: &World) {
    world.put(&[&numbered(&lin(), 1), &numbered(&lin(), 3)]).await;
    let mut records: Vec<_> = [1, 2, 3].map(|n| numbered(&lin(), n)).to_vec();
    (records[0].revision, records[2].revision) = (1, 1);
    let (mut entries, mut vectors) = (Vec::new(), Vec::new());
    for record in records.into_iter().map(Arc::new) {
        entries.push(KeywordEntry { record: Arc::clone(&record), terms: terms(["x"]) });
        vectors.push(VectorEntry { record, embedding: at_angle(0.1) });
    }
    world.keywords.upsert(&lin(), &entries).await.unwrap();
    world.vectors.upsert(&lin(), &vectors).await.unwrap();
    assert_eq!(world.found(&lin(), &["x"]).await, [id(1), id(3)]);
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(1), id(3)]);
}

pub async fn terms_that_come_with_a_record_are_found_at_once(world: &World) {
    let put = async |record: &Record, word| {
        world.records.put(&lin(), vec![written(record.clone(), [word])]).await.unwrap().remove(0)
    };
    let mut record = numbered(&lin(), 1);
    assert_eq!(put(&record, "first").await.pending, [Job::Embedding]);
    assert_eq!(world.found(&lin(), &["first"]).await, [id(1)]);
    record.text.push('!');
    put(&record, "second").await;
    assert!(world.found(&lin(), &["first"]).await.is_empty());
    assert_eq!(world.found(&lin(), &["second"]).await, [id(1)]);
    assert!(world.jobs.claim(Job::Keywords, 9, std::time::Duration::ZERO).await.unwrap().is_empty());
}

pub async fn terms_of_a_batch_that_fails_are_not_kept(world: &World) {
    let mut bad = numbered(&lin(), 2);
    bad.text = String::new();
    let batch = vec![written(numbered(&lin(), 1), ["x"]), written(bad, ["x"])];
    fails_with(ErrorKind::InvalidInput, world.records.put(&lin(), batch).await);
    world.put(&[&numbered(&lin(), 1)]).await;
    assert!(finds_nothing(world).await);
}

pub async fn filters_see_the_record_as_it_is_now(world: &World) {
    let mut record = numbered(&lin(), 1);
    remember(world, &record).await;
    record.scene = Some("plot".into());
    record.metadata.insert("mood".into(), json!("glad"));
    world.put(&[&record]).await;
    for filter in [Filter::eq(Field::Scene, "plot"), Filter::eq(Field::Metadata("mood".into()), "glad")] {
        let words = find(&["x"]).with_filter(Some(filter.clone()));
        assert_eq!(world.keywords.search(&lin(), &words).await.unwrap().len(), 1, "{filter:?}");
        let vectors = near(at_angle(0.0)).with_filter(Some(filter.clone()));
        assert_eq!(world.vectors.search(&lin(), &vectors).await.unwrap().len(), 1, "{filter:?}");
    }
}

/// Returns the ids that both indexes find with a filter, ascending.
async fn found_with(world: &World, filter: &Filter) -> Vec<RecordId> {
    let words = find(&["x"]).with_filter(Some(filter.clone()));
    let vectors = near(at_angle(0.0)).with_filter(Some(filter.clone()));
    let hits =
        [world.keywords.search(&lin(), &words).await.unwrap(), world.vectors.search(&lin(), &vectors).await.unwrap()];
    let [by_words, by_vectors] = hits.map(|hits| {
        let mut ids: Vec<RecordId> = hits.iter().map(|hit| hit.id).collect();
        ids.sort();
        ids
    });
    assert_eq!(by_words, by_vectors, "{filter:?}");
    by_words
}

pub async fn a_filter_that_was_used_before_sees_later_writes(world: &World) {
    let room = Field::Metadata("room".into());
    let filter = Filter::eq(room, 3);
    let opposite = !filter.clone();
    let found = async || [found_with(world, &filter).await, found_with(world, &opposite).await];
    let mut records = [1, 2, 3].map(|number| numbered(&lin(), number));
    for (record, room) in records.iter_mut().zip([3, 4, 4]) {
        record.metadata.insert("room".into(), json!(room));
        remember(world, record).await;
    }
    assert_eq!(found().await, [vec![id(1)], vec![id(2), id(3)]]);

    // The text is the same, so that terms and vectors stay as they are.
    records[1].metadata.insert("room".into(), json!(3));
    world.put(&[&records[1]]).await;
    assert_eq!(found().await, [vec![id(1), id(2)], vec![id(3)]], "other metadata");

    records[0].state = State::Superseded;
    world.put(&[&records[0]]).await;
    assert_eq!(found().await, [vec![id(2)], vec![id(3)]], "no longer active");

    world.records.delete(&lin(), &[id(3)]).await.unwrap();
    assert_eq!(found().await, [vec![id(2)], vec![]], "deleted");

    let mut new = numbered(&lin(), 4);
    new.metadata.insert("room".into(), json!(3));
    remember(world, &new).await;
    assert_eq!(found().await, [vec![id(2), id(4)], vec![]], "a new record");
}
