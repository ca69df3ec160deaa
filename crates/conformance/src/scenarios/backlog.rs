//! The queue of what is still to be indexed.

use std::time::Duration;

use memory_engine_core::{Clock, Error, ErrorKind, Job, Pending, Record, RecordId, Scope, State};
use serde_json::json;

use crate::{
    World,
    given::{LARGE_LIMIT, id, lin, mo, numbered, session},
};

const LEASE: Duration = Duration::from_secs(60);

async fn claim(world: &World, job: Job, limit: usize, lease: Duration) -> Vec<Pending> {
    world.jobs.claim(job, limit, lease).await.unwrap()
}

fn ids(pending: &[Pending]) -> Vec<RecordId> {
    pending.iter().map(|p| p.record.id).collect()
}

async fn waiting(world: &World, job: Job) -> Vec<RecordId> {
    ids(&claim(world, job, LARGE_LIMIT, Duration::ZERO).await)
}

/// Puts one after the other, each in a call of its own.
async fn put(world: &World, records: &[Record]) {
    for record in records {
        world.put(&[record]).await;
    }
}

pub async fn what_waited_longest_is_given_first_and_whole(world: &World) {
    // Neither their ids nor their times are in the order in which they came.
    put(world, &[3, 1, 2].map(|n| numbered(&lin(), n))).await;
    for job in Job::INDEXING {
        assert_eq!(waiting(world, job).await, [3, 1, 2].map(id));
        let first = claim(world, job, 1, Duration::ZERO).await.remove(0);
        assert_eq!((first.job, Some(first.record)), (job, world.stored(&numbered(&lin(), 3)).await));
        assert!(claim(world, job, 0, LEASE).await.is_empty());
    }
}

pub async fn a_lease_hides_what_was_given_until_it_has_passed(world: &World) {
    put(world, &[1, 2, 3].map(|n| numbered(&lin(), n))).await;
    assert_eq!(ids(&claim(world, Job::Embedding, 2, LEASE).await), [1, 2].map(id));
    assert_eq!(ids(&claim(world, Job::Embedding, 9, 2 * LEASE).await), [id(3)]);
    assert!(claim(world, Job::Embedding, 9, LEASE).await.is_empty());
    assert!(waiting(world, Job::Embedding).await.is_empty(), "a look does not see it either");
    assert_eq!(waiting(world, Job::Keywords).await.len(), 3, "the other job has leases of its own");
    assert_eq!(world.records.stats(&lin()).await.unwrap().backlog.get(&Job::Embedding), Some(&3), "they still wait");

    world.clock.advance(LEASE - Duration::from_micros(1));
    assert!(waiting(world, Job::Embedding).await.is_empty());
    world.clock.advance(Duration::from_micros(1));
    assert_eq!(ids(&claim(world, Job::Embedding, 9, LEASE).await), [1, 2].map(id));
    world.clock.advance(LEASE);
    assert_eq!(waiting(world, Job::Embedding).await, [1, 2, 3].map(id));
}

pub async fn what_is_released_is_free_at_once(world: &World) {
    put(world, &[1, 2, 3].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(pending.len(), 3);
    // One is done, one has failed for good: neither comes back.
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true]);
    let error = Error::new(ErrorKind::InvalidInput, "embed", "empty");
    world.jobs.fail(&[pending[1].failed(&error, None)]).await.unwrap();
    world.jobs.release(&pending).await.unwrap();
    assert_eq!(waiting(world, Job::Embedding).await, [id(3)]);
    assert_eq!(ids(&claim(world, Job::Embedding, 9, LEASE).await), [id(3)]);
    assert!(waiting(world, Job::Embedding).await.is_empty(), "and it can be claimed again");
}

pub async fn a_lease_of_zero_only_looks(world: &World) {
    put(world, &[numbered(&lin(), 1)]).await;
    for _ in 0..3 {
        assert_eq!(waiting(world, Job::Embedding).await, [id(1)]);
    }
}

pub async fn acknowledging_takes_one_job_off_and_only_that(world: &World) {
    put(world, &[1, 2].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true]);
    world.clock.advance(LEASE);
    assert_eq!(waiting(world, Job::Embedding).await, [id(2)]);
    assert_eq!(waiting(world, Job::Keywords).await, [1, 2].map(id));
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true], "done twice is done");
}

