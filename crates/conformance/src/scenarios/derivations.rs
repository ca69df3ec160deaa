//! Derivations of records, and their deletion with their sources.

use memory_engine_core::{
    Basis, BlockReason, DeletionReport, ErrorKind, Job, Kind, Outcome, PutMode, Record, RecordId, RemovalCounts, Scope,
    State, Tombstone, Trust, Write,
};
use serde_json::json;

use crate::{
    World,
    fixtures::{LARGE_LIMIT, assert_error_kind, id, lin, mo, numbered, session, terms},
};

/// A record derived from others.
fn derived_record(address: &Scope, number: u8, kind: Kind, from: &[u8]) -> Record {
    let mut record = numbered(address, number);
    (record.kind, record.trust) = (kind, Trust::Derived);
    record.derived_from = from.iter().map(|number| id(*number)).collect();
    record
}

async fn ids_in(world: &World, scope: &Scope) -> Vec<RecordId> {
    world.all(scope).await.into_iter().map(|record| record.id).collect()
}

async fn tombstones(world: &World, scope: &Scope) -> Vec<Tombstone> {
    world.records.tombstones(scope, None, LARGE_LIMIT).await.unwrap()
}

async fn queued(world: &World, job: Job) -> Vec<RecordId> {
    let pending = world.jobs.claim(job, LARGE_LIMIT, std::time::Duration::ZERO).await.unwrap();
    pending.into_iter().map(|pending| pending.record.id).collect()
}

/// Writes two turns (1, 2), a summary of both (3), a fact from the first (4), a profile of the user from the summary
/// (5), and an unrelated turn (6).
async fn put_family(world: &World) {
    let (a, user) = (session("a"), lin());
    world.put(&[&numbered(&a, 1), &numbered(&a, 2)]).await;
    world.put(&[&derived_record(&a, 3, Kind::SUMMARY, &[1, 2]), &derived_record(&a, 4, Kind::FACT, &[1])]).await;
    world.put(&[&derived_record(&user, 5, Kind::PROFILE, &[3]), &numbered(&a, 6)]).await;
}

pub async fn derived_lists_direct_and_indirect_derivations(world: &World) {
    put_family(world).await;
    let derived = async |scope: &Scope, numbers: &[u8]| {
        let ids: Vec<_> = numbers.iter().map(|number| id(*number)).collect();
        world.records.derived(scope, &ids).await.unwrap()
    };
    assert_eq!(derived(&lin(), &[1]).await, [3, 4, 5].map(id));
    assert_eq!(derived(&lin(), &[2, 3]).await, [3, 5].map(id), "each id once, in ascending order");
    assert_eq!(derived(&session("a"), &[1]).await, [3, 4].map(id), "records outside the scope are not listed");
    assert_eq!(derived(&session("b"), &[1]).await, []);
    assert_eq!(derived(&mo(), &[1]).await, []);
    assert_eq!(derived(&lin(), &[6, 99]).await, []);
    assert_eq!(derived(&lin(), &[]).await, []);
}

pub async fn sources_may_be_missing_and_may_change(world: &World) {
    let mut record = derived_record(&lin(), 2, Kind::FACT, &[1, 1]);
    world.put(&[&record]).await;
    world.put(&[&numbered(&lin(), 1), &numbered(&lin(), 3)]).await;
    assert_eq!(world.records.derived(&lin(), &[id(1)]).await.unwrap(), [id(2)]);
    record.derived_from = vec![id(3)];
    world.put(&[&record]).await;
    assert_eq!(world.records.derived(&lin(), &[id(1)]).await.unwrap(), []);
    assert_eq!(world.records.derived(&lin(), &[id(3)]).await.unwrap(), [id(2)]);
}

