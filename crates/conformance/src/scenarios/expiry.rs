//! Expired and pinned records, and deletions that need not be remembered.

use memory_engine_core::{
    BlockReason, Field, Filter, Order, Outcome, Record, RecordId, ScanQuery, Scope, State, Timestamp, Trust,
};

use crate::{
    World,
    fixtures::{LARGE_LIMIT, id, lin, mo, numbered, session},
};

/// Returns a record that expires at this time.
fn expiring(address: &Scope, number: u8, expires_at: i64) -> Record {
    let mut record = numbered(address, number);
    record.expires_at = Some(Timestamp::from_micros(expires_at));
    record
}

async fn expired(world: &World, now: i64, limit: usize) -> Vec<(Scope, RecordId)> {
    world.records.expired(Timestamp::from_micros(now), limit).await.unwrap()
}

pub async fn expired_records_are_listed_in_the_order_of_their_expiry(world: &World) {
    let other_tenant = Scope::tenant_wide("acme").unwrap().with_user("lin").unwrap();
    let mut superseded = expiring(&session("a"), 3, 20);
    superseded.state = State::Superseded;
    let records = [
        expiring(&lin(), 1, 30),
        expiring(&mo(), 2, 10),
        superseded,
        expiring(&other_tenant, 4, 31),
        expiring(&lin(), 5, 20),
        numbered(&lin(), 6),
    ];
    for record in &records {
        world.put(&[record]).await;
    }
    assert_eq!(expired(world, 9, LARGE_LIMIT).await, []);
    let in_order = [(mo(), id(2)), (session("a"), id(3)), (lin(), id(5)), (lin(), id(1)), (other_tenant, id(4))];
    assert_eq!(expired(world, 30, LARGE_LIMIT).await, in_order[..4], "a record expires at its time, not after it");
    assert_eq!(expired(world, 31, LARGE_LIMIT).await, in_order);
    assert_eq!(expired(world, 31, 2).await, in_order[..2]);
    assert_eq!(expired(world, 31, 0).await, []);
    world.forget(&mo(), &[id(2)]).await;
    let mut prolonged = records[2].clone();
    prolonged.expires_at = Some(Timestamp::from_micros(99));
    world.put(&[&prolonged]).await;
    assert_eq!(expired(world, 31, LARGE_LIMIT).await, in_order[2..]);
}

pub async fn pinned_records_do_not_expire(world: &World) {
    let mut record = expiring(&lin(), 1, 10);
    record.pinned = true;
    world.put(&[&record]).await;
    assert_eq!(expired(world, 20, LARGE_LIMIT).await, []);
    record.pinned = false;
    world.put(&[&record]).await;
    assert_eq!(expired(world, 20, LARGE_LIMIT).await, [(lin(), id(1))]);
}

pub async fn pinned_records_can_be_listed(world: &World) {
    for (number, address) in [(1, lin()), (2, session("a")), (3, session("b")), (4, lin()), (5, mo())] {
        let mut record = numbered(&address, number);
        record.pinned = number != 4;
        world.put(&[&record]).await;
    }
    let pinned = Filter::eq(Field::Pinned, true);
    for (address, expected) in [(lin(), vec![3, 2, 1]), (session("a"), vec![2]), (mo(), vec![5])] {
        let mut query = ScanQuery::newest(LARGE_LIMIT).with_filter(pinned.clone()).counted();
        let page = world.records.scan(&address, &query).await.unwrap();
        let ids: Vec<RecordId> = page.records.iter().map(|record| record.id).collect();
        let expected: Vec<RecordId> = expected.into_iter().map(id).collect();
        assert_eq!(ids, expected, "{address}");
        assert_eq!(page.total, Some(expected.len() as u64));
        query.order = Order::OldestFirst;
        query.filter = Some(Filter::eq(Field::Kind, "turn").and(pinned.clone()));
        let page = world.records.scan(&address, &query).await.unwrap();
        assert!(page.records.iter().map(|record| record.id).eq(expected.into_iter().rev()), "{address}");
    }
    let unpinned = ScanQuery::oldest(LARGE_LIMIT).with_filter(Filter::eq(Field::Pinned, false));
    let page = world.records.scan(&lin(), &unpinned).await.unwrap();
    assert_eq!(page.records.iter().map(|record| record.id).collect::<Vec<_>>(), [id(4)]);
}

/// Returns an imported record, which a tombstone with the same content blocks.
fn imported(number: u8, text: &str) -> Record {
    let mut record = numbered(&lin(), number);
    (record.text, record.trust) = (text.to_owned(), Trust::Import);
    record
}

async fn outcome(world: &World, record: &Record) -> Outcome {
    world.put(&[record]).await.remove(0).outcome
}

pub async fn a_removed_tombstone_blocks_nothing(world: &World) {
    let (kept, removed) = (imported(1, "a kept deletion"), imported(2, "a forgotten deletion"));
    world.put(&[&kept, &removed]).await;
    world.forget(&lin(), &[id(1), id(2)]).await;
    let remove = |scope: Scope| async move { world.records.remove_tombstones(&scope, &[id(2), id(9)]).await.unwrap() };
    assert_eq!((remove(mo()).await, remove(session("a")).await), (0, 0), "tombstones of others stay");
    assert_eq!(outcome(world, &removed).await, Outcome::Blocked(BlockReason::Id));
    assert_eq!((remove(lin()).await, remove(lin()).await), (1, 0));
    let left = world.records.tombstones(&lin(), None, LARGE_LIMIT).await.unwrap();
    assert_eq!(left.iter().map(|tombstone| tombstone.id).collect::<Vec<_>>(), [id(1)]);
    assert_eq!(outcome(world, &imported(3, "a forgotten deletion")).await, Outcome::Created);
    assert_eq!(outcome(world, &removed).await, Outcome::Created);
    assert_eq!(outcome(world, &imported(4, "a kept deletion")).await, Outcome::Blocked(BlockReason::Content));
}

pub async fn a_content_stays_blocked_while_another_tombstone_blocks_it(world: &World) {
    world.put(&[&imported(1, "said twice"), &imported(2, "said twice")]).await;
    world.forget(&lin(), &[id(1), id(2)]).await;
    world.records.remove_tombstones(&lin(), &[id(1)]).await.unwrap();
    assert_eq!(outcome(world, &imported(3, "said twice")).await, Outcome::Blocked(BlockReason::Content));
    world.records.remove_tombstones(&lin(), &[id(2)]).await.unwrap();
    assert_eq!(outcome(world, &imported(3, "said twice")).await, Outcome::Created);
}