pub async fn a_receipt_for_what_was_written_since_is_stale_and_leaves_it_waiting(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    record.text.push('!');
    put(world, &[record]).await;
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [false]);
    world.clock.advance(LEASE);
    let again = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!((ids(&again), again[0].record.revision), (vec![id(1)], 2));
    assert_eq!(world.jobs.complete(&[again[0].done()]).await.unwrap(), [true]);
    assert!(waiting(world, Job::Embedding).await.is_empty());
}

pub async fn a_receipt_for_what_was_deleted_is_stale(world: &World) {
    put(world, &[1, 2].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.forget(&lin(), &[id(1)]).await;
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [false, true]);
    world.clock.advance(LEASE);
    for job in [Job::Embedding, Job::Keywords] {
        assert!(!waiting(world, job).await.contains(&id(1)), "what was deleted waits for nothing");
    }
}

pub async fn receipts_are_answered_one_by_one_across_users(world: &World) {
    let (lins, mut mos) = (numbered(&lin(), 1), numbered(&mo(), 1));
    mos.text.push('!');
    put(world, &[lins.clone(), mos]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    let mut done: Vec<_> = pending.iter().map(Pending::done).collect();
    done[0].revision += 1;
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [false, true]);
    world.clock.advance(LEASE);
    let left = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(left.iter().map(|p| &p.record.scope).collect::<Vec<_>>(), [&lins.scope], "of one id, but not one");
}