pub async fn deleting_a_source_deletes_its_derivations(world: &World) {
    put_family(world).await;
    let deleted = world.records.delete(&session("a"), &[id(2), id(99)]).await.unwrap().ids;
    assert_eq!(deleted, [2, 3, 5].map(id), "the requested record, then its derivations at any address");
    assert_eq!(ids_in(world, &lin()).await, [1, 4, 6].map(id));
    let cascade_deleted: Vec<_> =
        tombstones(world, &lin()).await.into_iter().map(|t| (t.id, t.cascade_deleted)).collect();
    assert_eq!(cascade_deleted, [(id(2), false), (id(3), true), (id(5), true)]);
    assert_eq!(world.records.delete(&lin(), &[id(4), id(1)]).await.unwrap().ids, [4, 1].map(id));
    let last = tombstones(world, &lin()).await.into_iter().find(|t| t.id == id(4)).unwrap();
    assert!(!last.cascade_deleted, "it was requested, not cascade-deleted");
    assert_eq!(world.records.derived(&lin(), &[1, 2, 3].map(id)).await.unwrap(), []);
}

pub async fn deleting_several_sources_counts_each_record_once(world: &World) {
    let a = session("a");
    world.put(&[&numbered(&a, 1), &numbered(&a, 2), &numbered(&a, 3)]).await;
    world.put(&[&derived_record(&a, 4, Kind::SUMMARY, &[1, 2]), &derived_record(&a, 5, Kind::FACT, &[1, 2, 3])]).await;
    world.put(&[&derived_record(&lin(), 6, Kind::PROFILE, &[4]), &derived_record(&a, 7, Kind::FACT, &[5, 3])]).await;
    let queue_length = async || world.records.stats(&lin()).await.unwrap().queued.values().sum::<u64>();
    let before = queue_length().await;
    let DeletionReport { ids, removed } = world.records.delete(&lin(), &[2, 4, 1, 2].map(id)).await.unwrap();
    assert_eq!(ids, [2, 4, 1, 5, 6, 7].map(id), "the requested records in order, then their derivations");
    let mut expected = RemovalCounts::default();
    expected.records =
        [("fact", 2), ("profile", 1), ("summary", 1), ("turn", 2)].map(|(k, n)| (k.to_owned(), n)).into();
    (expected.cascade_deleted, expected.tombstones) = (3, 6);
    // Only the remaining turn is queued again. Sources that the same call deletes are not queued first.
    assert_eq!(queued(world, Job::Facts).await, [id(3)]);
    assert_eq!(queued(world, Job::Summary).await, []);
    expected.queued = before - (queue_length().await - 1);
    assert_eq!(removed, expected);
}

pub async fn an_imported_tombstone_deletes_derivations(world: &World) {
    put_family(world).await;
    let record = numbered(&session("a"), 2);
    let tombstone = Tombstone::new(record.id, record.scope.clone(), record.content_hash(), record.occurred_at);
    assert_eq!(
        world.records.import_tombstones(&lin(), &[tombstone]).await.unwrap(),
        1,
        "only imported tombstones count"
    );
    assert_eq!(ids_in(world, &lin()).await, [1, 4, 6].map(id));
}

pub async fn replacing_a_text_deletes_its_derivations(world: &World) {
    put_family(world).await;
    let mut turn = numbered(&session("a"), 2);
    turn.metadata.insert("mood".into(), json!("glad"));
    assert_eq!(world.put(&[&turn]).await[0].cascade_deleted, [], "the text is the same");
    turn.text = "MESSAGE  2".into();
    assert_eq!(world.put(&[&turn]).await[0].cascade_deleted, [], "the normalised text is the same");
    turn.text = "something else".into();
    assert_eq!(world.put(&[&turn]).await[0].cascade_deleted, [3, 5].map(id));
    assert_eq!(ids_in(world, &lin()).await, [1, 2, 4, 6].map(id));
}

pub async fn derivations_of_the_same_batch_are_kept(world: &World) {
    put_family(world).await;
    let mut turn = numbered(&session("a"), 1);
    turn.text = "something else".into();
    let mut fact = derived_record(&session("a"), 4, Kind::FACT, &[1]);
    fact.text = "a new fact".into();
    let written = world.put(&[&fact, &turn]).await;
    assert_eq!(written[1].cascade_deleted, [3, 5].map(id));
    assert_eq!(ids_in(world, &lin()).await, [1, 2, 4, 6].map(id));
}

