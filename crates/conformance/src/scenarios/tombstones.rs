//! Deleted records do not come back.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{
    BlockReason, Clock, ErrorKind, MemoryRecordStore, Outcome, PutMode, Record, RecordStore, Scope, Tombstone, Trust,
    Write,
};

use crate::{
    World,
    given::{LARGE_LIMIT, fails_with, id, lin, mo, numbered, session},
};

fn saying(number: u8, address: &Scope, text: &str, trust: Trust) -> Record {
    let mut record = numbered(address, number);
    (record.text, record.trust) = (text.into(), trust);
    record
}

fn tombstone(record: &Record, world: &World) -> Tombstone {
    Tombstone::new(record.id, record.scope.clone(), record.content_hash(), world.clock.now())
}

async fn tombstones(world: &World, scope: &Scope) -> Vec<Tombstone> {
    world.records.tombstones(scope, None, LARGE_LIMIT).await.unwrap()
}

async fn outcome(world: &World, record: &Record) -> Outcome {
    let written = world.put(&[record]).await.remove(0);
    if matches!(written.outcome, Outcome::Blocked(_)) {
        assert_eq!((written.revision, written.pending), (0, vec![]));
        assert_eq!(world.stored(record).await, None);
    }
    written.outcome
}

pub async fn a_deleted_record_leaves_a_tombstone_and_nothing_it_said(world: &World) {
    let record = numbered(&session("a"), 1);
    world.put(&[&record]).await;
    world.clock.advance(Duration::from_micros(77));
    world.forget(&lin(), &[id(1)]).await;
    let expected = tombstone(&record, world);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(tombstones(world, &lin()).await, [expected]);
    assert!(world.all(&lin()).await.is_empty());
}

pub async fn a_tombstone_bars_its_id_for_every_trust_and_mode(world: &World) {
    world.put(&[&numbered(&lin(), 1)]).await;
    world.forget(&lin(), &[id(1)]).await;
    for trust in Trust::ALL {
        for mode in [PutMode::Upsert, PutMode::IfAbsent, PutMode::Create] {
            for address in [lin(), session("b")] {
                let record = saying(1, &address, "something else", *trust);
                let write = Write { mode, ..Write::upsert(record) };
                let written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
                assert_eq!(written.outcome, Outcome::Blocked(BlockReason::Id), "{trust}, {mode:?}");
            }
        }
    }
    assert!(world.all(&lin()).await.is_empty());
    assert_eq!(tombstones(world, &lin()).await.len(), 1);
}

pub async fn a_tombstone_bars_its_content_for_imports_and_derivations_only(world: &World) {
    world.put(&[&saying(1, &lin(), "I live in Bern", Trust::User)]).await;
    world.forget(&lin(), &[id(1)]).await;
    for (trust, number) in Trust::ALL.iter().zip(2..) {
        let expected = match trust {
            Trust::Import | Trust::Derived => Outcome::Blocked(BlockReason::Content),
            Trust::User | Trust::Assistant | Trust::Tool => Outcome::Created,
        };
        assert_eq!(outcome(world, &saying(number, &lin(), "I live in Bern", *trust)).await, expected, "{trust}");
    }
    assert_eq!(outcome(world, &saying(9, &lin(), "I live in Basel", Trust::Import)).await, Outcome::Created);
}

pub async fn content_that_reads_the_same_is_barred(world: &World) {
    world.put(&[&saying(1, &lin(), "我对海鲜过敏 OK", Trust::Import)]).await;
    world.forget(&lin(), &[id(1)]).await;
    for (text, number) in ["我對海鮮過敏 ok", "  我对海鲜过敏\n\tＯＫ "].into_iter().zip(2..) {
        let again = saying(number, &lin(), text, Trust::Import);
        assert_eq!(outcome(world, &again).await, Outcome::Blocked(BlockReason::Content), "{text}");
    }
}

