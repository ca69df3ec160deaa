//! Ledger records: stored and never indexed.

use memory_engine_core::{Job, Kind, Outcome, PutMode, Record, State, Write};

use crate::{
    World,
    fixtures::{id, lin, numbered, terms},
};

fn entry(number: u8) -> Record {
    let mut record = numbered(&lin(), number);
    record.kind = Kind::ledger("affection");
    record
}

pub async fn entries_are_stored_and_not_indexed(world: &World) {
    let write = Write { terms: Some(terms(["entry"])), jobs: vec![Job::Facts], ..Write::upsert(entry(1)) };
    let written = world.records.put(&lin(), vec![write]).await.unwrap().remove(0);
    assert_eq!((written.outcome, written.pending), (Outcome::Created, vec![]));
    assert_eq!(world.stored(&entry(1)).await.unwrap().kind.as_str(), "ledger/affection");
    assert_eq!(world.jobs.requeue(&lin(), Job::Embedding).await.unwrap(), 0);
    assert_eq!(world.found(&lin(), &["entry"]).await, []);
    let stats = world.records.stats(&lin()).await.unwrap();
    assert_eq!((stats.records, stats.queued.len()), (1, 0));
    assert_eq!(world.records.delete(&lin(), &[id(1)]).await.unwrap().ids, [id(1)]);
    assert_eq!(world.records.tombstones(&lin(), None, 9).await.unwrap().len(), 1);
}

pub async fn a_record_that_becomes_an_entry_is_unqueued(world: &World) {
    let mut record = numbered(&lin(), 1);
    world.put(&[&record]).await;
    record.kind = Kind::ledger("forks");
    let written = world.records.put(&lin(), vec![Write::new(record.clone(), PutMode::Upsert)]).await.unwrap();
    assert_eq!(written[0].pending, []);
    assert_eq!(world.records.stats(&lin()).await.unwrap().queued.values().sum::<u64>(), 0);
    (record.kind, record.state) = (Kind::new("Ledger/x"), State::Active);
    assert_eq!(world.put(&[&record]).await[0].pending.len(), 2, "the ledger prefix is case-sensitive");
}