pub async fn cascade_deleted_content_blocks_imports_only(world: &World) {
    put_family(world).await;
    world.records.delete(&lin(), &[id(2)]).await.unwrap();
    let again = |number: u8, trust: Trust| {
        let mut record = derived_record(&session("a"), number, Kind::SUMMARY, &[1]);
        (record.text, record.trust) = ("message 3".into(), trust);
        record
    };
    let outcome = async |record: Record| world.put(&[&record]).await[0].outcome;
    assert_eq!(outcome(again(11, Trust::Import)).await, Outcome::Blocked(BlockReason::Content));
    assert_eq!(outcome(again(3, Trust::Derived)).await, Outcome::Blocked(BlockReason::Id));
    assert_eq!(outcome(again(12, Trust::Derived)).await, Outcome::Created);
    world.records.delete(&lin(), &[id(12)]).await.unwrap();
    assert_eq!(
        outcome(again(13, Trust::Derived)).await,
        Outcome::Blocked(BlockReason::Content),
        "it was deleted on request"
    );
}

pub async fn other_sources_of_a_deleted_derivation_are_requeued(world: &World) {
    let a = session("a");
    world.put(&[&numbered(&a, 1), &numbered(&a, 2), &numbered(&a, 3)]).await;
    world
        .put(&[
            &derived_record(&a, 4, Kind::SUMMARY, &[1, 2]),
            &derived_record(&a, 5, Kind::FACT, &[3, 2]),
            &derived_record(&a, 6, Kind::NOTE, &[1, 2]),
        ])
        .await;
    world.records.delete(&lin(), &[id(2)]).await.unwrap();
    assert_eq!(queued(world, Job::Summary).await, [id(1)]);
    assert_eq!(queued(world, Job::Facts).await, [id(3)]);
    assert_eq!(queued(world, Job::Graph).await, []);
}

pub async fn a_failed_precondition_is_a_conflict(world: &World) {
    let mut turn = numbered(&session("a"), 1);
    world.put(&[&turn]).await;
    let stored = world.stored(&turn).await.unwrap();
    let write = |number: u8, basis: Basis| {
        let record = derived_record(&lin(), number, Kind::FACT, &[1]);
        Write { based_on: vec![basis], ..Write::new(record, PutMode::Create) }
    };
    let put = async |writes: Vec<Write>| world.records.put(&lin(), writes).await;
    put(vec![write(2, Basis::of(&stored))]).await.unwrap();
    turn.metadata.insert("mood".into(), json!("glad"));
    world.put(&[&turn]).await;
    assert_error_kind(
        ErrorKind::Conflict,
        put(vec![Write::upsert(numbered(&lin(), 9)), write(3, Basis::of(&stored))]).await,
    );
    assert_eq!(ids_in(world, &lin()).await, [1, 2].map(id), "a batch is atomic");
    let now = world.stored(&turn).await.unwrap();
    put(vec![write(3, Basis::of(&now))]).await.unwrap();
    turn.state = State::Revoked;
    world.put(&[&turn]).await;
    let revoked = world.stored(&turn).await.unwrap();
    assert_error_kind(ErrorKind::Conflict, put(vec![write(4, Basis::of(&revoked))]).await);
    assert_error_kind(ErrorKind::Conflict, put(vec![write(4, Basis { id: id(99), revision: 1 })]).await);
    let mos = Write { based_on: vec![Basis::of(&revoked)], ..Write::upsert(numbered(&mo(), 4)) };
    assert_error_kind(ErrorKind::Conflict, world.records.put(&mo(), vec![mos]).await);
}

pub async fn cascade_deletion_clears_the_indexes(world: &World) {
    put_family(world).await;
    let fact = world.stored(&numbered(&session("a"), 4)).await.unwrap();
    world.index(&fact, terms(["rare"])).await;
    assert_eq!(world.found(&lin(), &["rare"]).await, [id(4)]);
    world.records.delete(&lin(), &[id(1)]).await.unwrap();
    assert_eq!(world.found(&lin(), &["rare"]).await, []);
}