pub async fn what_changed_while_it_waited_is_given_as_it_is_now(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    record.metadata.insert("mood".into(), json!("glad"));
    put(world, &[record.clone()]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    assert_eq!(pending.len(), 1, "it waits once");
    assert!(pending[0].record.same_content(&record) && pending[0].record.revision == 2);
    assert_eq!(world.jobs.complete(&[pending[0].done()]).await.unwrap(), [true]);
}

pub async fn a_change_of_metadata_does_not_queue_what_is_done(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.jobs.complete(&[pending[0].done()]).await.unwrap();
    record.metadata.insert("mood".into(), json!("glad"));
    put(world, &[record.clone()]).await;
    assert!(waiting(world, Job::Embedding).await.is_empty());
    record.text.push('!');
    put(world, &[record]).await;
    assert_eq!(waiting(world, Job::Embedding).await, [id(1)]);
}

pub async fn a_record_that_is_no_longer_active_leaves_the_queue_and_comes_back_with_its_state(world: &World) {
    let mut record = numbered(&lin(), 1);
    put(world, &[record.clone()]).await;
    record.state = State::Superseded;
    put(world, &[record.clone()]).await;
    record.text.push('!');
    put(world, &[record.clone()]).await;
    for job in Job::INDEXING {
        assert!(waiting(world, job).await.is_empty());
    }
    assert_eq!(world.jobs.requeue(&lin(), Job::Embedding).await.unwrap(), 0);
    record.state = State::Active;
    put(world, &[record]).await;
    for job in Job::INDEXING {
        assert_eq!(waiting(world, job).await, [id(1)]);
    }
}

pub async fn requeueing_queues_every_active_record_within_the_scope_for_one_job(world: &World) {
    let mut records = [1, 2, 3, 4].map(|n| numbered(&session("a"), n));
    (records[2].state, records[3].scope) = (State::Revoked, session("b"));
    put(world, &records).await;
    put(world, &[numbered(&mo(), 5)]).await;
    for job in Job::INDEXING {
        let done: Vec<_> = claim(world, job, LARGE_LIMIT, LEASE).await.iter().map(Pending::done).collect();
        world.jobs.complete(&done).await.unwrap();
    }
    assert_eq!(world.jobs.requeue(&session("a"), Job::Embedding).await.unwrap(), 2);
    assert_eq!(sorted(waiting(world, Job::Embedding).await), [1, 2].map(id));
    assert!(waiting(world, Job::Keywords).await.is_empty());
    assert_eq!(world.jobs.requeue(&lin(), Job::Embedding).await.unwrap(), 3, "it counts those that wait already");
    assert_eq!(sorted(waiting(world, Job::Embedding).await), [1, 2, 4].map(id));
    let tenant = Scope::tenant_wide(Scope::DEFAULT_TENANT).unwrap();
    assert_eq!(world.jobs.requeue(&tenant, Job::Keywords).await.unwrap(), 4);
    assert_eq!(world.jobs.requeue(&Scope::tenant_wide("other").unwrap(), Job::Keywords).await.unwrap(), 0);
}

pub async fn what_is_queued_anew_while_it_is_done_stays_queued(world: &World) {
    put(world, &[1, 2].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.jobs.enqueue(&lin(), &[id(1)], Job::Embedding).await.unwrap();
    let done: Vec<_> = pending.iter().map(Pending::done).collect();
    assert_eq!(world.jobs.complete(&done).await.unwrap(), [true, true], "both are as they were");
    assert_eq!(waiting(world, Job::Embedding).await, [id(1)], "it is queued again");
    let whatever = memory_engine_core::Done { ticket: None, ..done[0].clone() };
    world.jobs.complete(&[whatever]).await.unwrap();
    assert_eq!(waiting(world, Job::Embedding).await, []);
}

pub async fn enqueueing_queues_those_that_are_named_and_within_the_scope(world: &World) {
    let mut records = [1, 2, 3, 4].map(|n| numbered(&session("a"), n));
    (records[2].state, records[3].scope) = (State::Revoked, session("b"));
    put(world, &records).await;
    let named = [4, 3, 2, 2, 99].map(id);
    assert_eq!(world.jobs.enqueue(&lin(), &named, Job::Facts).await.unwrap(), 2);
    assert_eq!(waiting(world, Job::Facts).await, [2, 4].map(id));
    assert_eq!(world.jobs.enqueue(&session("b"), &named, Job::Graph).await.unwrap(), 1);
    assert_eq!(world.jobs.enqueue(&mo(), &named, Job::Graph).await.unwrap(), 0);
    assert_eq!(world.jobs.enqueue(&lin(), &[], Job::Graph).await.unwrap(), 0);
    assert_eq!(waiting(world, Job::Graph).await, [id(4)]);
}

pub async fn one_backlog_serves_all_tenants(world: &World) {
    let other = Scope::tenant_wide("other").unwrap();
    put(world, &[numbered(&mo(), 1), numbered(&other, 2), numbered(&session("a"), 3)]).await;
    assert_eq!(waiting(world, Job::Embedding).await, [1, 2, 3].map(id));
}

fn sorted(mut ids: Vec<RecordId>) -> Vec<RecordId> {
    ids.sort();
    ids
}

pub async fn what_waits_says_since_when_and_begins_anew_when_it_is_queued_again(world: &World) {
    let first = world.clock.now();
    put(world, &[numbered(&lin(), 1)]).await;
    world.clock.advance(LEASE);
    put(world, &[2, 3].map(|n| numbered(&lin(), n))).await;
    let since = async || world.records.stats(&lin()).await.unwrap().waiting_since.get(&Job::Embedding).copied();
    assert_eq!(since().await, Some(first));
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    let waited: Vec<Duration> = pending.iter().map(|one| world.clock.now().since(one.queued_at)).collect();
    assert_eq!(waited, [LEASE, Duration::ZERO, Duration::ZERO]);
    assert_eq!(since().await, Some(first), "what is being done waits still");
    world.jobs.complete(&[pending[0].done()]).await.unwrap();
    assert_eq!(since().await, Some(first.after(LEASE)));
    world.jobs.fail(&[pending[1].failed(&away(), None)]).await.unwrap();
    world.clock.advance(LEASE);
    world.jobs.enqueue(&lin(), &[id(3)], Job::Embedding).await.unwrap();
    assert_eq!(since().await, Some(world.clock.now()), "what was given up waits no more");
    let pending = claim(world, Job::Embedding, 9, LEASE).await;
    world.jobs.complete(&[pending[0].done()]).await.unwrap();
    assert_eq!(since().await, None);
}

pub async fn a_lease_that_is_renewed_holds_until_then_and_only_for_what_was_claimed(world: &World) {
    put(world, &[1, 2, 3, 4].map(|n| numbered(&lin(), n))).await;
    let pending = claim(world, Job::Embedding, 4, LEASE).await;
    world.clock.advance(LEASE / 2);
    world.jobs.enqueue(&lin(), &[id(2)], Job::Embedding).await.unwrap();
    world.jobs.fail(&[pending[2].failed(&away(), None)]).await.unwrap();
    world.jobs.complete(&[pending[3].done()]).await.unwrap();
    world.jobs.extend_lease(&pending, LEASE).await.unwrap();
    assert_eq!(waiting(world, Job::Embedding).await, [id(2)], "a new queue entry is not leased");
    world.clock.advance(LEASE - Duration::from_secs(1));
    assert_eq!(waiting(world, Job::Embedding).await, [id(2)]);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(
        sorted(waiting(world, Job::Embedding).await),
        [1, 2].map(id),
        "neither what is done nor what was given up"
    );
    world.jobs.extend_lease(&[], LEASE).await.unwrap();
}

fn away() -> Error {
    Error::new(ErrorKind::Unavailable, "test", "away")
}