pub async fn content_is_barred_for_one_user_at_all_addresses(world: &World) {
    world.put(&[&saying(1, &session("a"), "a secret", Trust::User)]).await;
    world.forget(&session("a"), &[id(1)]).await;
    let barred = Outcome::Blocked(BlockReason::Content);
    assert_eq!(outcome(world, &saying(2, &session("b"), "a secret", Trust::Import)).await, barred);
    assert_eq!(outcome(world, &saying(2, &mo(), "a secret", Trust::Import)).await, Outcome::Created);
    assert_eq!(outcome(world, &saying(1, &mo(), "a secret", Trust::Import)).await, Outcome::Created);
}

pub async fn a_barred_write_does_not_keep_the_others_of_its_batch_away(world: &World) {
    world.put(&[&numbered(&lin(), 1)]).await;
    world.forget(&lin(), &[id(1)]).await;
    let written = world.put(&[&numbered(&lin(), 2), &numbered(&lin(), 1), &numbered(&lin(), 3)]).await;
    let outcomes: Vec<_> = written.iter().map(|w| w.outcome).collect();
    assert_eq!(outcomes, [Outcome::Created, Outcome::Blocked(BlockReason::Id), Outcome::Created]);
    assert_eq!(world.all(&lin()).await.iter().map(|r| r.id).collect::<Vec<_>>(), [id(2), id(3)]);
}

