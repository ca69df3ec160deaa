//! Scenarios for a backend whose stores share a database. The runner ignores them for other backends.

use std::sync::Arc;

use memory_engine_core::{
    CodeBits, ErrorKind, Field, Filter, FoundRecord, Job, MultiVector, PackedTerms, Record, RecordId, Scope, State,
    Tombstone, Write,
};
use memory_engine_keyword_store::KeywordEntry;
use memory_engine_vector_store::VectorEntry;
use serde_json::json;

use crate::{
    World,
    fixtures::{assert_error_kind, at_angle, find, id, lin, mo, near, numbered, session, terms},
    reference::records_equal_hits,
};

async fn put_and_index(world: &World, record: &Record) {
    world.put(&[record]).await;
    world.index(record, terms(["x"])).await;
    world.embed(record, at_angle(0.1)).await;
}

async fn index_late(world: &World, record: &Record) {
    let record = Arc::new(record.clone());
    let entry = KeywordEntry { record: Arc::clone(&record), terms: terms(["late"]) };
    world.keywords.upsert(&lin(), &[entry]).await.unwrap();
    world.vectors.upsert(&lin(), &[VectorEntry::new(record, at_angle(3.0))]).await.unwrap();
}

async fn is_index_empty(world: &World) -> bool {
    world.found(&lin(), &["x", "late"]).await.is_empty() && world.nearest(&lin(), at_angle(0.0)).await.is_empty()
}

fn write_with_terms(record: Record, words: [&str; 1]) -> Write {
    Write { terms: Some(terms(words)), ..Write::upsert(record) }
}

pub async fn deleting_a_record_deletes_its_terms_and_vector(world: &World) {
    put_and_index(world, &numbered(&lin(), 1)).await;
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    assert!(is_index_empty(world).await);
}

pub async fn an_imported_tombstone_deletes_terms_and_vector(world: &World) {
    let record = numbered(&lin(), 1);
    put_and_index(world, &record).await;
    let tombstone = Tombstone::new(record.id, lin(), record.content_hash(), record.occurred_at);
    world.records.import_tombstones(&lin(), &[tombstone]).await.unwrap();
    assert!(is_index_empty(world).await);
}

pub async fn an_inactive_record_leaves_the_indexes(world: &World) {
    let mut record = numbered(&lin(), 1);
    put_and_index(world, &record).await;
    record.state = State::Superseded;
    world.put(&[&record]).await;
    assert!(is_index_empty(world).await);
}

pub async fn entries_of_missing_records_are_ignored(world: &World) {
    let record = numbered(&lin(), 1);
    index_late(world, &record).await;
    assert!(is_index_empty(world).await, "the record never existed");
    put_and_index(world, &record).await;
    let stored = world.stored(&record).await.unwrap();
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    index_late(world, &stored).await;
    assert!(is_index_empty(world).await, "the record was deleted");
}

pub async fn entries_of_inactive_records_are_ignored(world: &World) {
    let mut record = numbered(&lin(), 1);
    record.state = State::Revoked;
    world.put(&[&record]).await;
    index_late(world, &world.stored(&record).await.unwrap()).await;
    assert!(is_index_empty(world).await);
}

pub async fn entries_of_old_revisions_are_ignored(world: &World) {
    let mut record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    let before = world.stored(&record).await.unwrap();
    record.text.push('!');
    world.put(&[&record]).await;
    index_late(world, &before).await;
    assert!(is_index_empty(world).await);
    index_late(world, &world.stored(&record).await.unwrap()).await;
    assert_eq!(world.found(&lin(), &["late"]).await, [id(1)]);
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(1)]);
}

pub async fn an_ignored_entry_does_not_reject_its_batch(world: &World) {
    world.put(&[&numbered(&lin(), 1), &numbered(&lin(), 3)]).await;
    let mut records: Vec<_> = [1, 2, 3].map(|n| numbered(&lin(), n)).to_vec();
    (records[0].revision, records[2].revision) = (1, 1);
    let (mut entries, mut vectors) = (Vec::new(), Vec::new());
    for record in records.into_iter().map(Arc::new) {
        entries.push(KeywordEntry { record: Arc::clone(&record), terms: terms(["x"]) });
        vectors.push(VectorEntry::new(record, at_angle(0.1)));
    }
    world.keywords.upsert(&lin(), &entries).await.unwrap();
    world.vectors.upsert(&lin(), &vectors).await.unwrap();
    assert_eq!(world.found(&lin(), &["x"]).await, [id(1), id(3)]);
    assert_eq!(world.nearest(&lin(), at_angle(0.0)).await, [id(1), id(3)]);
}

