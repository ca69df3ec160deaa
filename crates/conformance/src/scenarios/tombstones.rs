//! Deleted records do not come back.

use std::{sync::Arc, time::Duration};

use memory_engine_core::{
    BlockReason, Clock, ErrorKind, MemoryRecordStore, Outcome, PutMode, Record, RecordStore, Scope, Tombstone, Trust,
    Write,
};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, assert_error_kind, id, lin, mo, numbered, session},
};

fn with_text(number: u8, address: &Scope, text: &str, trust: Trust) -> Record {
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

pub async fn a_deleted_record_leaves_only_a_tombstone(world: &World) {
    let record = numbered(&session("a"), 1);
    world.put(&[&record]).await;
    world.clock.advance(Duration::from_micros(77));
    world.forget(&lin(), &[id(1)]).await;
    let expected = tombstone(&record, world);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(tombstones(world, &lin()).await, [expected]);
    assert!(world.all(&lin()).await.is_empty());
}

pub async fn a_tombstone_blocks_its_id_for_every_write(world: &World) {
    world.put(&[&numbered(&lin(), 1)]).await;
    world.forget(&lin(), &[id(1)]).await;
    for trust in Trust::ALL {
        for mode in [PutMode::Upsert, PutMode::IfAbsent, PutMode::Create] {
            for address in [lin(), session("b")] {
                let record = with_text(1, &address, "something else", *trust);
                let write = Write { mode, ..Write::upsert(record) };
                let written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
                assert_eq!(written.outcome, Outcome::Blocked(BlockReason::Id), "{trust}, {mode:?}");
            }
        }
    }
    assert!(world.all(&lin()).await.is_empty());
    assert_eq!(tombstones(world, &lin()).await.len(), 1);
}

pub async fn a_tombstone_blocks_its_content_for_imports_and_derivations(world: &World) {
    world.put(&[&with_text(1, &lin(), "I live in Bern", Trust::User)]).await;
    world.forget(&lin(), &[id(1)]).await;
    for (trust, number) in Trust::ALL.iter().zip(2..) {
        let expected = match trust {
            Trust::Import | Trust::Derived => Outcome::Blocked(BlockReason::Content),
            Trust::User | Trust::Assistant | Trust::Tool => Outcome::Created,
        };
        assert_eq!(outcome(world, &with_text(number, &lin(), "I live in Bern", *trust)).await, expected, "{trust}");
    }
    assert_eq!(outcome(world, &with_text(9, &lin(), "I live in Basel", Trust::Import)).await, Outcome::Created);
}

pub async fn equivalent_content_is_blocked(world: &World) {
    world.put(&[&with_text(1, &lin(), "我对海鲜过敏 OK", Trust::Import)]).await;
    world.forget(&lin(), &[id(1)]).await;
    for (text, number) in ["我對海鮮過敏 ok", "  我对海鲜过敏\n\tＯＫ "].into_iter().zip(2..) {
        let again = with_text(number, &lin(), text, Trust::Import);
        assert_eq!(outcome(world, &again).await, Outcome::Blocked(BlockReason::Content), "{text}");
    }
}

pub async fn content_is_blocked_at_all_addresses_of_a_user(world: &World) {
    world.put(&[&with_text(1, &session("a"), "a secret", Trust::User)]).await;
    world.forget(&session("a"), &[id(1)]).await;
    let blocked = Outcome::Blocked(BlockReason::Content);
    assert_eq!(outcome(world, &with_text(2, &session("b"), "a secret", Trust::Import)).await, blocked);
    assert_eq!(outcome(world, &with_text(2, &mo(), "a secret", Trust::Import)).await, Outcome::Created);
    assert_eq!(outcome(world, &with_text(1, &mo(), "a secret", Trust::Import)).await, Outcome::Created);
}

pub async fn a_blocked_write_does_not_reject_its_batch(world: &World) {
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

pub async fn tombstones_are_visible_in_the_scope_of_their_record(world: &World) {
    world.put(&[&numbered(&session("a"), 1), &numbered(&session("b"), 2), &numbered(&lin(), 3)]).await;
    world.forget(&lin(), &[id(1), id(2), id(3)]).await;
    assert_eq!(tombstones(world, &session("a")).await.len(), 1);
    assert_eq!(tombstones(world, &lin()).await.len(), 3);
    assert_eq!(tombstones(world, &Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap()).await.len(), 3);
    assert!(tombstones(world, &mo()).await.is_empty());
    assert!(tombstones(world, &Scope::tenant_wide("other").unwrap()).await.is_empty());
}

pub async fn importing_tombstones_deletes_blocks_and_counts(world: &World) {
    let (one, two) = (numbered(&session("a"), 1), with_text(2, &lin(), "never stored here", Trust::User));
    world.put(&[&one, &numbered(&lin(), 3)]).await;
    let imported = [tombstone(&one, world), tombstone(&two, world)];
    assert_eq!(world.records.import_tombstones(&lin(), &imported).await.unwrap(), 2);
    assert_eq!(
        world.records.import_tombstones(&lin(), &imported).await.unwrap(),
        0,
        "existing tombstones are not counted"
    );
    assert_eq!(world.all(&lin()).await.iter().map(|r| r.id).collect::<Vec<_>>(), [id(3)]);
    assert_eq!(tombstones(world, &lin()).await, imported);
    assert_eq!(outcome(world, &two).await, Outcome::Blocked(BlockReason::Id));
    let derived = with_text(4, &session("b"), "never stored here", Trust::Derived);
    assert_eq!(outcome(world, &derived).await, Outcome::Blocked(BlockReason::Content));
    let pending = world.jobs.claim(memory_engine_core::Job::Embedding, LARGE_LIMIT, Duration::ZERO).await.unwrap();
    assert_eq!(pending.iter().map(|p| p.record.id).collect::<Vec<_>>(), [id(3)], "blocked records have no jobs");
}

pub async fn tombstones_carry_deletions_to_another_store(world: &World) {
    let other = MemoryRecordStore::with_clock(Arc::clone(&world.clock) as Arc<dyn Clock>);
    let records: Vec<_> = (1..=3).map(|n| numbered(&session("a"), n)).collect();
    let writes: Vec<_> = records.iter().cloned().map(Write::upsert).collect();
    world.records.put(&lin(), writes.clone()).await.unwrap();
    other.put(&lin(), writes).await.unwrap();

    world.forget(&lin(), &[id(1)]).await;
    other.delete(&lin(), &[id(2)]).await.unwrap();
    assert_eq!(other.import_tombstones(&lin(), &tombstones(world, &lin()).await).await.unwrap(), 1);
    let theirs = other.tombstones(&lin(), None, LARGE_LIMIT).await.unwrap();
    assert_eq!(world.records.import_tombstones(&lin(), &theirs).await.unwrap(), 1, "one of the two exists already");
    assert_eq!(tombstones(world, &lin()).await, theirs);
    assert_eq!(world.all(&lin()).await.iter().map(|r| r.id).collect::<Vec<_>>(), [id(3)]);
}

pub async fn importing_tombstones_outside_the_scope_is_unauthorized(world: &World) {
    let (lins, mos) = (numbered(&lin(), 1), numbered(&mo(), 2));
    world.put(&[&lins]).await;
    world.put(&[&mos]).await;
    let both = [tombstone(&lins, world), tombstone(&mos, world)];
    assert_error_kind(ErrorKind::Unauthorized, world.records.import_tombstones(&lin(), &both).await);
    assert_error_kind(ErrorKind::Unauthorized, world.records.import_tombstones(&session("a"), &both[..1]).await);
    assert!(world.stored(&lins).await.is_some() && world.stored(&mos).await.is_some());
    assert!(tombstones(world, &lin()).await.is_empty() && tombstones(world, &mo()).await.is_empty());
}

pub async fn a_tombstone_of_another_address_is_skipped(world: &World) {
    let (stored, elsewhere) = (numbered(&session("b"), 1), numbered(&session("a"), 1));
    world.put(&[&stored]).await;
    let foreign = tombstone(&elsewhere, world);
    assert_eq!(world.records.import_tombstones(&session("a"), &[foreign]).await.unwrap(), 0);
    assert!(world.stored(&stored).await.is_some(), "session a cannot delete in session b");
    assert!(tombstones(world, &lin()).await.is_empty());
}

pub async fn a_tenant_wide_delete_covers_all_users(world: &World) {
    let tenant = Scope::tenant_wide(lin().tenant()).unwrap();
    world.put(&[&numbered(&lin(), 1)]).await;
    world.put(&[&numbered(&mo(), 1), &numbered(&mo(), 2)]).await;
    assert_eq!(world.forget(&tenant, &[id(1)]).await, [id(1)]);
    assert_eq!(world.all(&tenant).await.len(), 1);
    assert_eq!(tombstones(world, &tenant).await.len(), 2);
}

pub async fn an_import_cannot_be_updated_to_deleted_content(world: &World) {
    world.put(&[&with_text(1, &lin(), "a secret", Trust::User)]).await;
    world.forget(&lin(), &[id(1)]).await;
    let kept = with_text(2, &lin(), "harmless", Trust::Import);
    world.put(&[&kept]).await;
    let written = world.put(&[&with_text(2, &lin(), "A  secret", Trust::Import)]).await.remove(0);
    assert_eq!((written.outcome, written.revision), (Outcome::Blocked(BlockReason::Content), 1));
    assert_eq!(world.stored(&kept).await.unwrap().text, "harmless");
}