pub async fn tombstones_are_paged_by_id(world: &World) {
    for number in [4, 2, 5, 1, 3] {
        world.put(&[&numbered(&session("a"), number)]).await;
        world.forget(&lin(), &[id(number)]).await;
    }
    let page = async |after: Option<u8>, limit| {
        let found = world.records.tombstones(&lin(), after.map(id), limit).await.unwrap();
        found.iter().map(|t| t.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, [1, 2].map(id));
    assert_eq!(page(Some(2), 2).await, [3, 4].map(id));
    assert_eq!(page(Some(4), 2).await, [id(5)]);
    assert_eq!(page(Some(5), 2).await, []);
    assert_eq!(page(None, 0).await, []);
}

pub async fn tombstones_are_seen_only_within_the_scope_of_what_was_deleted(world: &World) {
    world.put(&[&numbered(&session("a"), 1), &numbered(&session("b"), 2), &numbered(&lin(), 3)]).await;
    world.forget(&lin(), &[id(1), id(2), id(3)]).await;
    assert_eq!(tombstones(world, &session("a")).await.len(), 1);
    assert_eq!(tombstones(world, &lin()).await.len(), 3);
    assert_eq!(tombstones(world, &Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()).await.len(), 3);
    assert!(tombstones(world, &mo()).await.is_empty());
    assert!(tombstones(world, &Scope::tenant_wide("other").unwrap()).await.is_empty());
}

pub async fn burying_removes_what_is_there_bars_it_and_counts_what_is_new(world: &World) {
    let (one, two) = (numbered(&session("a"), 1), saying(2, &lin(), "never seen here", Trust::User));
    world.put(&[&one, &numbered(&lin(), 3)]).await;
    let buried = [tombstone(&one, world), tombstone(&two, world)];
    assert_eq!(world.records.import_tombstones(&lin(), &buried).await.unwrap(), 2);
    assert_eq!(world.records.import_tombstones(&lin(), &buried).await.unwrap(), 0, "the second time they are known");
    assert_eq!(world.all(&lin()).await.iter().map(|r| r.id).collect::<Vec<_>>(), [id(3)]);
    assert_eq!(tombstones(world, &lin()).await, buried);
    assert_eq!(outcome(world, &two).await, Outcome::Blocked(BlockReason::Id));
    let derived = saying(4, &session("b"), "never seen here", Trust::Derived);
    assert_eq!(outcome(world, &derived).await, Outcome::Blocked(BlockReason::Content));
    let pending = world.jobs.claim(memory_engine_core::Job::Embedding, LARGE_LIMIT, Duration::ZERO).await.unwrap();
    assert_eq!(pending.iter().map(|p| p.record.id).collect::<Vec<_>>(), [id(3)], "what was buried waits for nothing");
}

pub async fn a_deletion_carries_over_to_another_store(world: &World) {
    let other = MemoryRecordStore::with_clock(Arc::clone(&world.clock) as Arc<dyn Clock>);
    let records: Vec<_> = (1..=3).map(|n| numbered(&session("a"), n)).collect();
    let writes: Vec<_> = records.iter().cloned().map(Write::upsert).collect();
    world.records.put(&lin(), writes.clone()).await.unwrap();
    other.put(&lin(), writes).await.unwrap();

    world.forget(&lin(), &[id(1)]).await;
    other.delete(&lin(), &[id(2)]).await.unwrap();
    assert_eq!(other.import_tombstones(&lin(), &tombstones(world, &lin()).await).await.unwrap(), 1);
    let theirs = other.tombstones(&lin(), None, LARGE_LIMIT).await.unwrap();
    assert_eq!(world.records.import_tombstones(&lin(), &theirs).await.unwrap(), 1, "one of the two it knows already");
    assert_eq!(tombstones(world, &lin()).await, theirs);
    assert_eq!(world.all(&lin()).await.iter().map(|r| r.id).collect::<Vec<_>>(), [id(3)]);
}

pub async fn burying_outside_the_scope_is_refused_whole(world: &World) {
    let (lins, mos) = (numbered(&lin(), 1), numbered(&mo(), 2));
    world.put(&[&lins]).await;
    world.put(&[&mos]).await;
    let both = [tombstone(&lins, world), tombstone(&mos, world)];
    fails_with(ErrorKind::Unauthorized, world.records.import_tombstones(&lin(), &both).await);
    fails_with(ErrorKind::Unauthorized, world.records.import_tombstones(&session("a"), &both[..1]).await);
    assert!(world.stored(&lins).await.is_some() && world.stored(&mos).await.is_some());
    assert!(tombstones(world, &lin()).await.is_empty() && tombstones(world, &mo()).await.is_empty());
}

pub async fn a_tombstone_of_a_record_at_another_address_is_left_out(world: &World) {
    let (there, elsewhere) = (numbered(&session("b"), 1), numbered(&session("a"), 1));
    world.put(&[&there]).await;
    let strange = tombstone(&elsewhere, world);
    assert_eq!(world.records.import_tombstones(&session("a"), &[strange]).await.unwrap(), 0);
    assert!(world.stored(&there).await.is_some(), "session a has no say over session b");
    assert!(tombstones(world, &lin()).await.is_empty());
}

pub async fn deleting_for_several_users_goes_for_all_records_of_the_id(world: &World) {
    let tenant = Scope::tenant_wide(lin().tenant()).unwrap();
    world.put(&[&numbered(&lin(), 1)]).await;
    world.put(&[&numbered(&mo(), 1), &numbered(&mo(), 2)]).await;
    assert_eq!(world.forget(&tenant, &[id(1)]).await, [id(1)]);
    assert_eq!(world.all(&tenant).await.len(), 1);
    assert_eq!(tombstones(world, &tenant).await.len(), 2);
}

pub async fn an_import_cannot_be_rewritten_into_what_was_deleted(world: &World) {
    world.put(&[&saying(1, &lin(), "a secret", Trust::User)]).await;
    world.forget(&lin(), &[id(1)]).await;
    let kept = saying(2, &lin(), "harmless", Trust::Import);
    world.put(&[&kept]).await;
    let written = world.put(&[&saying(2, &lin(), "A  secret", Trust::Import)]).await.remove(0);
    assert_eq!((written.outcome, written.revision), (Outcome::Blocked(BlockReason::Content), 1));
    assert_eq!(world.stored(&kept).await.unwrap().text, "harmless");
}