pub async fn terms_in_a_write_are_found_at_once(world: &World) {
    let put = async |record: &Record, word| {
        world.records.put(&lin(), vec![write_with_terms(record.clone(), [word])]).await.unwrap().remove(0)
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

pub async fn terms_of_a_failed_batch_are_not_stored(world: &World) {
    let mut bad = numbered(&lin(), 2);
    bad.text = String::new();
    let batch = vec![write_with_terms(numbered(&lin(), 1), ["x"]), write_with_terms(bad, ["x"])];
    assert_error_kind(ErrorKind::InvalidInput, world.records.put(&lin(), batch).await);
    world.put(&[&numbered(&lin(), 1)]).await;
    assert!(is_index_empty(world).await);
}

pub async fn a_search_can_return_records_with_terms(world: &World) {
    for (scope, number) in [(session("a"), 1), (lin(), 2), (mo(), 3)] {
        put_and_index(world, &numbered(&scope, number)).await;
    }
    let vector_only = numbered(&lin(), 4);
    world.put(&[&vector_only]).await;
    world.embed(&vector_only, at_angle(0.2)).await;
    let found_numbers = |found: &[FoundRecord]| found.iter().map(|found| found.record.record.id).collect::<Vec<_>>();
    for (scope, with_terms) in [(lin(), vec![id(1), id(2)]), (session("a"), vec![id(1)]), (mo(), vec![id(3)])] {
        let words = find(&["x"]);
        let found = world.keywords.search_records(&scope, &words).await.unwrap();
        assert_eq!(found_numbers(&found.clone().unwrap()), with_terms);
        let hits = world.keywords.search(&scope, &words).await.unwrap();
        records_equal_hits(world, found, &hits).await.unwrap();
        let nearest = near(at_angle(0.1));
        let found = world.vectors.search_records(&scope, &nearest).await.unwrap();
        let with_vectors = if scope == lin() { [with_terms, vec![id(4)]].concat() } else { with_terms };
        assert_eq!(found_numbers(&found.clone().unwrap()), with_vectors);
        let hits = world.vectors.search(&scope, &nearest).await.unwrap();
        records_equal_hits(world, found, &hits).await.unwrap();
    }
    let ids = [id(4), id(9), id(1), id(3), id(2)];
    let found = world.keywords.records_with_terms(&lin(), &ids).await.unwrap().unwrap();
    let records: Vec<Option<Record>> = found.iter().map(|found| Some(found.as_ref()?.record.clone())).collect();
    assert_eq!(records, world.records.get(&lin(), &ids).await.unwrap());
    let terms: Vec<Option<PackedTerms>> = found.into_iter().map(|found| found?.terms).collect();
    assert_eq!(terms, world.keywords.terms(&lin(), &ids).await.unwrap());
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    let found = world.keywords.search_records(&lin(), &find(&["x"])).await.unwrap().unwrap();
    assert_eq!(found_numbers(&found), [id(2)]);
}

pub async fn filters_see_the_current_record(world: &World) {
    let mut record = numbered(&lin(), 1);
    put_and_index(world, &record).await;
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

pub async fn a_reused_filter_sees_later_writes(world: &World) {
    let room = Field::Metadata("room".into());
    let filter = Filter::eq(room, 3);
    let opposite = !filter.clone();
    let found = async || [found_with(world, &filter).await, found_with(world, &opposite).await];
    let mut records = [1, 2, 3].map(|number| numbered(&lin(), number));
    for (record, room) in records.iter_mut().zip([3, 4, 4]) {
        record.metadata.insert("room".into(), json!(room));
        put_and_index(world, record).await;
    }
    assert_eq!(found().await, [vec![id(1)], vec![id(2), id(3)]]);

    // The text is unchanged, so terms and vectors are too.
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
    put_and_index(world, &new).await;
    assert_eq!(found().await, [vec![id(2), id(4)], vec![]], "a new record");
}

/// Token vectors that differ between numbers.
fn tokens(number: u8) -> MultiVector {
    let tokens = [(u32::from(number), 1.0), (7, 0.5)];
    MultiVector::quantize(CodeBits::Four, 2, &[0.6, -0.8, 0.0, 1.0], &tokens, 1).unwrap()
}

async fn embed_with_tokens(world: &World, record: &Record, tokens: Option<MultiVector>) {
    let stored = Arc::new(world.stored(record).await.unwrap());
    let entry = VectorEntry::new(stored, at_angle(0.1)).with_tokens(tokens);
    world.vectors.upsert(&record.scope.clone(), &[entry]).await.unwrap();
}

pub async fn token_vectors_are_stored_with_the_vector(world: &World) {
    let [first, second, third] = [numbered(&session("a"), 1), numbered(&session("b"), 2), numbered(&mo(), 3)];
    world.put(&[&first, &second]).await;
    world.put(&[&third]).await;
    for (record, number) in [(&first, 1), (&second, 2), (&third, 3)] {
        embed_with_tokens(world, record, Some(tokens(number))).await;
    }
    let read = async |scope: Scope, numbers: &[u8]| {
        let ids: Vec<RecordId> = numbers.iter().map(|number| id(*number)).collect();
        world.vectors.token_vectors(&scope, &ids).await.unwrap()
    };
    assert_eq!(read(lin(), &[2, 9, 1, 3]).await, [Some(tokens(2)), None, Some(tokens(1)), None]);
    assert_eq!(read(session("a"), &[1, 2]).await, [Some(tokens(1)), None], "another session is outside of the scope");
    assert!(read(lin(), &[]).await.is_empty());

    embed_with_tokens(world, &first, Some(tokens(5))).await;
    assert_eq!(read(lin(), &[1]).await, [Some(tokens(5))], "the newer ones replace the older ones");
    embed_with_tokens(world, &first, None).await;
    assert_eq!(read(lin(), &[1]).await, [None], "a vector without tokens replaces one with tokens");

    world.records.delete(&lin(), &[id(2)]).await.unwrap();
    assert_eq!(read(lin(), &[2]).await, [None]);
    world.vectors.delete(&mo(), &[id(3)]).await.unwrap();
    assert_eq!(read(mo(), &[3]).await, [None]);
}
